/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "drivers/cache/internal.h"
#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "tests/unit/cache_folder.h"

static struct cache *cache;

static int setup(void **state)
{
	return cache_folder_setup(state, &cache);
}

static int teardown(void **state)
{
	cache_closep(&cache);
	return scratch_teardown(state);
}

/* A file system without extended attributes, such as tmpfs before Linux 6.6. */
static void need_cache(void)
{
	if (!cache)
		skip();
}

static struct cache_object object(const char *key, const char *text)
{
	static struct store_pin pin;

	pin = (struct store_pin){ .bytes = strlen(text), .etag = "0123" };
	return (struct cache_object){ "http://h:1", "b", key, &pin };
}

static void write_one(const char *key, const char *text)
{
	struct cache_object o = object(key, text);
	CLEANUP(cache_abandon) struct cache_writer writer = { 0 };
	struct error err = { 0 };

	if (cache_create(cache, &o, &writer, &err) < 0 ||
	    cache_append(&writer, text, strlen(text), &err) < 0 || cache_commit(&writer, &err) < 0)
		fail_msg("%s", err.text);
}

static int map_one(const char *key, const char *text)
{
	struct cache_object o = object(key, text);
	CLEANUP(cache_view_done) struct cache_view view = { 0 };
	struct error err = { 0 };
	int r = cache_map(cache, &o, &view, &err);

	if (r == 1) {
		assert_int_equal(cache_read(&view, 0, UINT64_MAX, &err), 0);
		assert_int_equal(view.bytes, strlen(text));
		return cache_is_sound(&view, view.data) ? 1 : -EILSEQ;
	}
	return r;
}

static void path_of_object(const char *key, const char *text, char out[static PATH_BYTES])
{
	struct cache_object o = object(key, text);
	char name[CACHE_NAME_BYTES], tail[CACHE_PATH_BYTES];

	cache_name(&o, name);
	(void)path_of(PATH_CACHE, cache_path(name, tail), out);
}

static unsigned files_below(const char *tail)
{
	char command[PATH_BYTES + 64], path[PATH_BYTES];
	unsigned count = 0;
	FILE *pipe;

	(void)snprintf(command, sizeof(command), "find %s ! -type d | wc -l",
		       path_of(PATH_CACHE, tail, path));
	pipe = popen(command, "re"); // NOLINT(cert-env33-c): the name is ours
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%u", &count), 1);
	(void)pclose(pipe);
	return count;
}

/* ---- Names ---- */

