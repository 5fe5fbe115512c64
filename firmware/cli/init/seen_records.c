/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/init/seen.h"

#include <string.h>

#define IDS_MAX 10000000.0 /* more rows than any embedding of a first network */

static void see_bytes(const struct facts_feature *facts, struct seen_feature *feature)
{
	feature->dtype = facts->picture ? "picture" : "bytes";
	feature->use = facts->picture ? SEEN_PICTURE : SEEN_NOTHING;
	feature->why = "no layer reads bytes";
}

static void see_integers(const struct facts_feature *facts, struct seen_feature *feature)
{
	const bool ids = facts->numbers && facts->min >= 0 && facts->max < IDS_MAX;

	feature->dtype = "int64";
	feature->ids = ids ? (uint64_t)facts->max + 1 : 0;
	if (facts->least != facts->most) {
		feature->values_max = facts->most;
		feature->use = ids ? SEEN_TOKENS : SEEN_NOTHING;
	} else {
		feature->rank = 1;
		feature->shape[0] = facts->most;
		feature->use = ids && facts->most == 1 ? SEEN_CATEGORY : SEEN_NOTHING;
	}
	feature->why = "whole numbers that are no ids";
}

static void see_floats(const struct facts_feature *facts, struct seen_feature *feature)
{
	feature->dtype = "float32";
	feature->rank = 1;
	feature->shape[0] = facts->most;
	feature->use = facts->least == facts->most && facts->most ? SEEN_NUMBERS : SEEN_NOTHING;
	feature->why = "its number of values varies";
}

/* The classes of a label: as many as a one-hot row has values, or one more than the largest number. */
static uint64_t classes_of(const struct facts_feature *facts)
{
	if (facts->dtype != EXAMPLE_INT64 || !facts->numbers || facts->min < 0)
		return 0;
	if (facts->most > 1)
		return facts->max <= 1 ? facts->most : 0;
	return facts->class ? (uint64_t)facts->max + 1 : 0;
}

int seen_in_records(const struct facts *facts, const char *label, struct seen *ret_seen, struct error *err)
{
	int r;

	*ret_seen = (struct seen){ 0 };
	for (uint32_t i = 0; i < facts->features; i++) {
		const struct facts_feature *found = &facts->feature[i];
		struct seen_feature *feature = &ret_seen->feature[ret_seen->features];

		if (ret_seen->features == EXAMPLE_FEATURES_MAX ||
		    strlen(found->name) >= sizeof(feature->name))
			return error_set(
				err, -EINVAL,
				"feature %u, \"%.80s\": a schema has at most %u features with names of at "
				"most %u bytes",
				i + 1, found->name, EXAMPLE_FEATURES_MAX, CONFIG_FEATURE_NAME_BYTES - 1);
		(void)snprintf(feature->name, sizeof(feature->name), "%s", found->name);
		feature->missing = found->records < facts->records;
		if (found->dtype == EXAMPLE_BYTES)
			see_bytes(found, feature);
		else if (found->dtype == EXAMPLE_INT64)
			see_integers(found, feature);
		else
			see_floats(found, feature);
		ret_seen->features++;
	}
	if ((r = seen_find_label(ret_seen, label, err)) < 0)
		return r;
	ret_seen->classes = classes_of(facts_named(facts, ret_seen->feature[ret_seen->label].name));
	return 0;
}
