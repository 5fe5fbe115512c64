/* SPDX-License-Identifier: Apache-2.0 */
/* The file that model.weights names: a key of the sink, or the URL of an object that can be read with the
 * sink's credential (config_weights_key()). */
#pragma once

#include "core/config/config.h"
#include "drivers/store/store.h"

/* Copies the file to the file `path`, as store_get_file() does, of any size. `options` are those of the store
 * that has it. model.weights is not empty. Blocks: on the store and the disk. Errors: -EINVAL the URL is none
 * of a store; -ENOMEM; those of a store and of store_get_file(). The text begins with "model.weights". */
MUST_CHECK int store_get_weights(const struct config *config, const struct store_options *options,
				 const char *path, struct error *err);