static void test_names(void **state)
{
	static const struct {
		const char *url, *endpoint, *key, *bucket, *whole;
	} cases[] = {
		{ "s3://b", "http://h", "k", "b", "k" },
		{ "s3://b/", "http://h", "k", "b", "k" },
		{ "s3://b/p/q", "http://h", "k/l", "b", "p/q/k/l" },
		{ "s3://b/p/q/", "http://h", "k/l", "b", "p/q/k/l" },
		{ "lakefs://rep/main", "http://h", "k/l", "rep", "k/l" },
		{ "lakefs://rep/main/p/q/", "http://h", "k/l", "rep", "p/q/k/l" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config_store store = { .url = cases[i].url, .endpoint = cases[i].endpoint };
		struct store_pin pin = { .bytes = 1, .etag = "e" };
		struct cache_strings room;
		struct cache_object o = cache_object_of(&store, cases[i].key, &pin, &room);

		assert_string_equal(o.bucket, cases[i].bucket);
		assert_string_equal(o.key, cases[i].whole);
	}
	assert_false(cache_accepts_store(&(struct config_store){ .url = "file:///a" }));
	assert_false(cache_accepts_pin(&(struct store_pin){ .bytes = 3 }));
}

/* Each of the four parts counts, and so does the boundary between two parts. The first name is fixed: the
 * SHA-256 of the parts, each with its NUL, by sha256sum. */
static void test_names_differ(void **state)
{
	static const struct {
		const char *endpoint, *bucket, *key, *etag, *version;
		uint64_t bytes;
	} cases[] = {
		{ "http://h", "b", "k", "e", "", 1 },  { "http://i", "b", "k", "e", "", 1 },
		{ "http://h", "c", "k", "e", "", 1 },  { "http://h", "b", "l", "e", "", 1 },
		{ "http://h", "b", "k", "f", "", 1 },  { "http://h", "b", "k", "e", "", 2 },
		{ "http://h", "b", "k", "e", "v", 1 }, { "http://h", "bk", "", "e", "", 1 },
		{ "http://hb", "", "k", "e", "", 1 },
	};
	enum { CASES = sizeof(cases) / sizeof(cases[0]) };
	char name[CASES][CACHE_NAME_BYTES], slash[CACHE_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		struct store_pin pin = { .bytes = cases[i].bytes };

		(void)snprintf(pin.etag, sizeof(pin.etag), "%s", cases[i].etag);
		(void)snprintf(pin.version, sizeof(pin.version), "%s", cases[i].version);
		cache_name(&(struct cache_object){ cases[i].endpoint, cases[i].bucket, cases[i].key, &pin },
			   name[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(name[i], name[k]);
	}
	assert_string_equal(name[0], "4848ff72968c19edbbbda8ee22dd180ae40aea68cc4e475be4ebdf759cbafed8");
	cache_name(&(struct cache_object){ "http://h/", "b", "k",
					   &(struct store_pin){ .bytes = 1, .etag = "e" } },
		   slash);
	assert_string_equal(slash, name[0]);
}

static void test_link_paths(void **state)
{
	static char long_part[300];
	const struct {
		const char *key, *path;
	} cases[] = {
		{ "a/b-1_2.tfrecord.gz", "tree/h:1/b/a/b-1_2.tfrecord.gz" },
		{ "../../etc/passwd", "tree/h:1/b/%2E%2E/%2E%2E/etc/passwd" },
		{ "./a", "tree/h:1/b/%2E/a" },
		{ "/etc", "tree/h:1/b/%/etc" },
		{ "a//b", "tree/h:1/b/a/%/b" },
		{ "a/", "tree/h:1/b/a/%" },
		{ "...", "tree/h:1/b/..." },
		{ "%2E", "tree/h:1/b/%252E" },
		{ "a b\n\x01\x7f\\*?", "tree/h:1/b/a%20b%0A%01%7F%5C%2A%3F" },
		{ "\xc3\xa9\xff", "tree/h:1/b/%C3%A9%FF" },
		{ long_part, NULL },
	};
	char path[PATH_MAX], deep[1025];

	(void)state;
	memset(long_part, 'x', sizeof(long_part) - 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool fits = cache_link_path("http://h:1", "b", cases[i].key, path);

		assert_int_equal(fits, cases[i].path != NULL);
		if (fits)
			assert_string_equal(path, cases[i].path);
	}
	assert_true(cache_link_path("", "b", "k", path));
	assert_string_equal(path, "tree/aws/b/k");
	for (size_t i = 0; i < sizeof(deep) - 1; i++)
		deep[i] = i % 2 ? '/' : '.';
	deep[sizeof(deep) - 1] = '\0';
	(void)cache_link_path("http://h:1", "b", deep, path);
	assert_null(strstr(path, "/./"));
}

/* ---- Files ---- */

static void test_write_and_read(void **state)
{
	char path[PATH_BYTES], link[PATH_BYTES];
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	(void)state;
	need_cache();
	assert_int_equal(map_one("k/a", "hello"), 0);
	write_one("k/a", "hello");
	assert_int_equal(map_one("k/a", "hello"), 1);
	assert_int_equal(map_one("k/b", "hello"), 0);
	assert_int_equal(map_one("k/a", "other!"), 0); /* the object with another pin */
	assert_int_equal(files_below("new"), 0);
	path_of_object("k/a", "hello", path);
	assert_int_equal(file_read(path_of(PATH_CACHE, "tree/h:1/b/k/a", link), 100, &text, NULL, &err), 0);
	assert_string_equal(text, "hello");
	write_one("empty", "");
	assert_int_equal(map_one("empty", ""), 1);
}

static void test_abandoned(void **state)
{
	struct cache_object o = object("k", "hello");
	struct cache_writer writer = { 0 };
	struct error err = { 0 };

	(void)state;
	need_cache();
	assert_int_equal(cache_create(cache, &o, &writer, &err), 0);
	assert_int_equal(cache_append(&writer, "hel", 3, &err), 0);
	cache_abandon(&writer);
	assert_int_equal(files_below("new"), 0);
	assert_int_equal(cache_create(cache, &o, &writer, &err), 0);
	assert_int_equal(cache_append(&writer, "hel", 3, &err), 0);
	assert_int_equal(cache_commit(&writer, &err), -EBADMSG);
	assert_int_equal(files_below("new") + files_below("objects") + files_below("tree"), 0);
}

/* A file damaged by a power cut or a bad disk is never accepted as the object. */
static void test_damage(void **state)
{
	char path[PATH_BYTES];
	int fd;

	(void)state;
	need_cache();
	path_of_object("k", "hello", path);

	write_one("k", "hello");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "H", 1, 0), 1);
	(void)close(fd);
	assert_int_equal(map_one("k", "hello"), -EILSEQ);

	assert_int_equal(truncate(path, 4), 0);
	assert_int_equal(map_one("k", "hello"), -EBADMSG);
	assert_int_equal(access(path, F_OK), -1);

	write_one("k", "hello");
	assert_int_equal(removexattr(path, CACHE_XATTR), 0);
	assert_int_equal(map_one("k", "hello"), -EBADMSG);
	assert_int_equal(access(path, F_OK), -1);

	write_one("k", "hello");
	assert_int_equal(setxattr(path, CACHE_XATTR, "xyzw", 4, 0), 0);
	assert_int_equal(map_one("k", "hello"), -EBADMSG);

	/* The whole file of another object under this name. */
	write_one("k", "hello");
	write_one("l", "hello");
	{
		char other[PATH_BYTES];

		path_of_object("l", "hello", other);
		assert_int_equal(rename(other, path), 0);
	}
	assert_int_equal(map_one("k", "hello"), -EBADMSG);
	assert_int_equal(map_one("k", "hello"), 0);
}

static void test_remove_and_sweep(void **state)
{
	struct cache_object o = object("k", "hello");
	char name[CACHE_NAME_BYTES], path[PATH_BYTES];
	CLEANUP(cache_abandon) struct cache_writer alive = { 0 };
	struct error err = { 0 };

	(void)state;
	need_cache();
	write_one("a/b/c", "hello");
	write_one("a/d", "hello");
	o = object("a/b/c", "hello");
	cache_name(&o, name);
	assert_int_equal(cache_remove(cache, name, &err), 0);
	assert_int_equal(cache_remove(cache, name, &err), 0);
	assert_int_equal(access(path_of(PATH_CACHE, "tree/h:1/b/a/b", path), F_OK), -1);
	assert_int_equal(map_one("a/d", "hello"), 1);

	o = object("k", "hello");
	assert_int_equal(cache_create(cache, &o, &alive, &err), 0);
	assert_int_equal(file_write_durable(path_of(PATH_CACHE, "new/1-1", path), "x", 1, &err), 0);
	path_of_object("a/d", "hello", path);
	assert_int_equal(unlink(path), 0);
	cache_sweep(cache);
	assert_int_equal(files_below("new"), 1);
	assert_int_equal(files_below("tree"), 0);
	assert_int_equal(access(path_of(PATH_CACHE, "tree", path), F_OK), 0);
}

/* A key that is also a folder of another key has a file, but perhaps no link. */
static void test_links_conflict(void **state)
{
	(void)state;
	need_cache();
	write_one("a", "one");
	write_one("a/b", "two");
	write_one("c/d", "three");
	write_one("c", "four");
	assert_int_equal(map_one("a", "one"), 1);
	assert_int_equal(map_one("a/b", "two"), 1);
	assert_int_equal(map_one("c/d", "three"), 1);
	assert_int_equal(map_one("c", "four"), 1);
}

/* ---- Lists ---- */

static uint64_t place_by_key(void *context, const struct cache_item *item)
{
	(void)context;
	return strcmp(item->key, "pinned") == 0 ? CACHE_PINNED : (uint64_t)item->key[0];
}

static double rank_by_place(void *context, const struct cache_held *held)
{
	return held->tag == *(const uint64_t *)context ? -1 : (double)held->tag;
}

static void test_evict(void **state)
{
	struct cache_list list = { 0 };
	uint64_t kept = 'c';
	struct error err = { 0 };

	(void)state;
	need_cache();
	write_one("a", "12345");
	write_one("b", "12345");
	write_one("c", "12345");
	write_one("d", "12345");
	write_one("pinned", "12345");
	assert_int_equal(cache_list_read(&list, cache, place_by_key, NULL, &err), 0);
	assert_int_equal(list.count, 5);
	assert_int_equal(list.bytes, 25);
	assert_int_equal(cache_list_evict(&list, cache, 16, 16, rank_by_place, &kept), 0);
	assert_int_equal(list.count, 5);
	assert_int_equal(cache_list_evict(&list, cache, 1, 6, rank_by_place, &kept), 10);
	assert_int_equal(list.bytes, 15);
	assert_int_equal(map_one("d", "12345"), 0);
	assert_int_equal(map_one("b", "12345"), 0);
	assert_int_equal(map_one("a", "12345"), 1);
	assert_int_equal(map_one("c", "12345"), 1);
	assert_int_equal(map_one("pinned", "12345"), 1);
	cache_list_done(&list);
}

/* ---- Pins ---- */

static void test_pins(void **state)
{
	CLEANUP(cache_pins_done) struct cache_pins pins = { 0 }, again = { 0 };
	char endpoint[] = "http://h:1", bucket[] = "b", prefix[] = "data/", nothing[] = "";
	struct cache_pin pin = { endpoint, bucket, prefix }, all = { endpoint, bucket, nothing };
	struct cache_item item = { .endpoint = "http://h:1", .bucket = "b", .key = "data/x" };
	char path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	need_cache();
	assert_int_equal(cache_pins_load(cache, &pins, &err), 0);
	assert_int_equal(pins.count, 0);
	assert_int_equal(cache_pins_set(&pins, &pin, true, &err), 1);
	assert_int_equal(cache_pins_set(&pins, &pin, true, &err), 0);
	assert_int_equal(cache_pins_set(&pins, &all, false, &err), 0);
	assert_true(cache_pins_cover(&pins, &item));
	item.key = "dat";
	assert_false(cache_pins_cover(&pins, &item));
	item.key = "data/";
	item.bucket = "c";
	assert_false(cache_pins_cover(&pins, &item));
	assert_int_equal(cache_pins_save(cache, &pins, &err), 0);
	assert_true(cache_pins_changed(cache, &again));
	assert_int_equal(cache_pins_load(cache, &again, &err), 0);
	assert_false(cache_pins_changed(cache, &again));
	assert_int_equal(again.count, 1);
	assert_string_equal(again.pin[0].prefix, "data/");
	assert_int_equal(cache_pins_set(&again, &pin, false, &err), 1);
	assert_int_equal(again.count, 0);

	assert_int_equal(
		file_write_durable(path_of(PATH_CACHE, "pins.json", path), "{\"pins\":[3]}", 12, &err), 0);
	assert_int_equal(cache_pins_load(cache, &pins, &err), -EBADMSG);
	assert_int_equal(pins.count, 1);
}

static int count_item(void *context, const struct cache_item *item)
{
	(void)item;
	++*(unsigned *)context;
	return 0;
}

/* "Too many open files" is no fault of the file that could not be opened. */
static void test_no_descriptors(void **state)
{
	struct rlimit limit, few;
	struct error err = { 0 };
	unsigned found = 0;
	int next, r, mapped;

	(void)state;
	need_cache();
	write_one("a", "text");
	next = dup(0);
	assert_true(next >= 0);
	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){ (rlim_t)next + 2, limit.rlim_max }; /* enough for the two folders */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = cache_each(cache, count_item, &found, &err);
	few.rlim_cur = (rlim_t)next;
	(void)setrlimit(RLIMIT_NOFILE, &few);
	mapped = map_one("a", "text");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(r, 0);
	assert_int_equal(found, 0);
	assert_int_equal(mapped, -EMFILE);
	assert_int_equal(map_one("a", "text"), 1);
}

