/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether files on /data survive the next boot. Where they do not, the initramfs has left a mark below
 * PATH_RUNTIME.
 */
#pragma once

#include "core/base/error.h"

/* Returns 0 where files on /data survive. Blocks: never. Errors: -ENODEV the partition cannot be mounted, and
 * a file system in memory replaces /data; -EBUSY a factory reset made a new /data, and will again at the next
 * boot, because the file on the ESP that asks for it cannot be removed. */
MUST_CHECK int data_disk_check(struct error *err);
