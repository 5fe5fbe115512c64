/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/weights.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* So many times another process looks for stale files between the making of a file and its lock. */
static unsigned looks;
static struct store *looked_in;

/* In place of the one of libc. */
int flock(int fd, int operation)
{
	const unsigned left = looks;
	struct error err = { 0 };

	if (left) {
		looks = 0; /* the look locks files, too */
		assert_int_equal(store_abort_stale(looked_in, &err), 0);
		looks = left - 1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

struct place {
	char folder[64], url[80];
	struct store *store;
};

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct config_store where = { .url = place->url };
	struct error err = { 0 };

	(void)snprintf(place->folder, sizeof(place->folder), "/tmp/kiln-store-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	(void)snprintf(place->url, sizeof(place->url), "file://%s/in/", place->folder);
	assert_int_equal(store_open(&where, NULL, &place->store, &err), 0);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;
	char command[128];

	store_close(place->store);
	(void)snprintf(command, sizeof(command), "rm -rf %s", place->folder);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the name is ours
	free(place);
	return 0;
}

static void put(struct place *place, const char *key, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(store_put(place->store, key, text, strlen(text), &err), 0);
}

static void expect_content(struct place *place, const char *key, const char *text)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct error err = { 0 };
	uint64_t bytes;

	assert_int_equal(store_get_all(place->store, key, 1000, &data, &bytes, &err), 0);
	assert_int_equal(bytes, strlen(text));
	assert_string_equal(data, text);
}

static void test_put_get_stat_delete(void **state)
{
	struct place *place = *state;
	struct store_object object;
	struct error err = { 0 };
	char buffer[4] = "";

	put(place, "a/b/c d+e%.txt", "hello, world");
	put(place, "empty", "");
	expect_content(place, "a/b/c d+e%.txt", "hello, world");
	expect_content(place, "empty", "");
	put(place, "a/b/c d+e%.txt", "second");
	expect_content(place, "a/b/c d+e%.txt", "second");

	assert_int_equal(store_stat(place->store, "a/b/c d+e%.txt", &object, &err), 0);
	assert_int_equal(object.pin.bytes, 6);
	assert_string_equal(object.key, "a/b/c d+e%.txt");
	assert_int_equal(store_get(place->store, object.key, &object.pin, 1, buffer, 3, &err), 0);
	assert_memory_equal(buffer, "eco", 3);
	assert_int_equal(store_get(place->store, object.key, NULL, 4, buffer, 3, &err), -ERANGE);

	assert_int_equal(store_delete(place->store, "a/b/c d+e%.txt", &err), 0);
	assert_int_equal(store_delete(place->store, "a/b/c d+e%.txt", &err), 0);
	assert_int_equal(store_stat(place->store, "a/b/c d+e%.txt", &object, &err), -ENOENT);
	/* The folder "a" was removed with its last file, so a file may have its name. */
	put(place, "a", "now a file");
	assert_int_equal(store_stat(place->store, "a/b", &object, &err), -ENOENT);
}

static void test_too_big(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct place *place = *state;
	struct error err = { 0 };
	uint64_t bytes;

	put(place, "k", "12345");
	assert_int_equal(store_get_all(place->store, "k", 4, &data, &bytes, &err), -EFBIG);
	assert_null(data);
}

static void test_refused_keys(void **state)
{
	static const char *const keys[] = {
		"",      "/",      "/a",        "a/",        "a//b",          ".",   "..", "../x", "a/..",
		"a/./b", "a/../b", "tab\there", "new\nline", "a/.kiln-put-x", "\x7f"
	};
	struct place *place = *state;
	struct store_object object;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(store_put(place->store, keys[i], "x", 1, &err), -EINVAL);
		assert_int_equal(store_stat(place->store, keys[i], &object, &err), -EINVAL);
		assert_int_equal(store_delete(place->store, keys[i], &err), -EINVAL);
		assert_null(strchr(err.text, '\n'));
	}
	put(place, "...", "three dots are a name");
	put(place, ".hidden/..x", "and so are these");
	expect_content(place, ".hidden/..x", "and so are these");
}

static void test_too_long_keys(void **state)
{
	struct place *place = *state;
	char key[STORE_KEY_MAX + 2];
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = i % 200 == 199 ? '/' : 'k';
	key[STORE_KEY_MAX + 1] = 0;
	assert_int_equal(store_put(place->store, key, "x", 1, &err), -EINVAL);
	key[STORE_KEY_MAX] = 0;
	put(place, key, "longest");
	expect_content(place, key, "longest");
	memset(key, 'k', 256);
	key[256] = 0;
	assert_int_equal(store_put(place->store, key, "x", 1, &err), -EINVAL);
}

