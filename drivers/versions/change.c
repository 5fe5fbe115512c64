/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/versions/versions.h"

#include <assert.h>

const char *versions_change_name(enum versions_change change)
{
	static const char *const names[] = { [VERSIONS_ADDED] = "added",
					     [VERSIONS_REMOVED] = "removed",
					     [VERSIONS_CHANGED] = "changed",
					     [VERSIONS_CONFLICT] = "conflict" };

	static_assert(sizeof(names) / sizeof(names[0]) == VERSIONS_CHANGE_MAX, "every change has its name");
	return names[change];
}
