/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugepages for the files of a folder (hugetlbfs): pages of 2 MiB, or of 1 GiB where the folder is mounted
 * with such pages. Also anonymous memory on large pages.
 *
 * The kernel has one pool of free hugepages per page size, which any process may use. A pool can grow only
 * where free memory is contiguous, and a box that has run for days may have little such memory. So
 * hugepage_prepare() makes the pool larger first and checks its size; where that is too small it fails, with
 * the pages needed and free. The file FOLDER.pages says how many pages it added, so that hugepage_release()
 * gives back as many and no more.
 *
 * Threads: any; a lock on the pool's file prevents that two processes of ours change the pool at the same
 * time. A process waits for this lock for 30 s at most, because every user can take it.
 * Owns: the mount and the added pages belong to no process: they stay until hugepage_release(). The memory of
 * hugepage_map() belongs to the caller. Crash: FOLDER.pages may miss the pages that were added just before;
 * they stay in the pool until a reboot.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define HUGEPAGE_BYTES     ((uint64_t)2 << 20)
#define HUGEPAGE_GIB_BYTES ((uint64_t)1 << 30)

/* Returns the number of 1 GiB pages in the kernel's pool. They were set aside at boot. */
uint64_t hugepage_gib_pages(void);

/* Makes `folder`, mounts hugetlbfs on it where it is not mounted, and raises the kernel's pool until `bytes`
 * are free. Pages that files in the folder have already (`reuse_bytes`) count as free. *ret_lock holds the
 * lock of the pool: no other process of ours takes the pages, until the caller has made its files and closes
 * it. -1: there is no lock. A call while another process holds it waits 30 s, then goes on without it. With
 * `small_allowed` a failure falls back to normal pages: *ret_huge is false then, and err->text says why. A
 * pool that cannot be raised far enough is left as it was. Errors: -ENOMEM with the pages needed and free;
 * -EPERM hugetlbfs is not mounted there and this user may not mount it; -EINVAL pages of another size are
 * mounted there; those of open(2) and flock(2) for the folder. */
MUST_CHECK int hugepage_prepare(const char *folder, uint64_t bytes, uint64_t reuse_bytes, bool small_allowed,
				bool *ret_huge, int *ret_lock, struct error *err);

/* Unmounts `folder`, with all files in it, and gives back the pages that hugepage_prepare() added to the
 * pool, as far as they are free. A folder without a mount is no error. Errors: -EBUSY a process uses the
 * folder; -EPERM.
 */
MUST_CHECK int hugepage_release(const char *folder, struct error *err);

/* ---- memory.c ---- */

/* Maps `bytes` of zeroed memory that start at a 2 MiB boundary. The kernel backs each whole 2 MiB with a
 * large page where it has one at the first access (transparent hugepages, not the pool's), and the remaining
 * memory with normal pages. The caller calls munmap(). NULL: no memory. */
MUST_CHECK void *hugepage_map(uint64_t bytes);

/* ---- node.c: memory nodes (NUMA). `root` is prepended to /sys ("" except in tests). ---- */

/* Returns the memory node (NUMA) of a core; 0 where sysfs does not have it. */
int hugepage_node_of_core(const char *root, int core);

/* The calling thread takes its next new pages, small and large, from this node where it has free ones; -1 =
 * from the node that it runs on, as before. A kernel that knows no nodes changes nothing. */
void hugepage_prefer_node(int node);

/* Before a run, by root: makes the pool of one memory node larger, until `bytes` are free there. Pages that
 * our files have already (`reuse_bytes`) count as free. Then reads the size of the pool again, because the
 * kernel reports no error. *ret_pages is the pool's size then. No lock: processes that call this at the same
 * time ask for the pages of all slots, so for the same number. Errors: -ENOMEM with the pages needed and
 * free. */
MUST_CHECK int hugepage_node_reserve(const char *root, int node, uint64_t bytes, uint64_t reuse_bytes,
				     uint64_t *ret_pages, struct error *err);
