/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/base/slot.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/kiln-paths-XXXXXX");
	return !mkdtemp(folder) || chdir(folder) < 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command); // NOLINT(cert-env33-c): the name is ours
}

static void test_path_of(void **state)
{
	char path[PATH_BYTES];

	(void)state;
	(void)unsetenv("KILN_ROOT");
	assert_string_equal(path_of(PATH_CONFIG, NULL, path), "/etc/kiln/kiln.conf");
	(void)setenv("KILN_ROOT", "/a b", 1);
	assert_string_equal(path_of(PATH_RUN, "run.json", path), "/a b/data/kiln/run/current/run.json");
	for (int i = 0; i < PATH_KINDS; i++)
		assert_int_equal(strncmp(path_of((enum path)i, NULL, path), "/a b/", 5), 0);
	(void)unsetenv("KILN_ROOT");
}

/* From slot 1 on the paths of a slot have its number; those of the box are the same in all slots. */
static void test_slots(void **state)
{
	static const struct {
		enum path which;
		const char *in_0, *in_3;
	} cases[] = {
		{ PATH_SLOT, "/data/kiln/run/x", "/data/kiln/run/slot-3/x" },
		{ PATH_RUN, "/data/kiln/run/current/x", "/data/kiln/run/slot-3/current/x" },
		{ PATH_RING, "/run/kiln/huge/ring/x", "/run/kiln/huge-3/ring/x" },
		{ PATH_SLOT_STATUS, "/run/kiln/status/x", "/run/kiln/status/slot-3/x" },
		{ PATH_STATUS, "/run/kiln/status/x", "/run/kiln/status/x" },
		{ PATH_RUNS, "/data/kiln/run/x", "/data/kiln/run/x" },
		{ PATH_SPOOL, "/data/kiln/spool/x", "/data/kiln/spool/x" },
	};
	char path[PATH_BYTES], unit[SLOT_UNIT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(slot_use(3), 0);
		assert_string_equal(path_of(cases[i].which, "x", path), cases[i].in_3);
		assert_int_equal(slot_use(0), 3);
		assert_string_equal(path_of(cases[i].which, "x", path), cases[i].in_0);
	}
	assert_string_equal(slot_unit("kiln-fetchd", ".service", unit), "kiln-fetchd.service");
	(void)slot_use(12);
	assert_string_equal(slot_unit("kiln-fetchd", ".service", unit), "kiln-fetchd@12.service");
	(void)slot_use(0);
}

/* From rank 1 on, a rank has a ring of its own; all else is that of the slot. */
static void test_ranks(void **state)
{
	static const struct {
		enum path path;
		const char *in_slot_0, *in_slot_3;
	} cases[] = {
		{ PATH_RING, "/run/kiln/huge/ring-2", "/run/kiln/huge-3/ring-2" },
		{ PATH_HUGE, "/run/kiln/huge", "/run/kiln/huge-3" },
		{ PATH_SLOT_STATUS, "/run/kiln/status", "/run/kiln/status/slot-3" },
		{ PATH_RUN, "/data/kiln/run/current", "/data/kiln/run/slot-3/current" },
		{ PATH_CACHE, "/data/kiln/cache", "/data/kiln/cache" },
	};
	char found[PATH_BYTES];

	(void)state;
	assert_int_equal(unsetenv("KILN_ROOT"), 0);
	assert_int_equal(slot_use_rank(2), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(path_of(cases[i].path, NULL, found), cases[i].in_slot_0);
		(void)slot_use(3);
		assert_string_equal(path_of(cases[i].path, NULL, found), cases[i].in_slot_3);
		(void)slot_use(0);
	}
	assert_int_equal(slot_use_rank(0), 2);
	assert_string_equal(path_of(PATH_RING, NULL, found), "/run/kiln/huge/ring");
}

static void *slot_of_thread(void *unused)
{
	(void)unused;
	return (void *)(uintptr_t)slot_now();
}

