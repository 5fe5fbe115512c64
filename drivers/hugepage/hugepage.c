/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/hugepage/hugepage.h"

#include "core/paths.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"

/* ---- Numbers in files ---- */

static int64_t number_read(const char *path)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(close_file) FILE *file = fopen(path, "re");
	size_t size = 0;

	return file && getline(&text, &size, file) > 0 ? strtoll(text, NULL, 10) : 0;
}

static void number_write(const char *path, int64_t number)
{
	CLEANUP(close_file) FILE *file = fopen(path, "we");

	if (file)
		(void)fprintf(file, "%" PRId64 "\n", number);
}

static int64_t pages_total(void)
{
	return number_read(POOL "nr_hugepages");
}

static int64_t pages_free(void)
{
	return number_read(POOL "free_hugepages") - number_read(POOL "resv_hugepages");
}

/* What the kernel could give without taking it from those who use it: asked for more, it would turn all free
 * memory into hugepages before it fails. */
static int64_t pages_available(void)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	int64_t kib;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1)
			return kib / (int64_t)(HUGEPAGE_BYTES / 1024);
	return 0;
}

/* One process of ours at a time reads the pool's size and writes another. */
static void lock_pool(int *ret_fd)
{
	*ret_fd = open(POOL "nr_hugepages", O_RDONLY | O_CLOEXEC);
	if (*ret_fd >= 0)
		(void)flock(*ret_fd, LOCK_EX);
}

static const char *note_path(const char *folder, char path[static PATH_BYTES])
{
	(void)snprintf(path, PATH_BYTES, "%s.pages", folder);
	return path;
}

/* ---- The pool ---- */

static int reserve(const char *folder, uint64_t bytes, uint64_t reuse_bytes, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	int64_t needed = (int64_t)((bytes + HUGEPAGE_BYTES - 1) / HUGEPAGE_BYTES) -
			 (int64_t)(reuse_bytes / HUGEPAGE_BYTES);
	int64_t before, missing, free_now;
	char note[PATH_BYTES];

	lock_pool(&lock);
	before = pages_total();
	missing = needed - pages_free();
	if (missing > 0 && missing < pages_available())
		number_write(POOL "nr_hugepages", before + missing);
	free_now = pages_free();
	if (needed > free_now) {
		if (pages_total() != before)
			number_write(POOL "nr_hugepages", before);
		return error_set(err, -ENOMEM,
				 "%s: %" PRId64 " hugepages of 2 MiB needed, %" PRId64 " free (%" PRId64
				 " in the pool)",
				 folder, needed, free_now, before);
	}
	if (pages_total() > before)
		number_write(note_path(folder, note), number_read(note) + pages_total() - before);
	return 0;
}

static void give_back(const char *folder)
{
	CLEANUP(close_fd) int lock = -1;
	char note[PATH_BYTES];
	int64_t ours, idle;

	lock_pool(&lock);
	ours = number_read(note_path(folder, note));
	idle = pages_free();
	if (ours > idle)
		ours = idle;
	if (ours > 0)
		number_write(POOL "nr_hugepages", pages_total() - ours);
	(void)unlink(note);
}

/* ---- The mount ---- */

static bool is_hugetlbfs(const char *folder, struct statfs *ret_fs)
{
	return statfs(folder, ret_fs) == 0 && ret_fs->f_type == HUGETLBFS_MAGIC;
}

static int mount_here(const char *folder, struct error *err)
{
	struct statfs fs;

	if (is_hugetlbfs(folder, &fs)) {
		if ((uint64_t)fs.f_bsize == HUGEPAGE_BYTES)
			return 0;
		return error_set(err, -EINVAL, "%s: hugetlbfs with pages of %jd bytes, expected %" PRIu64,
				 folder, (intmax_t)fs.f_bsize, HUGEPAGE_BYTES);
	}
	if (mount("hugetlbfs", folder, "hugetlbfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "pagesize=2M,mode=0770") < 0)
		return error_set(err, -EPERM, "%s: not on hugetlbfs, and it cannot be mounted: %s", folder,
				 strerror(errno));
	return 0;
}

int hugepage_release(const char *folder, struct error *err)
{
	struct statfs fs;

	if (is_hugetlbfs(folder, &fs) && umount(folder) < 0)
		return error_set(err, -errno, "%s: hugetlbfs stays mounted: %s", folder, strerror(errno));
	give_back(folder);
	return 0;
}

int hugepage_prepare(const char *folder, uint64_t bytes, uint64_t reuse_bytes, bool small_allowed,
		     bool *ret_huge, struct error *err)
{
	struct error why;
	int r = path_make(folder, err);

	if (r < 0)
		return r;
	r = mount_here(folder, &why);
	if (r == 0)
		r = reserve(folder, bytes, reuse_bytes, &why);
	if (r == 0) {
		*ret_huge = true;
		return 0;
	}
	if (!small_allowed)
		return error_set(err, r, "%s", why.text);
	/* A mount without pages would only fail later: leave it to files on normal pages. */
	r = hugepage_release(folder, err);
	if (r < 0)
		return error_prefix(err, "normal pages are allowed (%s)", why.text);
	*ret_huge = false;
	(void)error_set(err, 0, "%s", why.text);
	return 0;
}
