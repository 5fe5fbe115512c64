/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder on hugetlbfs with enough free pages behind it, of 2 MiB, or of 1 GiB where it is mounted with
 * those. What was added to the kernel's pool is noted in FOLDER.pages, so that it can be given back.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define HUGEPAGE_BYTES     ((uint64_t)2 << 20)
#define HUGEPAGE_GIB_BYTES ((uint64_t)1 << 30)

/* Pages of 1 GiB in the kernel's pool: those that were set aside at boot. */
uint64_t hugepage_gib_pages(void);

/* Make `folder` (and mount hugetlbfs on it where we may), and raise the kernel's pool until `bytes` are free;
 * what `reuse_bytes` of files in it hold already counts as free. *ret_huge tells which pages the folder
 * gives. With `small_allowed`, what cannot be had falls back to normal pages, and err->text says why. A pool
 * that cannot be raised far enough is left as it was. Errors: -ENOMEM pages needed and free, named; -EPERM
 * hugetlbfs is not mounted there and we may not; -EINVAL pages of another size are mounted there. */
MUST_CHECK int hugepage_prepare(const char *folder, uint64_t bytes, uint64_t reuse_bytes, bool small_allowed,
				bool *ret_huge, struct error *err);

/* Unmount `folder`, whatever lies in it, and give back what hugepage_prepare() added to the pool for it, as
 * far as it is free. Nothing to do is no error. Errors: -EBUSY a process still uses it; -EPERM we may not. */
MUST_CHECK int hugepage_release(const char *folder, struct error *err);

/* ---- memory.c ---- */

/* Zeroed memory of this process for `bytes` bytes, from a 2 MiB boundary on: on 2 MiB pages where the kernel
 * has some when it is first touched (they are not the pool's), normal ones else, and for what lies behind the
 * last whole one, so that no more is taken than asked for. To be given to munmap(). NULL: there is no memory.
 */
MUST_CHECK void *hugepage_map(uint64_t bytes);

/* ---- node.c: before a run, by root. `root` stands before /sys ("" on a real box). ---- */

/* The memory node of a core, 0 where the kernel does not say. */
int hugepage_node_of_core(const char *root, int core);

/* Raise one node's pool until `bytes` are free on it, besides the `reuse_bytes` that files of ours hold, and
 * read it back; *ret_pages is its size then. Errors: -ENOMEM pages needed and free, named. */
MUST_CHECK int hugepage_node_reserve(const char *root, int node, uint64_t bytes, uint64_t reuse_bytes,
				     uint64_t *ret_pages, struct error *err);
