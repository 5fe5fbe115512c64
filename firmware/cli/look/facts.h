/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the features of records, which need no schema: types, numbers of values, ranges, classes. */
#pragma once

#include "data/example.h"

#define FACTS_FEATURES_MAX 1024u
#define FACTS_CLASSES_MAX  1000u /* different integers of a feature that are counted */

struct facts_class {
	int64_t value;
	uint64_t records;
};

struct facts_feature {
	char *name;
	uint32_t dtype;       /* enum example_dtype of three: float32, int64, bytes */
	uint64_t records;     /* number of records that have the feature */
	uint64_t least, most; /* number of values in one of these records */
	uint64_t bytes_most;  /* dtype bytes: length of the longest value, of records with one value */
	bool picture;         /* dtype bytes: each value begins as a JPEG or PNG file does */
	bool numbers;         /* min and max are there */
	double min, max;
	struct facts_class *class; /* dtype int64, one value: sorted by value; NULL: there are too many */
	uint32_t classes;
};

struct facts {
	struct facts_feature *feature;
	uint32_t features;
	uint64_t records;
	/* scratch memory for one record; facts_add() and facts_each() use it */
	char *memory;
	uint64_t memory_bytes;
};

/* Counts one record. Errors: -EBADMSG it is no Example, a feature has two types, or there are too many. */
MUST_CHECK int facts_add(struct facts *facts, const void *data, uint64_t bytes, struct error *err);
/* Returns the feature of this name; NULL: there is none. */
const struct facts_feature *facts_named(const struct facts *facts, const char *name);
void facts_done(struct facts *facts);

/* A value of a record for facts_each(): numbers, or the bytes of one value. */
struct facts_value {
	const char *name;
	uint32_t dtype;
	uint64_t count;
	const void *numbers; /* `count` floats or int64; NULL: bytes */
	const uint8_t *data; /* dtype bytes: the value; NULL: the record has more or fewer than one */
	uint64_t bytes;
};
/* Calls `each` for each feature of a record. `facts` lends its memory, and its counts do not change. */
MUST_CHECK int facts_each(struct facts *facts, const void *data, uint64_t bytes,
			  int (*each)(void *context, const struct facts_value *value, struct error *err),
			  void *context, struct error *err);
