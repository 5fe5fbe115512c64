/* SPDX-License-Identifier: Apache-2.0 */
/* The schema that `kiln init` finds for a folder of shards: features, how a network uses each of them, and
 * the label. seen_dataset.c reads dataset.json; seen_records.c reads the first records. */
#pragma once

#include "cli/look/facts.h"
#include "core/base/json.h"
#include "core/config/config.h"

/* How a network uses a feature. */
enum seen_use {
	SEEN_LABEL,
	SEEN_NUMBERS,  /* float32 */
	SEEN_VECTOR,   /* float32 of an encoder of texts */
	SEEN_CATEGORY, /* int64, one id */
	SEEN_TOKENS,   /* int64, ragged */
	SEEN_IMAGE,    /* float32 or uint8 [ height, width, channels ] */
	SEEN_PICTURE,  /* a JPEG or PNG file */
	SEEN_NOTHING,  /* left out of the schema */
};

struct seen_feature {
	char name[CONFIG_FEATURE_NAME_BYTES];
	enum seen_use use;
	const char *dtype; /* as in the schema */
	uint64_t shape[CONFIG_SHAPE_MAX];
	uint32_t rank;
	uint64_t values_max; /* largest number of values of a ragged feature; 0: it is not ragged */
	uint64_t ids;        /* SEEN_CATEGORY, SEEN_TOKENS: one more than the largest id */
	bool missing;        /* some records do not have it */
	const char *why;     /* SEEN_NOTHING: the reason, for a comment */
};

struct seen {
	struct seen_feature feature[EXAMPLE_FEATURES_MAX];
	uint32_t features;
	uint32_t label;   /* its index in `feature` */
	uint64_t classes; /* 0: the label is a number */
	bool validation;  /* there are shards validation-* */
};

/* `label`: the name of the label; NULL: it is seen. Errors: -EBADMSG dataset.json is not that of shards;
 * -EINVAL no feature is the label, or there are too many features. */
MUST_CHECK int seen_in_dataset(const cJSON *dataset, const char *label, struct seen *ret_seen,
			       struct error *err);
MUST_CHECK int seen_in_records(const struct facts *facts, const char *label, struct seen *ret_seen,
			       struct error *err);

/* Sets seen->label to the feature that `label` names or, where it is NULL, to one with a usual name. For both
 * functions above. Errors: -EINVAL. */
MUST_CHECK int seen_find_label(struct seen *seen, const char *label, struct error *err);
