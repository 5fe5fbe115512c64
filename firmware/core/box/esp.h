/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether the ESP of the box is mounted. The ESP is a partition of the image: it holds the boot
 * loader's files of both slots, and the folder for a person's files. /etc/fstab gives up on the ESP after a
 * while, so that a box boots without it.
 */
#pragma once

#include "core/base/error.h"

/* Returns 0 where /efi is a mount point, or this system does not run from an image of Kiln.
 * Errors: -ENODEV /efi is not mounted. */
MUST_CHECK int esp_check(struct error *err);
