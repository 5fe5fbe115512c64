/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/records_source.h"

#include "trained/rows.h"

#include <string.h>

const char *records_source_name(const struct records_source *source)
{
	static const char *const names[SPLIT_MAX] = { [SPLIT_TRAIN] = "the train split",
						      [SPLIT_VALIDATION] = "the validation split",
						      [SPLIT_TEST] = "the test split" };

	if (source->rows)
		return source->rows->source;
	return records_are_lines(source) ? "standard input" : names[source->split];
}

bool records_are_lines(const struct records_source *source)
{
	return source->rows || (source->data && strcmp(source->data, "-") == 0);
}