/* Each thread reads the environment for itself. */
static void test_environment(void **state)
{
	static const struct {
		const char *text;
		unsigned slot;
	} cases[] = {
		{ "0", 0 }, { "5", 5 }, { "15", 15 }, { "16", 0 }, { "", 0 }, { "-1", 0 }, { "2x", 0 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pthread_t thread;
		void *slot;

		(void)setenv("KILN_SLOT", cases[i].text, 1);
		assert_int_equal(pthread_create(&thread, NULL, slot_of_thread, NULL), 0);
		assert_int_equal(pthread_join(thread, &slot), 0);
		assert_int_equal((uintptr_t)slot, cases[i].slot);
	}
	(void)unsetenv("KILN_SLOT");
}

static void test_make(void **state)
{
	char path[PATH_BYTES + 1];
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(path_make("a/b//c/", &err), 0);
	assert_int_equal(path_make("a/b/c", &err), 0);
	assert_int_equal(stat("a/b/c", &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(path_make("", &err), -ENAMETOOLONG);
	memset(path, 'x', PATH_BYTES);
	path[PATH_BYTES] = '\0';
	assert_int_equal(path_make(path, &err), -ENAMETOOLONG);
	assert_int_equal(file_write_durable("a/file", "x", 1, &err), 0);
	assert_int_equal(path_make("a/file/b", &err), -ENOTDIR);
	assert_string_equal(err.text, "a/file/b: cannot make the folder: Not a directory");
}

static void test_write_and_read(void **state)
{
	static const struct {
		const char *label, *data;
		uint64_t bytes;
	} cases[] = {
		{ "nothing", "", 0 },
		{ "bytes with a NUL", "a\0b", 3 },
		{ "shorter than what was there", "c", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(free_ptr) char *data = NULL;
		struct error err = { 0 };
		uint64_t bytes = 99;

		if (file_write_durable("file", cases[i].data, cases[i].bytes, &err) < 0 ||
		    file_read("file", 3, &data, &bytes, &err) < 0)
			fail_msg("%s: %s", cases[i].label, err.text);
		assert_true(bytes == cases[i].bytes);
		assert_memory_equal(data, cases[i].data, bytes + 1);
		assert_int_equal(access("file.tmp", F_OK), -1);
	}
}

/* A write that fails leaves the old file. */
static void test_a_full_disk(void **state)
{
	CLEANUP(free_ptr) char *data = NULL, *big = calloc(1, 8192);
	struct rlimit before, small;
	struct error err = { 0 };
	int r;

	(void)state;
	assert_non_null(big);
	assert_int_equal(file_write_durable("file", "old", 3, &err), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = file_write_durable("file", big, 8192, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_string_equal(err.text, "file.tmp: cannot write 8192 bytes: File too large");
	assert_int_equal(access("file.tmp", F_OK), -1);
	assert_int_equal(file_read("file", 3, &data, NULL, &err), 0);
	assert_string_equal(data, "old");
}

/* The program never writes to an old temporary file, which a power cut may have left or an attacker may have
 * made. */
static void test_a_foreign_temporary(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(file_write_durable("victim", "whole", 5, &err), 0);
	assert_int_equal(symlink("victim", "file.tmp"), 0);
	assert_int_equal(file_write_durable("file", "new", 3, &err), 0);
	assert_int_equal(lstat("file", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(file_read("victim", 5, &data, NULL, &err), 0);
	assert_string_equal(data, "whole");
}

/* A FIFO in a folder that others may write: nobody ever opens its other side. */
static void test_a_foreign_fifo(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(mkfifo("file", 0666), 0);
	(void)alarm(30); /* ends the test where the other side is waited for */
	assert_int_equal(file_read("file", 3, &data, NULL, &err), -EINVAL);
	(void)alarm(0);
	assert_string_equal(err.text, "file: not a regular file");
}

/* Returns the errno of open(2) for a user who is not of the file's group; 0 = he can open it. */
static int open_by_stranger(const char *path)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(255);
		_exit(open(path, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

/* Whoever can open a file can lock it for ever. */
static void test_locks_of_strangers(void **state)
{
	static const mode_t masks[] = { 0, 0002, 0022, 0077 };
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(chmod(".", 0775), 0);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		CLEANUP(close_fd) int fd = -1;
		mode_t before = umask(masks[i]);

		assert_int_equal(file_lock("lock", &fd, &err), 0);
		(void)umask(before);
		assert_int_equal(stat("lock", &st), 0);
		assert_int_equal(st.st_mode & 0777, 0660);
		if (geteuid() == 0)
			assert_int_equal(open_by_stranger("lock"), EACCES);
		assert_int_equal(unlink("lock"), 0);
	}
}

/* A lock file that root makes is the group's, and one of an older version becomes it. */
static void test_locks_of_the_group(void **state)
{
	CLEANUP(close_fd) int fd = -1, old = -1;
	struct error err = { 0 };
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(".", 0, 4711), 0);
	old = open("lock", O_RDONLY | O_CREAT | O_CLOEXEC, 0664);
	assert_true(old >= 0);
	assert_int_equal(file_lock("lock", &fd, &err), 0);
	assert_int_equal(stat("lock", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_gid, 4711);
}

/* Whoever can write to the folder can put another file in the place of the lock. */
static void test_locks_that_are_none(void **state)
{
	CLEANUP(close_fd) int fd = -1;
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(file_write_durable("secret", "x", 1, &err), 0);
	assert_int_equal(chmod("secret", 0600), 0);
	assert_int_equal(symlink("secret", "lock"), 0);
	assert_int_equal(file_lock("lock", &fd, &err), -ELOOP);
	assert_int_equal(unlink("lock"), 0);
	assert_int_equal(link("secret", "lock"), 0);
	assert_int_equal(file_lock("lock", &fd, &err), 0);
	close_fd(&fd);
	assert_int_equal(stat("secret", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(unlink("lock"), 0);
	assert_int_equal(mkfifo("lock", 0600), 0);
	assert_int_equal(file_lock("lock", &fd, &err), -EINVAL);
	assert_int_equal(unlink("lock"), 0);
}

static void test_refusals(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(file_read("none", 3, &data, NULL, &err), -ENOENT);
	assert_string_equal(err.text, "none: cannot read it: No such file or directory");
	assert_int_equal(file_read(".", 3, &data, NULL, &err), -EINVAL);
	assert_int_equal(file_write_durable("file", "four", 4, &err), 0);
	assert_int_equal(file_read("file", 3, &data, NULL, &err), -E2BIG);
	assert_string_equal(err.text, "file: 4 bytes, at most 3 expected");
	assert_null(data);
	assert_int_equal(file_write_durable("none/file", "x", 1, &err), -ENOENT);
	assert_int_equal(file_rename_durable("none", "other", &err), -ENOENT);
	assert_int_equal(file_rename_durable("file", "none/file", &err), -ENOENT);
	assert_int_equal(access("file", F_OK), 0);
	assert_int_equal(file_remove_durable("file", &err), 0);
	assert_int_equal(access("file", F_OK), -1);
	assert_int_equal(file_remove_durable("file", &err), 0);
	assert_int_equal(file_remove_durable(".", &err), -EISDIR);
}

/* Nothing is there, or nobody knows: these are two answers. */
static void test_exists(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(path_make("there", &err), 0);
	assert_int_equal(file_exists("there", &err), 1);
	assert_int_equal(file_write_durable("there/file", "x", 1, &err), 0);
	assert_int_equal(file_exists("there/file", &err), 1);
	assert_int_equal(file_exists("there/no-file", &err), 0);
	assert_int_equal(file_exists("there/file/below", &err), 0);
	assert_int_equal(symlink("round", "there/round"), 0);
	assert_int_equal(file_exists("there/round", &err), -ELOOP);
	assert_string_equal(err.text, "there/round: Too many levels of symbolic links");
}

/* This program is build/FLAVOUR/unit/paths. */
static void test_beside(void **state)
{
	char path[PATH_BYTES], other[PATH_BYTES];

	(void)state;
	assert_int_equal(access(path_beside("paths", path), X_OK), 0);
	assert_int_equal(*path, '/');
	(void)snprintf(other, sizeof(other), "%.*sother", (int)(strlen(path) - strlen("paths")), path);
	assert_string_equal(path_beside("other", path), other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_of),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_environment),
		cmocka_unit_test_setup_teardown(test_make, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exists, setup, teardown),
		cmocka_unit_test_setup_teardown(test_write_and_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_foreign_temporary, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_foreign_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locks_of_strangers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locks_of_the_group, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locks_that_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
	};

	return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
