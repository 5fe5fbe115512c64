/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what is stored on /data outlasts this boot. Where it does not, the initramfs has left a mark below
 * PATH_RUNTIME.
 */
#pragma once

#include "core/base/error.h"

/* Blocks: never. Errors: -ENODEV there is no /data, memory is in its place; -EBUSY it was made anew, and the
 * file on the ESP that asked for it is not away, so that it is once more at the next boot. */
MUST_CHECK int data_disk_check(struct error *err);