/* Two processes add to one list: each sees what the other added, also after a change of its own. */
static void test_stale_list(void **state)
{
	CLEANUP(cache_list_done) struct cache_list list = { 0 };
	struct error err = { 0 };

	(void)state;
	need_cache();
	write_one("a", "text");
	assert_int_equal(cache_list_read(&list, cache, place_by_key, NULL, &err), 0);
	cache_list_changed(&list, cache);
	assert_false(cache_list_is_stale(&list, cache));
	(void)usleep(20000); /* time stamps of files have a coarse resolution */
	write_one("b", "text");
	cache_changed(cache);
	cache_list_changed(&list, cache);
	for (unsigned i = 0; i < 1000 && !cache_list_is_stale(&list, cache); i++)
		(void)usleep(10000);
	assert_true(cache_list_is_stale(&list, cache));
	assert_int_equal(cache_list_read(&list, cache, place_by_key, NULL, &err), 0);
	assert_int_equal(list.count, 2);
	assert_false(cache_list_is_stale(&list, cache));
}

/* ---- Claims ---- */

static struct cache *open_other(enum cache_use use)
{
	char folder[PATH_BYTES];
	struct cache *other;
	struct error err = { 0 };

	assert_int_equal(cache_open(path_of(PATH_CACHE, NULL, folder), use, &other, &err), 0);
	return other;
}

