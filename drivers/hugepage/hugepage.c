/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/hugepage/hugepage.h"

#include "core/paths.h"

#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"

static bool is_hugetlbfs(const char *folder)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

static int64_t pool_read(const char *name)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(close_file) FILE *file = NULL;
	char path[256];
	size_t size = 0;

	(void)snprintf(path, sizeof(path), POOL "%s", name);
	file = fopen(path, "re");
	return file && getline(&text, &size, file) > 0 ? strtoll(text, NULL, 10) : -1;
}

static void pool_raise(int64_t pages)
{
	CLEANUP(close_file) FILE *file = fopen(POOL "nr_hugepages", "we");

	if (file)
		(void)fprintf(file, "%" PRId64 "\n", pages);
}

static int64_t pages_free(void)
{
	return pool_read("free_hugepages") - pool_read("resv_hugepages");
}

static int reserve(const char *folder, uint64_t bytes, uint64_t reuse_bytes, struct error *err)
{
	int64_t needed = (int64_t)((bytes + HUGEPAGE_BYTES - 1) / HUGEPAGE_BYTES);
	int64_t reused = (int64_t)(reuse_bytes / HUGEPAGE_BYTES), missing = needed - reused - pages_free();

	if (missing > 0)
		pool_raise(pool_read("nr_hugepages") + missing);
	if (needed - reused <= pages_free())
		return 0;
	return error_set(err, -ENOMEM,
			 "%s: %" PRId64 " hugepages of 2 MiB needed, %" PRId64 " free (%" PRId64
			 " in the pool)",
			 folder, needed - reused, pages_free(), pool_read("nr_hugepages"));
}

static int mount_here(const char *folder, struct error *err)
{
	if (is_hugetlbfs(folder))
		return 0;
	if (mount("hugetlbfs", folder, "hugetlbfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "pagesize=2M,mode=0770") < 0)
		return error_set(err, -EPERM, "%s: not on hugetlbfs, and it cannot be mounted: %s", folder,
				 strerror(errno));
	return 0;
}

int hugepage_prepare(const char *folder, uint64_t bytes, uint64_t reuse_bytes, bool small_allowed,
		     bool *ret_huge, struct error *err)
{
	int r = path_make(folder, err);

	if (r < 0)
		return r;
	*ret_huge = true;
	r = mount_here(folder, err);
	if (r == 0)
		r = reserve(folder, bytes, reuse_bytes, err);
	if (r == 0 || !small_allowed)
		return r;
	/* A mount without pages would only fail later: leave it to files on normal pages. */
	*ret_huge = false;
	if (is_hugetlbfs(folder) && umount(folder) < 0)
		return error_prefix(err, "normal pages are allowed, but hugetlbfs stays mounted");
	return 0;
}
