/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/cursor.h"

static const char *const names[] = {
	[SPLIT_TRAIN] = "train",
	[SPLIT_VALIDATION] = "validation",
	[SPLIT_TEST] = "test",
};
static_assert(sizeof(names) / sizeof(names[0]) == SPLIT_MAX, "every split has its name");

const char *split_name(uint32_t split)
{
	return names[split];
}