static int claim(const struct cache *by, const char *key, uint64_t *ret_claim)
{
	struct cache_object o = object(key, "text");
	char name[CACHE_NAME_BYTES];

	cache_name(&o, name);
	return cache_claim(by, name, ret_claim);
}

static void test_claims(void **state)
{
	CLEANUP(cache_closep) struct cache *other = NULL, *reader = NULL;
	uint64_t a = CACHE_CLAIM_NONE, b = CACHE_CLAIM_NONE, none = CACHE_CLAIM_NONE;

	(void)state;
	need_cache();
	other = open_other(CACHE_WRITE);
	reader = open_other(CACHE_READ);
	assert_int_equal(claim(cache, "a", &a), 1);
	assert_int_not_equal(a, CACHE_CLAIM_NONE);
	assert_int_equal(claim(cache, "a", &a), 1);
	assert_int_equal(claim(other, "a", &none), 0);
	assert_int_equal(none, CACHE_CLAIM_NONE);
	assert_int_equal(claim(other, "b", &b), 1);
	assert_int_equal(claim(cache, "b", &none), 0);
	assert_int_equal(claim(reader, "c", &none), -EBADF);
	cache_unclaim(cache, a);
	assert_int_equal(claim(other, "a", &a), 1);
	assert_int_equal(claim(cache, "a", &none), 0);
	cache_closep(&other);
	other = NULL;
	assert_int_equal(claim(cache, "a", &a), 1);
	assert_int_equal(claim(cache, "b", &b), 1);
}

static void test_the_claim_of_a_killed_process_ends(void **state)
{
	uint64_t number = CACHE_CLAIM_NONE;
	int tell[2], status;
	char byte;
	pid_t pid;

	(void)state;
	need_cache();
	assert_int_equal(pipe(tell), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct cache *other = open_other(CACHE_WRITE);

		if (claim(other, "a", &number) == 1 && write(tell[1], "x", 1) == 1)
			(void)pause();
		_exit(1);
	}
	assert_int_equal(read(tell[0], &byte, 1), 1);
	assert_int_equal(claim(cache, "a", &number), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(claim(cache, "a", &number), 1);
	(void)close(tell[0]);
	(void)close(tell[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_differ),
		cmocka_unit_test(test_link_paths),
		TEST(test_write_and_read),
		TEST(test_abandoned),
		TEST(test_damage),
		TEST(test_remove_and_sweep),
		TEST(test_links_conflict),
		TEST(test_evict),
		TEST(test_pins),
		TEST(test_no_descriptors),
		TEST(test_stale_list),
		TEST(test_claims),
		TEST(test_the_claim_of_a_killed_process_ends),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
