/* SPDX-License-Identifier: Apache-2.0 */
/* Other tests may use the pool at the same time: compare only the pages of these folders. */
#include "drivers/hugepage/hugepage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TOO_MUCH ((uint64_t)1 << 50)

static char root[64], folder[80], note[96];

static bool on_hugetlbfs(void)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

static int make_root(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/kiln-huge-XXXXXX");
	assert_non_null(mkdtemp(root));
	(void)snprintf(folder, sizeof(folder), "%s/huge", root);
	(void)snprintf(note, sizeof(note), "%s.pages", folder);
	return 0;
}

static int remove_root(void **state)
{
	struct error err;

	(void)state;
	if (hugepage_release(folder, &err) < 0)
		print_error("%s\n", err.text);
	(void)rmdir(folder);
	return rmdir(root);
}

/* Lets the lock of the pool go at once. */
static int prepare(uint64_t bytes, uint64_t reuse_bytes, bool small_allowed, bool *ret_huge,
		   struct error *err)
{
	CLEANUP(close_fd) int lock = -1;

	return hugepage_prepare(folder, bytes, reuse_bytes, small_allowed, ret_huge, &lock, err);
}

/* Where hugepages are not available at all, the test checks the refusal. */
static bool can_have(void)
{
	struct error err;
	bool huge;
	int r = prepare(HUGEPAGE_BYTES, 0, false, &huge, &err);

	if (r == 0)
		return true;
	print_message("# no hugepages here: %s\n", err.text);
	assert_true(r == -EPERM || r == -ENOMEM);
	assert_non_null(strstr(err.text, folder));
	return false;
}

static int64_t pool(const char *name)
{
	CLEANUP(close_file) FILE *file = NULL;
	long long number = 0;
	char path[96];

	(void)snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-2048kB/%s", name);
	file = fopen(path, "re");
	return file && fscanf(file, "%lld", &number) == 1 ? number : 0;
}

static bool hurries;
static unsigned pauses; /* that took no time, because `hurries` was set */

/* In place of the one of libc. */
int nanosleep(const struct timespec *duration, struct timespec *left)
{
	pauses += hurries;
	return hurries ? 0 : (int)syscall(SYS_nanosleep, duration, left);
}

/* Any user can lock the file of the pool. */
static void foreign_lock(void **state)
{
	CLEANUP(close_fd)
	int fd = open("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", O_RDONLY | O_CLOEXEC);
	struct error err;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(flock(fd, LOCK_EX), 0);
	(void)alarm(60); /* ends the test where the lock is waited for without end */
	hurries = true;
	assert_int_equal(hugepage_release(folder, &err), 0);
	hurries = false;
	assert_true(pauses > 0);
	(void)alarm(0);
}

