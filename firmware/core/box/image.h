/* SPDX-License-Identifier: Apache-2.0 */
/* Which box this is, and which image runs on it: what tells one from another from afar. */
#pragma once

#include "core/base/json.h"

#include <stdbool.h>

/* "machine" (core/base/machine.h), "slot" ("A" or "B", by the kernel's command line) and "build" (BUILD_ID of
 * os-release(5), the commit of the image); null where there is none. False: no memory. */
bool image_add(cJSON *object);
