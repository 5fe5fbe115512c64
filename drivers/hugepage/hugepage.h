/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder on hugetlbfs with enough free 2 MiB pages behind it.
 */
#pragma once

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define HUGEPAGE_BYTES ((uint64_t)2 << 20)

/* Make `folder` (and mount hugetlbfs on it where we may), and raise the kernel's pool until `bytes` are free;
 * what `reuse_bytes` of files in it hold already counts as free. *ret_huge tells which pages the folder
 * gives. With `small_allowed`, what cannot be had falls back to normal pages. Errors: -ENOMEM pages needed
 * and free, named; -EPERM hugetlbfs is not mounted there and we may not. */
MUST_CHECK int hugepage_prepare(const char *folder, uint64_t bytes, uint64_t reuse_bytes, bool small_allowed,
				bool *ret_huge, struct error *err);
