/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a configuration file: what it says goes to the config, what is wrong with it to the mistakes.
 * For core/config*.c only.
 */
#pragma once

#include "core/base/mistakes.h"
#include "core/config/config_keys.h"

struct config_reading {
	struct config *config;
	struct mistakes *mistakes;
	const char *list; /* "schema." and the like: what the keys of a list's elements are called by */
};

/* config_value.c */
const char *config_type_name(const config_setting_t *setting);
/* The value as it stands in the file, for "found ..."; returns out. */
const char *config_found(const config_setting_t *setting, char *out, size_t size);
/* config_forms.c */
bool config_is_name(const char *text);
/* No control characters. */
bool config_is_clean(const char *text);
bool config_string_allowed(const struct config_key *key, const char *text);

/* config_value.c */
/* "group.name", or just "name" with an empty group; NULL when the table has no such key. */
const struct config_key *config_find_key(const struct config_key *keys, size_t count, const char *group,
					 const char *name);
/* Check one setting against its row and store it at `base` + offset. */
void config_read_value(struct config_reading *reading, const struct config_key *key,
		       const config_setting_t *setting, void *base);
void config_read_fallback(const struct config_key *key, void *base);

/* config_lists.c */
/* Behind everything that is no list: a source without globs has those of `split`. */
void config_read_sources(struct config_reading *reading, const config_setting_t *list);
void config_read_schema(struct config_reading *reading, const config_setting_t *list);
/* config_layers.c */
void config_read_layers(struct config_reading *reading, const config_setting_t *list);

/* config_together.c */
/* Last of all: notes what is wrong between keys, and lets go of a default that another key replaces. */
void config_check_together(struct config_reading *reading);
