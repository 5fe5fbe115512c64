/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/hugepage/hugepage.h"

#include "core/base/memory.h"
#include "core/base/paths.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <time.h>

#define POOL_PATH_BYTES 96
#define LOCK_WAIT_MS    30000u /* a process of ours holds the lock until its ring is filled with zeros */
#define LOCK_PAUSE_MS   20u

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

/* Writes the path of the sysfs file `name` of the pool of hugepages of `page` bytes, and returns it. */
static const char *pool_path(uint64_t page, const char *name, char path[static POOL_PATH_BYTES])
{
	(void)snprintf(path, POOL_PATH_BYTES, "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s",
		       page / 1024, name);
	return path;
}

static int64_t pool_read(uint64_t page, const char *name)
{
	char path[POOL_PATH_BYTES];

	return number_read(pool_path(page, name, path));
}

static void pool_set(uint64_t page, int64_t pages)
{
	char path[POOL_PATH_BYTES];

	number_write(pool_path(page, "nr_hugepages", path), pages);
}

static int64_t pages_free(uint64_t page)
{
	return pool_read(page, "free_hugepages") - pool_read(page, "resv_hugepages");
}

uint64_t hugepage_gib_pages(void)
{
	int64_t pages = pool_read(HUGEPAGE_GIB_BYTES, "nr_hugepages");

	return pages > 0 ? (uint64_t)pages : 0;
}

/* Returns how many hugepages the kernel could make of memory that no process needs. A request for more than
 * that would turn all free memory into hugepages, and then fail. */
static int64_t pages_available(uint64_t page)
{
	return (int64_t)(memory_available() / page);
}

/* Locks the pool, so that no other process of ours changes its size between our read and our write of the
 * size. Every user of the machine can lock this file of the kernel's, so it goes on without the lock after a
 * while: then two processes of ours may at worst count the same pages, and one of them gets too few. */
static void lock_pool(uint64_t page, int *ret_fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	char path[POOL_PATH_BYTES];

	*ret_fd = open(pool_path(page, "nr_hugepages", path), O_RDONLY | O_CLOEXEC);
	for (unsigned waited_ms = 0; *ret_fd >= 0 && waited_ms < LOCK_WAIT_MS; waited_ms += LOCK_PAUSE_MS) {
		if (flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
			return;
		(void)nanosleep(&pause, NULL);
	}
	close_fd(ret_fd);
	*ret_fd = -1;
}

static const char *note_path(const char *folder, char path[static PATH_BYTES])
{
	(void)snprintf(path, PATH_BYTES, "%s.pages", folder);
	return path;
}

/* ---- The pool ---- */

static int reserve(const char *folder, uint64_t page, uint64_t bytes, uint64_t reuse_bytes, int *ret_lock,
		   struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	int64_t needed = (int64_t)((bytes + page - 1) / page) - (int64_t)(reuse_bytes / page);
	int64_t before, missing, free_now, added;
	char note[PATH_BYTES];

	lock_pool(page, &lock);
	before = pool_read(page, "nr_hugepages");
	missing = needed - pages_free(page);
	/* Only the pool of 2 MiB pages can grow now. After the boot memory is too fragmented for more pages
	 * of 1 GiB. */
	if (page == HUGEPAGE_BYTES && missing > 0 && missing < pages_available(page))
		pool_set(page, before + missing);
	free_now = pages_free(page);
	if (needed > free_now) {
		if (pool_read(page, "nr_hugepages") != before)
			pool_set(page, before);
		return error_set(err, -ENOMEM,
				 "%s: %" PRId64 " hugepages of %" PRIu64 " MiB needed, %" PRId64
				 " free (%" PRId64 " in the pool)",
				 folder, needed, page >> 20, free_now, before);
	}
	added = pool_read(page, "nr_hugepages") - before;
	(void)note_path(folder, note);
	if (added > 0)
		number_write(note, number_read(note) + added);
	*ret_lock = lock;
	lock = -1;
	return 0;
}

static void give_back(const char *folder)
{
	CLEANUP(close_fd) int lock = -1;
	char note[PATH_BYTES];
	int64_t ours, idle;

	lock_pool(HUGEPAGE_BYTES, &lock);
	ours = number_read(note_path(folder, note));
	idle = pages_free(HUGEPAGE_BYTES);
	if (ours > idle)
		ours = idle;
	if (ours > 0)
		pool_set(HUGEPAGE_BYTES, pool_read(HUGEPAGE_BYTES, "nr_hugepages") - ours);
	(void)unlink(note);
}

/* ---- The mount ---- */

static bool is_hugetlbfs(const char *folder, struct statfs *ret_fs)
{
	return statfs(folder, ret_fs) == 0 && ret_fs->f_type == HUGETLBFS_MAGIC;
}

static int check_page(const char *folder, const struct statfs *fs, uint64_t *ret_page, struct error *err)
{
	*ret_page = (uint64_t)fs->f_bsize;
	if (*ret_page == HUGEPAGE_BYTES || *ret_page == HUGEPAGE_GIB_BYTES)
		return 0;
	return error_set(err, -EINVAL, "%s: hugetlbfs with pages of %jd bytes, expected 2 MiB or 1 GiB",
			 folder, (intmax_t)fs->f_bsize);
}

/* Only one of several processes that begin together may mount: a second mount would hide the files of the
 * first. Processes that find no mount open and lock the folder below the mount, and look again. A process
 * that opens the folder later finds the mount. */
static int mount_here(const char *folder, uint64_t *ret_page, struct error *err)
{
	CLEANUP(close_fd) int below = -1;
	struct statfs fs;

	*ret_page = HUGEPAGE_BYTES;
	if (is_hugetlbfs(folder, &fs))
		return check_page(folder, &fs, ret_page, err);
	below = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (below < 0 || flock(below, LOCK_EX) < 0)
		return error_set(err, -errno, "%s: cannot be locked: %s", folder, strerror(errno));
	if (is_hugetlbfs(folder, &fs))
		return check_page(folder, &fs, ret_page, err);
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
		     bool *ret_huge, int *ret_lock, struct error *err)
{
	struct error why;
	uint64_t page;
	int r = path_make(folder, err);

	*ret_lock = -1;
	if (r < 0)
		return r;
	r = mount_here(folder, &page, &why);
	if (r == 0)
		r = reserve(folder, page, bytes, reuse_bytes, ret_lock, &why);
	if (r == 0) {
		*ret_huge = true;
		return 0;
	}
	if (!small_allowed)
		return error_set(err, r, "%s", why.text);
	/* Unmount the hugetlbfs, so that the folder's files use normal pages. On the mount, without free
	 * hugepages, they would fail later. */
	r = hugepage_release(folder, err);
	if (r < 0)
		return error_prefix(err, "normal pages are allowed (%s)", why.text);
	*ret_huge = false;
	(void)error_set(err, 0, "%s", why.text);
	return 0;
}
