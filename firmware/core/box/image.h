/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of the box and of its system image. Remote clients use it to tell boxes apart. */
#pragma once

#include "core/base/json.h"

#include <stdbool.h>

/* Tells whether this system runs from an image of Kiln: the boot loader then names the slot on the kernel's
 * command line. */
bool image_is_running(void);

/* Adds the members "machine" (core/base/machine.h), "slot" ("A" or "B", from the kernel's command line) and
 * "build" (BUILD_ID of os-release(5): the commit of the image); null where a value is not known. False: no
 * memory. */
bool image_add(cJSON *object);

#define IMAGE_VALUE_BYTES 96u
/* Writes the version of the system (IMAGE_VERSION of os-release(5)) to `out`, "" where this is no image.
 * Returns out. */
char *image_version(char out[static IMAGE_VALUE_BYTES]);