static void test_pin(void **state)
{
	struct place *place = *state;
	struct store_object object;
	struct error err = { 0 };
	char path[128], buffer[8];
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000000, .tv_nsec = 1 } };

	put(place, "k", "1234567");
	assert_int_equal(store_stat(place->store, "k", &object, &err), 0);
	assert_int_equal(store_get(place->store, "k", &object.pin, 0, buffer, 7, &err), 0);
	/* Another file with the same size and content. */
	put(place, "k", "1234567");
	assert_int_equal(store_get(place->store, "k", &object.pin, 0, buffer, 7, &err), -ESTALE);
	assert_non_null(strstr(err.text, object.pin.etag));
	/* The same file with a time stamp that differs by a nanosecond. */
	assert_int_equal(store_stat(place->store, "k", &object, &err), 0);
	(void)snprintf(path, sizeof(path), "%s/in/k", place->folder);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(store_get(place->store, "k", &object.pin, 0, buffer, 7, &err), -ESTALE);
	/* The pin has a size only. */
	object.pin.etag[0] = 0;
	assert_int_equal(store_get(place->store, "k", &object.pin, 0, buffer, 7, &err), 0);
	object.pin.bytes = 8;
	assert_int_equal(store_get(place->store, "k", &object.pin, 0, buffer, 7, &err), -ESTALE);
}

struct listed {
	char text[1024];
	int stop_after;
};

static int collect(void *context, const struct store_object *object)
{
	struct listed *listed = context;
	size_t used = strlen(listed->text);

	(void)snprintf(listed->text + used, sizeof(listed->text) - used, "%s|", object->key);
	return listed->stop_after && --listed->stop_after == 0 ? 7 : 0;
}

static void test_list(void **state)
{
	static const struct {
		const char *label, *glob, *keys;
	} cases[] = {
		{ "all, bytewise: '-' < '.' < '/' < '0'", NULL, "a-b|a.c|a/b|a/c/d|a0|b|\xc3\xa9|" },
		{ "a star crosses folders", "a*", "a-b|a.c|a/b|a/c/d|a0|" },
		{ "literal folder", "a/*", "a/b|a/c/d|" },
		{ "suffix", "*b", "a-b|a/b|b|" },
		{ "class", "a[-.]?", "a-b|a.c|" },
		{ "one key", "a/c/d", "a/c/d|" },
		{ "none", "a/c", "" },
		{ "below a file", "b/x*", "" },
	};
	struct place *place = *state;
	struct listed stopped = { .stop_after = 2 };
	struct error err = { 0 };
	struct listed empty = { 0 };
	char path[128];

	assert_int_equal(store_list(place->store, NULL, collect, &empty, &err), 0);
	assert_string_equal(empty.text, "");
	for (const char *const *key =
		     (const char *const[]){ "b", "a/c/d", "a.c", "a0", "a-b", "a/b", "\xc3\xa9", NULL };
	     *key; key++)
		put(place, *key, "x");
	(void)snprintf(path, sizeof(path), "%s/in/a/loop", place->folder);
	assert_int_equal(symlink("..", path), 0);
	(void)snprintf(path, sizeof(path), "%s/in/dangling", place->folder);
	assert_int_equal(symlink("nowhere", path), 0);
	(void)snprintf(path, sizeof(path), "%s/in/new\nline", place->folder);
	close(creat(path, 0644));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct listed listed = { 0 };

		assert_int_equal(store_list(place->store, cases[i].glob, collect, &listed, &err), 0);
		assert_string_equal(listed.text, cases[i].keys);
	}
	assert_int_equal(store_list(place->store, NULL, collect, &stopped, &err), 7);
	assert_string_equal(stopped.text, "a-b|a.c|");
}

static void test_files(void **state)
{
	static const char sha256[] =
		"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"; /* sha256sum */
	struct place *place = *state;
	char from[128], to[128], huge[128], digest[65] = "", read_back[32] = "";
	struct error err = { 0 };

	(void)snprintf(from, sizeof(from), "%s/from", place->folder);
	(void)snprintf(to, sizeof(to), "%s/to", place->folder);
	CLEANUP(close_fd) int fd = open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "hello world", 11), 11);
	assert_int_equal(store_put_file(place->store, "f", from, digest, NULL, &err), 0);
	assert_string_equal(digest, sha256);
	assert_int_equal(store_get_file(place->store, "f", to, UINT64_MAX, &err), 0);
	CLEANUP(close_fd) int back = open(to, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(back, read_back, sizeof(read_back)), 11);
	assert_string_equal(read_back, "hello world");
	assert_int_equal(store_get_file(place->store, "f", to, 11, &err), 0);
	assert_int_equal(store_get_file(place->store, "f", to, 10, &err), -EFBIG);
	assert_non_null(strstr(err.text, "/f: 11 bytes, at most 10 are expected"));
	put(place, "huge", "");
	(void)snprintf(huge, sizeof(huge), "%s/in/huge", place->folder);
	assert_int_equal(truncate(huge, INT64_C(1) << 43), 0);
	assert_int_equal(store_get_file(place->store, "huge", to, UINT64_MAX, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "/huge: no space: it has 8796093022208 bytes"));
	put(place, "none", "");
	assert_int_equal(store_get_file(place->store, "none", to, 0, &err), 0);
	assert_int_equal(store_get_file(place->store, "absent", to, 0, &err), -ENOENT);
	assert_int_equal(store_put_file(place->store, "f", "/nonexistent/file", NULL, NULL, &err), -ENOENT);
}

