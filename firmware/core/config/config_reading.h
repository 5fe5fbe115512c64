/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a configuration file in one pass: values go to the config, mistakes to the list of mistakes. Private
 * to core/config.
 */
#pragma once

#include "core/base/mistakes.h"
#include "core/config/config_keys.h"

struct config_reading {
	struct config *config;
	struct mistakes *mistakes;
	const char *list; /* "schema." or "sources.": put before the keys of a list's elements in mistakes */
};

/* config_value.c */
const char *config_type_name(const config_setting_t *setting);
/* Prints the value as the file has it, for "found ..."; returns out. */
const char *config_found(const config_setting_t *setting, char *out, size_t size);
/* config_forms.c */
bool config_is_name(const char *text);
/* Tells whether the text has no control characters. */
bool config_is_clean(const char *text);
bool config_string_allowed(const struct config_key *key, const char *text);

/* config_value.c */
/* Finds "group.name", or just "name" where the group is empty; NULL: the table has no such key. */
const struct config_key *config_find_key(const struct config_key *keys, size_t count, const char *group,
					 const char *name);
/* Checks a setting against its row and stores the value at `base` + offset. */
void config_read_value(struct config_reading *reading, const struct config_key *key,
		       const config_setting_t *setting, void *base);
/* Stores the default, read from its text in the table. */
void config_read_fallback(const struct config_key *key, void *base);

/* config_lists.c */
/* Reads a list of 1 .. max groups; `read` reads each of them. `elements` names them in mistakes. */
void config_read_list(struct config_reading *reading, const config_setting_t *list, const char *name,
		      unsigned max, const char *elements,
		      void (*read)(struct config_reading *reading, const config_setting_t *group));
/* Call it after all groups are read: a source without globs has those of `split`. */
void config_read_sources(struct config_reading *reading, const config_setting_t *list);
void config_read_schema(struct config_reading *reading, const config_setting_t *list);
/* config_layers.c */
void config_read_layers(struct config_reading *reading, const config_setting_t *list);

/* config_together.c */
/* Call it last: notes what is wrong between keys, and drops the default of checkpoint.auto where the file
 * gives another way. */
void config_check_together(struct config_reading *reading);
