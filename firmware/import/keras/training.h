/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/network/network.h"

/* Takes over the loss, the optimizer and the metrics that compile() of Keras got, where Kiln has them; the
 * others become notes. A loss `from_logits` gets the layer `softmax` or `sigmoid` behind the network.
 * `compile`: NULL = the model was not compiled. */
void keras_training_read(const cJSON *compile, struct network *network);
