/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln.conf with the values of one trial in the place of its own. A value is put into the parsed file, with
 * the line that it has elsewhere, before any key is read: so the same row reads and checks it as the key in
 * the file, and a mistake names the line of the override. For core/series.
 */
#pragma once

#include "core/config/config_keys.h"

/* One value. The key: "group.key", "model.layers.LAYER.ATTRIBUTE", or a whole list: "model.layers", "schema"
 * or "sources". Line 0: the line of the key in the file. */
struct config_override {
	const char *key;
	const config_setting_t *value; /* belongs to another tree, and is copied */
};

struct config_overlay {
	uint32_t count;
	const struct config_override *override;
};

/* Parses a file, lays the values over it and reads it. With an overlay, even an empty one, the file has
 * neither `experiments`, `vary` nor `series`, and config_print() prints none of them. overlay NULL: the file
 * as it is. Returns 0 even after mistakes, when mistakes->count tells: a value with a mistake is 0 or NULL.
 * The caller calls config_done(). Errors: as of config_load() where the file cannot be parsed. */
MUST_CHECK int config_open(const struct config_overlay *overlay, struct mistakes *mistakes,
			   struct config *ret_config);

/* Does the same for a caller that takes no file with mistakes. Errors: as of config_load(). */
MUST_CHECK int config_open_good(const struct config_overlay *overlay, struct mistakes *mistakes,
				struct config *ret_config);

/* Puts the values into the parsed file of the memory. Notes a layer that the file does not have. For
 * config_open(). */
MUST_CHECK int config_lay_over(struct config_memory *memory, const struct config_overlay *overlay,
			       struct mistakes *mistakes);
