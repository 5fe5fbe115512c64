/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether files on /data survive the next boot. Where they do not survive, the initramfs has written a
 * file below PATH_RUNTIME that says so.
 */
#pragma once

#include "core/base/error.h"

/* Returns 0 where files on /data survive the next boot. Blocks: never. Errors: -ENODEV the partition cannot
 * be mounted, so /data is a file system in memory; -EBUSY a factory reset erased /data and will erase it
 * again at the next boot, because the request file on the ESP cannot be removed. */
MUST_CHECK int data_disk_check(struct error *err);
