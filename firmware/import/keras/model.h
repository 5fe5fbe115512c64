/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of a .keras file: Sequential and Functional models of Keras 3. Each layer is called once, each
 * input is a feature, and there is one output. All else is refused, by the name of the layer and its place.
 */
#pragma once

#include "import/network/network.h"

/* Fills the network from the file's config.json. Refusals are in the network. Errors: -EBADMSG the JSON is
 * not that of a model of Keras 3. */
MUST_CHECK int keras_model_read(const cJSON *json, struct network *network, struct error *err);
