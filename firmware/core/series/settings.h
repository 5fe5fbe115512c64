/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a run: its frozen configuration as one object {dotted key: value}, with the keys that
 * overrides have (core/series/trials.h), so that two runs can be compared key by key.
 *
 *     optimizer.learning_rate, run.epochs, ...   every key, also with its default value
 *     model.layers                               the names of the layers, in their order
 *     model.layers.NAME.op, .units, ...          of a layer; NAME: its own or, as in Keras, dense, dense_1
 *     schema, schema.NAME.dtype, ...             the same of the features
 *     sources, sources.1.url, ...                and of the sources, numbered from 1, where the file has them
 *
 * No threads, no state.
 */
#pragma once

#include "core/base/json.h"

/* Makes the settings from the text of a configuration. Errors: as of config_load(), because an earlier
 * version of Kiln may have had other keys; -ENOMEM. Owns: the caller deletes *ret_settings. */
MUST_CHECK int settings_of(const char *config_text, cJSON **ret_settings, struct error *err);

/* Returns [{key, a, b}], the settings that differ, in the order of `a`, those that only `b` has at the end. A
 * value is a JSON null where one of both does not have the key. The caller deletes it. NULL: no memory. */
cJSON *settings_differ(const cJSON *a, const cJSON *b);

/* Returns a value as people read it: a number with the digits that it needs, a text without quotes, "[64,
 * 128]", a list of layers as "[dense, relu]", "-" for NULL and a JSON null. The caller frees it. NULL: no
 * memory. */
char *setting_text(const cJSON *value);