static void test_weights(void **state)
{
	struct place *place = *state;
	static const char *const wrong[] = { "none", "ftp://host/x" };
	static const int code[] = { -ENOENT, -EINVAL };
	const struct store_options options = { 0 };
	char to[128], url[128];
	struct config config = { .sink.url = place->url };
	struct error err = { 0 };

	put(place, "base.bin", "numbers");
	(void)snprintf(to, sizeof(to), "%s/in/to", place->folder);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(url, sizeof(url), "%sbase.bin", i ? place->url : "");
		config.model.weights = url;
		assert_int_equal(store_get_weights(&config, &options, to, &err), 0);
		expect_content(place, "to", "numbers");
		assert_int_equal(unlink(to), 0);
	}
	for (int i = 0; i < 2; i++) {
		config.model.weights = wrong[i];
		assert_int_equal(store_get_weights(&config, &options, to, &err), code[i]);
		assert_ptr_equal(strstr(err.text, "model.weights: "), err.text);
		assert_int_equal(access(to, F_OK), -1);
	}
}

static void test_stale(void **state)
{
	struct place *place = *state;
	char dead[128], alive[128];
	struct error err = { 0 };
	int fd;

	put(place, "deep/er/k", "x");
	(void)snprintf(dead, sizeof(dead), "%s/in/deep/er/.kiln-put-dead", place->folder);
	(void)snprintf(alive, sizeof(alive), "%s/in/.kiln-put-alive", place->folder);
	close(creat(dead, 0644));
	fd = creat(alive, 0644);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(store_abort_stale(place->store, &err), 0);
	assert_int_equal(access(dead, F_OK), -1);
	assert_int_equal(access(alive, F_OK), 0);
	close(fd);
	expect_content(place, "deep/er/k", "x");
}

static void test_new_file_taken_for_a_stale_one(void **state)
{
	struct place *place = *state;
	struct error err = { 0 };

	looked_in = place->store;
	looks = 2;
	put(place, "run/plan", "of a trial that begins");
	assert_int_equal(looks, 0);
	expect_content(place, "run/plan", "of a trial that begins");
	looks = 100;
	assert_int_equal(store_put(place->store, "run/plan", "x", 1, &err), -EAGAIN);
	assert_non_null(strstr(err.text, "run/plan"));
	looks = 0;
}

static void *wake_soon(void *store)
{
	store_wake(store);
	return NULL;
}

static void test_requests(void **state)
{
	struct place *place = *state;
	struct store_request requests[3], *done;
	struct error err = { 0 };
	char buffers[3][4];
	pthread_t thread;
	char direct[2];

	put(place, "k", "0123456789");
	for (uint64_t i = 0; i < 3; i++) {
		requests[i] = (struct store_request){ .key = i == 1 ? "absent" : "k",
						      .offset = i,
						      .bytes = 4,
						      .buffer = buffers[i],
						      .context = &requests[i] };
		assert_int_equal(store_submit(place->store, &requests[i], &err), 0);
	}
	/* A request that completes during a blocking call is still reported by store_poll(). */
	assert_int_equal(store_get(place->store, "k", NULL, 8, direct, 2, &err), 0);
	assert_memory_equal(direct, "89", 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_poll(place->store, 1000, &done, &err), 0);
		assert_ptr_equal(done, done->context);
		assert_int_equal(done->result, done == &requests[1] ? -ENOENT : 0);
	}
	assert_memory_equal(buffers[2], "2345", 4);

	assert_int_equal(pthread_create(&thread, NULL, wake_soon, place->store), 0);
	assert_int_equal(store_poll(place->store, 60000, &done, &err), 0);
	assert_null(done);
	(void)pthread_join(thread, NULL);

	assert_int_equal(store_submit(place->store, &requests[0], &err), 0);
	store_cancel_all(place->store);
	assert_int_equal(requests[0].result, -ECANCELED);
	assert_int_equal(store_poll(place->store, 0, &done, &err), 0);
	assert_null(done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_put_get_stat_delete, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_big, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_long_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_weights, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_file_taken_for_a_stale_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
