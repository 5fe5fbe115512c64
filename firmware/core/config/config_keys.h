/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys: a row for each key. The parser (config.c), the checks, `kiln config show`
 * (config_print.c) and the reference in config/kiln.conf (config_reference.c) know no other keys. A key for a
 * quantity has a name that ends in the unit.
 */
#pragma once

#include "core/config/config.h"

#include <assert.h>
#include <libconfig.h>
#include <stddef.h>

enum key_type {
	KEY_INT,    /* uint64_t */
	KEY_FLOAT,  /* double */
	KEY_BOOL,   /* bool */
	KEY_STRING, /* const char *, any text without hidden characters (core/base/visible.h) */
	KEY_NAME,   /* const char *, [A-Za-z0-9_-]{1,64}; or empty, where the default is empty */
	KEY_URL, /* const char *, s3://bucket[/prefix], file:///folder or lakefs://repository/ref[/prefix] */
	KEY_WEB, /* const char *, http[s]://host[:port][/path] or empty */
	KEY_ENDPOINT, /* const char *, http[s]://host[:port] or empty */
	KEY_RELAY,    /* const char *, smtp[s]://host[:port] or empty */
	KEY_MAIL,     /* const char *, mail addresses with a comma between them, or empty */
	KEY_REGION,   /* const char *, [a-z0-9_-]{1,63} */
	KEY_CPUS,     /* const char *, "auto" or a CPU list such as 0-3,8 */
	KEY_DAYS,     /* const char *, weekdays and ranges of them: mon..fri,sun */
	KEY_TIME,     /* const char *, HH:MM; or empty, where the default is empty */
	KEY_ZONE,     /* const char *, a zone of the system's zoneinfo */
	KEY_HOSTS,    /* const char *, host names and addresses with a space between them, or empty */
	KEY_NETWORK,  /* const char *, an IPv4 network such as 10.7.0.0/24, or empty */
	KEY_FILTER,   /* const char *, a condition on a feature's value, or empty */
	KEY_ENUM,     /* int, index into `names` */
	KEY_NUMBERS,  /* struct config_numbers, each number within the bounds */
};

#define CONFIG_WORDS_MAX 7

struct config_key {
	const char *name; /* "group.key"; or "key" in the tables for elements of lists */
	enum key_type type;
	const char *unit;     /* "" = a number without a unit, or a text */
	const char *fallback; /* the default as text, a string without quotes; NULL = the file must have the
				 key */
	double min, max;      /* bounds, for KEY_INT, KEY_FLOAT and KEY_NUMBERS */
	const char *names[CONFIG_WORDS_MAX + 1]; /* allowed words, for KEY_ENUM; NULL-terminated */
	size_t offset; /* position in struct config, or in the struct of a list's element */
	const char *help;
};

#define CONFIG_KEYS_MAX 256u

extern const struct config_key config_keys[];
extern const size_t config_keys_count;

/* The keys of one element of `sources`; the first rows are the keys of its store. */
extern const struct config_key config_source_keys[];
extern const size_t config_source_keys_count;

/* The keys of one element of `schema`. The last rows, from config_picture_keys on, are for dtype "picture".
 */
extern const struct config_key config_feature_keys[];
extern const size_t config_feature_keys_count, config_picture_keys;
/* Returns how many rows of config_feature_keys a feature of this dtype has. */
size_t config_feature_keys_of(int dtype);

/* The keys of one element of `preprocess` that have a value of one of the types above; the first is `op`.
 * config_preprocess.c reads the others: vocabulary, mask_token, mask_value and salt. */
extern const struct config_key config_preprocess_keys[];
extern const size_t config_preprocess_keys_count;

/* The values of `schema` and `model.layers` where the file does not have them: a small network that
 * classifies embedded sentences. */
extern const char config_default_schema[];
extern const char config_default_layers[];

/* Owns everything that the pointers of a struct config point to. */
struct config_memory {
	config_t file, lists; /* the parsed file, and the parsed default lists above */
	char *path;
	bool given[CONFIG_KEYS_MAX];
	bool sources_given, schema_given, layers_given;
	bool is_trial;                        /* the file with the values of a trial: config_overlay.h */
	struct config_preprocess *preprocess; /* NULL: the file has none */
	uint32_t preprocesses;
	struct config_layer *layer;        /* model.layer; NULL: model.layers is no list that can be read */
	double number[CONFIG_NUMBERS_MAX]; /* the elements of all values of the type struct config_numbers */
	uint32_t numbers;
};

/* Tells whether the file has `sources` and the key belongs to `source`, which `sources` replaces. */
bool config_key_is_replaced(const struct config_memory *memory, const struct config_key *key);

/* Tells whether config_print() leaves a key out: it is replaced, or belongs to the series and not to a trial.
 */
bool config_key_is_hidden(const struct config_memory *memory, const struct config_key *key);

/* The rows of one group stand directly after each other in the table. The first two functions tell whether a
 * row is the first or the last of its group; the third returns the length of the group's name. */
bool config_opens_group(size_t row);
bool config_closes_group(size_t row);
int config_group_length(const struct config_key *key);

/* Writes the allowed values of a key as text: "an integer, 1 .. 4096". */
void config_allowed(const struct config_key *key, char *out, size_t size);
