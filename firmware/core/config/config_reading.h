/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a configuration file in one pass: values go to the config, mistakes to the list of mistakes. Private
 * to core/config, and to core/series, which reads the trials.
 */
#pragma once

#include "core/base/mistakes.h"
#include "core/config/config_keys.h"

struct config_reading {
	struct config *config;
	struct mistakes *mistakes;
	const char *list; /* prefix of the keys of a list's elements in mistakes: "schema.", "preprocess." or
			     "sources." */
};

/* config_value.c */
const char *config_type_name(const config_setting_t *setting);
/* Prints the value of a setting as the file has it, for the words "found ..." of a mistake; returns out. */
const char *config_found(const config_setting_t *setting, char *out, size_t size);
/* config_forms.c */
bool config_is_name(const char *text);
bool config_string_allowed(const struct config_key *key, const char *text);

/* config_value.c */
/* Finds the row of the key "group.name" or, where `group` is empty, "name". Returns NULL where the table has
 * no such key. */
const struct config_key *config_find_key(const struct config_key *keys, size_t count, const char *group,
					 const char *name);
/* Checks a setting by the row of its key, and stores the value at `base` + offset. */
void config_read_value(struct config_reading *reading, const struct config_key *key,
		       const config_setting_t *setting, void *base);
/* Stores the default value of a key, which the table has as text. */
void config_read_fallback(const struct config_key *key, void *base);

/* config_syntax.c */
/* Adds the mistake of libconfig, which stops at the first wrong syntax and does not tell the key. So shows
 * the text of the line and, where the line has a dotted key, how to write it. `text`: the text of the file.
 * Returns -EINVAL. */
int config_refuse_syntax(const config_t *file, const char *text, struct mistakes *mistakes);

/* config_lists.c */
/* Reads a list of 1 .. max groups, and calls `read` for each group. `elements`: the word for the groups in
 * mistakes. */
void config_read_list(struct config_reading *reading, const config_setting_t *list, const char *name,
		      unsigned max, const char *elements,
		      void (*read)(struct config_reading *reading, const config_setting_t *group));
/* Reads the list `sources`. Call it after all groups are read: a source without globs gets the globs of
 * `split`. */
void config_read_sources(struct config_reading *reading, const config_setting_t *list);
/* Checks that the name of a feature can be that of a column. reading->list is the prefix of the key. */
void config_check_feature_name(struct config_reading *reading, const config_setting_t *group,
			       const char *name);
/* Checks that the name of a ragged feature leaves space for the suffix of its columns' names. */
void config_check_ragged_name(struct config_reading *reading, const config_setting_t *group,
			      const char *name);
void config_read_schema(struct config_reading *reading, const config_setting_t *list);
/* config_preprocess.c */
/* Reads the list `preprocess`. Call it after the schema is read without a mistake. */
void config_read_preprocess(struct config_reading *reading, const config_setting_t *list);
void config_preprocess_free(struct config_memory *memory);
/* config_layers.c */
void config_read_layers(struct config_reading *reading, const config_setting_t *list);

/* config_objects.c */
/* Checks what source.format = "objects" asks of other keys, and sets split.by where the file does not give
 * it. Call it after everything is read. */
void config_check_objects(struct config_reading *reading);

/* config_ranks.c */
/* Checks the keys of `ranks` that depend on each other, and those that device.count depends on. Call it after
 * everything is read. */
void config_check_ranks(struct config_reading *reading);

/* config_together.c */
/* Checks keys that depend on each other, and clears checkpoint.auto where the file configures checkpoints in
 * another way. Call it after everything is read. */
void config_check_together(struct config_reading *reading);
