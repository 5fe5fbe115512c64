/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stores of a run that comes from outside this disk: from the sink, or from a file.
 *
 * Such a run.json holds a configuration, and whoever may write into the bucket decides what it says. A box
 * signs requests, and reads credentials, only as its own kiln.conf says. So a record that names other stores
 * is not used by itself; and where a person adopts it, its sources, its sink and its `notify` are replaced by
 * those of kiln.conf. The same goes for what the machine itself may do and bear: heat, power, update, control
 * and clock.
 */
#pragma once

#include "core/config/config.h"

/* Checks that the configuration of a record names the stores of kiln.conf (`box`): url, endpoint, region,
 * credential and ca_file of the sink and of each source, and a file for model.weights that is in one of them.
 * Errors: -EPERM with the key and both values. */
MUST_CHECK int box_stores_check(const struct config *record, const struct config *box, struct error *err);

/* Prints a run.json again, with a configuration that has the stores, `notify` and machine of kiln.conf
 * (`box`). Where the configuration has them already, its text stays as it is. `what` is the name of the text
 * in errors. The caller frees *ret_text. Errors: -EPERM the record has another number of sources, or weights
 * elsewhere; those of stored_record_config(). */
MUST_CHECK int box_stores_put(const struct config *box, const char *what, const char *text, uint64_t bytes,
			      char **ret_text, struct error *err);
