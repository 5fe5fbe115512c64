/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/spool.h"
#include "core/base/slot.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_checkpoint_names(void **state)
{
	static const struct {
		const char *name;
		int64_t step;
	} cases[] = {
		{ "checkpoints/ckpt-000000000000.safetensors", 0 },
		{ "checkpoints/ckpt-000000000042.safetensors", 42 },
		{ "checkpoints/ckpt-999999999999.safetensors", 999999999999 },
		{ "checkpoints/ckpt-42.safetensors", -EINVAL },
		{ "checkpoints/ckpt-0000000000042.safetensors", -EINVAL },
		{ "checkpoints/ckpt--00000000042.safetensors", -EINVAL },
		{ "checkpoints/ckpt-000000000042.safetensors.tmp", -EINVAL },
		{ "checkpoints/ckpt-000000000042", -EINVAL },
		{ "checkpoints/latest.json", -EINVAL },
		{ "ckpt-000000000042.safetensors", -EINVAL },
		{ "../checkpoints/ckpt-000000000042.safetensors", -EINVAL },
		{ "", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[SPOOL_NAME_BYTES];

		if (spool_checkpoint_step(cases[i].name) != cases[i].step)
			fail_msg("%s: found %lld", cases[i].name,
				 (long long)spool_checkpoint_step(cases[i].name));
		if (cases[i].step >= 0)
			assert_string_equal(spool_checkpoint_name((uint64_t)cases[i].step, name),
					    cases[i].name);
	}
}

/* ---- Lists, as one text ---- */

static int note_file(void *context, const char *name, uint64_t bytes)
{
	char *text = context;

	(void)snprintf(text + strlen(text), 512 - strlen(text), "%s %d\n", name, (int)bytes);
	return 0;
}

static int note_run(void *context, const char *run_id)
{
	char *text = context;

	(void)snprintf(text + strlen(text), 512 - strlen(text), "%s\n", run_id);
	return 0;
}

static int stop_at_once(void *context, const char *name, uint64_t bytes)
{
	(void)context;
	(void)name;
	(void)bytes;
	return -ECANCELED;
}

static void add(const char *run_id, const char *name)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	if (file_write_durable(spool_path(run_id, name, path), "abc", 3, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_list(void **state)
{
	char text[512] = "", path[PATH_BYTES];
	int64_t step;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(spool_make("r-1", &err), 0);
	assert_int_equal(spool_make("r-1", &err), 0);
	add("r-1", "model/model.safetensors");
	add("r-1", "logs/validation/events.out.tfevents.1");
	add("r-1", "checkpoints/ckpt-000000000010.safetensors");
	add("r-1", "checkpoints/ckpt-000000000009.safetensors");
	add("r-1", "checkpoints/ckpt-000000000011.safetensors.tmp");
	add("r-1", "checkpoints/.hidden");
	add("r-1", "logs/train/events.out.tfevents.1");
	assert_int_equal(path_make(spool_path("r-1", "model/folder", path), &err), 0);
	assert_int_equal(spool_list("r-1", note_file, text, &err), 0);
	assert_string_equal(text, "checkpoints/ckpt-000000000009.safetensors 3\n"
				  "checkpoints/ckpt-000000000010.safetensors 3\n"
				  "logs/train/events.out.tfevents.1 3\n"
				  "logs/validation/events.out.tfevents.1 3\n"
				  "model/model.safetensors 3\n");
	assert_int_equal(spool_list("r-1", stop_at_once, NULL, &err), -ECANCELED);
	assert_int_equal(spool_newest_step("r-1", &err), 10);
	assert_int_equal(spool_newest_step("r-0", &err), -ENOENT);
	assert_int_equal(spool_find_step("r-1", &step, &err), 0);
	assert_int_equal(step, 10);
	assert_int_equal(spool_find_step("r-0", &step, &err), 0);
	assert_int_equal(step, -1);
	assert_string_equal(err.text, "r-0: no checkpoint in the spool");
}

static void test_runs(void **state)
{
	char text[512] = "";
	struct error err = { 0 };

	(void)state;
	assert_int_equal(spool_runs(note_run, text, &err), 0);
	assert_int_equal(spool_list("none", note_file, text, &err), 0);
	assert_string_equal(text, "");
	assert_int_equal(spool_make("b-2", &err), 0);
	assert_int_equal(spool_make("b-1", &err), 0);
	assert_int_equal(spool_make("a-9", &err), 0);
	assert_int_equal(spool_runs(note_run, text, &err), 0);
	assert_string_equal(text, "a-9\nb-1\nb-2\n");
}

static void test_lock(void **state)
{
	struct error err = { 0 };
	int first = -1, second = -1;

	(void)state;
	assert_int_equal(spool_lock(&first, &err), -ENOENT);
	assert_int_equal(spool_make("r-1", &err), 0);
	assert_int_equal(spool_lock(&first, &err), 0);
	assert_int_equal(spool_lock(&second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "/spool/traind: another process writes there"));
	assert_int_equal(second, -1);
	close_fd(&first);
	assert_int_equal(spool_lock(&second, &err), 0);
	close_fd(&second);
}

/* Slots have places of their own, but a run has one trainer. */
static void test_lock_of_a_run(void **state)
{
	struct error err = { 0 };
	int first = -1, second = -1, other = -1;

	(void)state;
	assert_int_equal(spool_lock_run("r-1", &first, &err), -ENOENT);
	assert_int_equal(spool_make("r-1", &err), 0);
	assert_int_equal(spool_make("r-2", &err), 0);
	assert_int_equal(spool_lock_run("r-1", &first, &err), 0);
	(void)slot_use(1);
	assert_int_equal(spool_lock_run("r-1", &second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "/spool/traind/r-1: another process trains this run"));
	assert_int_equal(spool_lock_run("r-2", &other, &err), 0);
	(void)slot_use(0);
	close_fd(&first);
	close_fd(&other);
	assert_int_equal(spool_lock_run("r-1", &second, &err), 0);
	close_fd(&second);
}

static void test_lock_of_uploads(void **state)
{
	struct error err = { 0 };
	int writer = -1, first = -1, second = -1;

	(void)state;
	assert_int_equal(spool_lock_uploads(&first, &err), 0);
	assert_int_equal(spool_lock_uploads(&second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "/spool: another process uploads from there"));
	assert_int_equal(spool_make("r-1", &err), 0);
	assert_int_equal(spool_lock(&writer, &err), 0);
	close_fd(&writer);
	close_fd(&first);
	assert_int_equal(spool_lock_uploads(&second, &err), 0);
	close_fd(&second);
}

/* The trainer writes the names in the spool: a link among them leads to no file of the uploader's. */
static void test_open_follows_no_link(void **state)
{
	CLEANUP(close_fd) int fd = -1;
	char path[PATH_BYTES], other[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	assert_int_equal(spool_make("r", &err), 0);
	assert_int_equal(file_write_durable(spool_path("r", "model/a", path), "x", 1, &err), 0);
	assert_int_equal(spool_open("r", "model/a", &fd, &err), 0);
	close_fd(&fd);
	assert_int_equal(spool_open("r", "model/none", &fd, &err), -ENOENT);
	assert_int_equal(spool_open("r", "model", &fd, &err), -EINVAL);
	assert_int_equal(symlink("a", spool_path("r", "model/b", path)), 0);
	assert_int_equal(spool_open("r", "model/b", &fd, &err), -EINVAL);
	assert_int_equal(rename(spool_path("r", "model", path), spool_path("r", "elsewhere", other)), 0);
	assert_int_equal(symlink("elsewhere", path), 0);
	assert_int_equal(spool_open("r", "model/a", &fd, &err), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(spool_path("r", "fifo", path), 0600), 0);
	assert_int_equal(spool_open("r", "fifo", &fd, &err), -EINVAL);
}

static void test_remove(void **state)
{
	char text[512] = "";
	struct error err = { 0 };

	(void)state;
	assert_int_equal(spool_make("r-1", &err), 0);
	assert_int_equal(spool_make("r-2", &err), 0);
	add("r-1", "checkpoints/ckpt-000000000011.safetensors.tmp");
	add("r-1", "logs/train/events.out.tfevents.1");
	add("r-1", "run.json");
	assert_int_equal(spool_remove("r-1", &err), 0);
	assert_int_equal(spool_remove("r-1", &err), 0);
	assert_int_equal(spool_runs(note_run, text, &err), 0);
	assert_string_equal(text, "r-2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoint_names),
		cmocka_unit_test_setup_teardown(test_list, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_runs, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_lock, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_lock_of_a_run, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_lock_of_uploads, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_open_follows_no_link, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_remove, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