static int pool_is_locked(void)
{
	CLEANUP(close_fd)
	int fd = open("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", O_RDONLY | O_CLOEXEC);

	return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Two rings that are made at the same time do not take each other's pages. */
static void nobody_takes_the_pages_before_the_files_are_made(void **state)
{
	bool huge = false;
	struct error err;
	int lock = -1;

	(void)state;
	if (!can_have())
		return;
	assert_int_equal(hugepage_prepare(folder, HUGEPAGE_BYTES, 0, false, &huge, &lock, &err), 0);
	assert_true(pool_is_locked());
	close_fd(&lock);
	/* A call that fails, or falls back to normal pages, leaves no lock. */
	assert_int_equal(hugepage_prepare(folder, TOO_MUCH, 0, false, &huge, &lock, &err), -ENOMEM);
	assert_int_equal(lock, -1);
	assert_int_equal(hugepage_prepare(folder, TOO_MUCH, 0, true, &huge, &lock, &err), 0);
	assert_int_equal(lock, -1);
	assert_false(huge);
}

static void pages_come_and_go(void **state)
{
	struct error err;
	bool huge = false;

	(void)state;
	if (!can_have())
		return;
	assert_int_equal(prepare(2 * HUGEPAGE_BYTES, 0, false, &huge, &err), 0);
	assert_true(huge);
	assert_true(on_hugetlbfs());
	assert_int_equal(hugepage_release(folder, &err), 0);
	assert_false(on_hugetlbfs());
	assert_int_equal(access(note, F_OK), -1);
	assert_int_equal(hugepage_release(folder, &err), 0);
}

/* A process that has found no mount, while another one mounts, does not put a second mount over the first. */
static void two_that_begin_together_mount_once(void **state)
{
	const struct timespec while_it_begins = { .tv_nsec = 200000000 };
	CLEANUP(close_fd) int below = -1;
	struct error err;
	pid_t other;
	bool huge;
	int status;

	(void)state;
	assert_int_equal(mkdir(folder, 0755), 0);
	below = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(below >= 0 && flock(below, LOCK_EX) == 0);
	other = fork();
	if (other == 0)
		_exit(prepare(HUGEPAGE_BYTES, 0, true, &huge, &err) < 0);
	(void)nanosleep(&while_it_begins, NULL);
	if (mount("hugetlbfs", folder, "hugetlbfs", 0, "pagesize=2M") < 0)
		print_message("# hugetlbfs cannot be mounted here: %s\n", strerror(errno));
	(void)flock(below, LOCK_UN);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	assert_true(hugepage_release(folder, &err) == 0);
	assert_false(on_hugetlbfs());
}

static void what_was_added_is_given_back(void **state)
{
	struct error err;
	bool huge = false;
	int64_t added;
	FILE *file;

	(void)state;
	if (!can_have())
		return;
	/* More pages than are free, whatever other processes do meanwhile. */
	assert_int_equal(
		prepare((uint64_t)(pool("free_hugepages") + 8) * HUGEPAGE_BYTES, 0, false, &huge, &err), 0);
	file = fopen(note, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%" SCNd64, &added), 1);
	(void)fclose(file);
	assert_true(added > 0 && added <= pool("nr_hugepages"));
	assert_int_equal(hugepage_release(folder, &err), 0);
	assert_int_equal(access(note, F_OK), -1);
}

static void what_files_hold_counts_as_free(void **state)
{
	struct error err;
	bool huge = false;

	(void)state;
	if (!can_have())
		return;
	assert_int_equal(prepare(TOO_MUCH, TOO_MUCH, false, &huge, &err), 0);
	assert_true(huge);
}

static void too_many_are_refused_by_number(void **state)
{
	struct error err;
	bool huge;

	(void)state;
	if (!can_have())
		return;
	assert_int_equal(prepare(TOO_MUCH, 0, false, &huge, &err), -ENOMEM);
	assert_non_null(strstr(err.text, "536870912 hugepages of 2 MiB needed"));
	assert_non_null(strstr(err.text, "free"));
}

static void normal_pages_where_they_are_allowed(void **state)
{
	struct error err;
	bool huge = true;

	(void)state;
	assert_int_equal(prepare(TOO_MUCH, 0, true, &huge, &err), 0);
	assert_non_null(strstr(err.text, folder)); /* the message names the folder */
	assert_false(huge);
	assert_false(on_hugetlbfs());
	assert_int_equal(access(folder, W_OK), 0);
	assert_int_equal(access(note, F_OK), -1);
}

/* Whatever pages the kernel has: aligned, zeroed, and no byte after the last normal page. */
static void mapped_memory_is_aligned_and_ends(void **state)
{
	static const uint64_t sizes[] = { 1, 4096, HUGEPAGE_BYTES - 1, HUGEPAGE_BYTES,
					  3 * HUGEPAGE_BYTES + 4097 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), kept = (sizes[i] + page - 1) / page * page;
		uint8_t *data = hugepage_map(sizes[i]);

		assert_non_null(data);
		assert_int_equal((uintptr_t)data % HUGEPAGE_BYTES, 0);
		for (uint64_t at = 0; at < sizes[i]; at++)
			assert_true(data[at] == 0);
		data[0] = data[sizes[i] - 1] = 1;
		assert_int_equal(msync(data, kept, MS_ASYNC), 0);
		assert_int_equal(msync(data + kept, page, MS_ASYNC), -1);
		assert_int_equal(munmap(data, sizes[i]), 0);
		assert_int_equal(msync(data, page, MS_ASYNC), -1);
	}
	assert_null(hugepage_map(UINT64_MAX));
	assert_null(hugepage_map(UINT64_MAX - 2 * HUGEPAGE_BYTES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(foreign_lock, make_root, remove_root),
		cmocka_unit_test_setup_teardown(nobody_takes_the_pages_before_the_files_are_made, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(pages_come_and_go, make_root, remove_root),
		cmocka_unit_test_setup_teardown(two_that_begin_together_mount_once, make_root, remove_root),
		cmocka_unit_test_setup_teardown(what_was_added_is_given_back, make_root, remove_root),
		cmocka_unit_test_setup_teardown(what_files_hold_counts_as_free, make_root, remove_root),
		cmocka_unit_test_setup_teardown(too_many_are_refused_by_number, make_root, remove_root),
		cmocka_unit_test_setup_teardown(normal_pages_where_they_are_allowed, make_root, remove_root),
		cmocka_unit_test(mapped_memory_is_aligned_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
