/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the contract of store.h against an existing store: file://, a real S3 server, or a faulty one.
 *
 *     store contract URL             every call; prints TAP, numbered from KILN_TAP_FROM (default 1)
 *     store try URL VERB KEY         one call, then "RESULT SENTENCE", the counters and the peak of memory
 *     store get-twice URL KEY        the first ten bytes, pinned, twice; prints both results
 *     store overtake URL SLOW FAST   two gets at once; prints the keys in the order of completion
 *     store put-new URL KEY          store_put_new() of its process id
 *     store upload URL KEY FILE      store_put_file() in parts of 5 MiB
 *     store download URL KEY FILE
 *     store get-rate URL KEY PART_BYTES ROUNDS   prints MB/s and CPU-s/GB of ranged gets
 *
 * The environment: KILN_S3_ENDPOINT, KILN_S3_CA, KILN_S3_STYLE=virtual, KILN_S3_HTTP2=1, KILN_S3_CREDENTIAL,
 * KILN_S3_REGION, KILN_ATTEMPTS, KILN_CONNECT_TIMEOUT_MS, KILN_LOW_SPEED_S, KILN_CONNECTIONS,
 * KILN_NORMALISED=1 (something before the server changes paths with "//", "." and ".."), KILN_VERSIONED=1
 * (the bucket keeps versions: radosgw 17 then overwrites objects in spite of If-None-Match).
 */
#include "drivers/store/store.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define MANY_KEYS 1010u
#define BIG_KEY   "big +%41 & \xc3\xa9"
#define BIG_BYTES (21u << 20)
#define HUGE_PAGE (2u << 20)
#define PART      (5u << 20)

static int number;
static bool failed, is_file, normalised, versioned;
static struct store *store;
static struct error err;
static struct store_options options = { .part_bytes = PART };

static void say(bool good, const char *what)
{
	printf("%sok %d - %s%s%s\n", good ? "" : "not ", ++number, what, good ? "" : ": ",
	       good ? "" : err.text);
	failed |= !good;
	err.text[0] = 0;
}

static bool put(const char *key, const char *text)
{
	return store_put(store, key, text, strlen(text), &err) == 0;
}

static bool holds(const char *key, const char *text)
{
	char *data = NULL;
	uint64_t bytes = 0;
	bool good = store_get_all(store, key, 4096, &data, &bytes, &err) == 0 && bytes == strlen(text) &&
		    !memcmp(data, text, bytes);

	free(data);
	return good;
}

/* ---- Listing ---- */

struct seen {
	uint64_t count;
	char last[STORE_KEY_MAX + 1];
	bool in_order, delete;
	uint64_t stop_after;
};

static int see(void *context, const struct store_object *object)
{
	struct seen *seen = context;

	seen->in_order = (seen->in_order || !seen->count) && strcmp(seen->last, object->key) < 0;
	(void)snprintf(seen->last, sizeof(seen->last), "%s", object->key);
	seen->count++;
	if (seen->delete &&store_delete(store, object->key, &err) < 0)
		return -1;
	return seen->stop_after && seen->count == seen->stop_after ? 42 : 0;
}

static void test_clean(void)
{
	struct seen seen = { .delete = true };

	say(store_list(store, NULL, see, &seen, &err) == 0, "what an earlier run left is listed and deleted");
	seen = (struct seen){ 0 };
	say(store_list(store, NULL, see, &seen, &err) == 0 && !seen.count, "an empty prefix lists nothing");
}

/* Keys that S3 allows; '!' marks keys that cannot be a file's name, or whose path would be normalised. */
static const char *const keys[] = {
	"plain",
	"with space",
	" leading and trailing ",
	"a+b",
	"100%",
	"%41",
	"%2F",
	"a%2Fb/c",
	"k=v&w?x#y;z",
	"~!*'()",
	"-._~",
	"\"quoted\"<&>",
	"\\back\\slash",
	"[glob]*?",
	"{curly}|^`",
	"$dollar@at:,",
	"\xc3\xa9t\xc3\xa9",
	"\xe1\x88\xb4/\xf0\x9f\xa6\x8a",
	"e\xcc\x81",
	"deep/er/and/deeper",
	"...",
	"!a//b",
	"!/leading",
	"!//",
	"!trailing/",
	"!.",
	"!..",
	"!a/../b",
	"!a/./b",
	"!../../escape",
	"!tab\there",
	"!new\nline",
	"!\x01\x02\x7f",
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* A list with versions has the same keys, in the same order. */
static bool lists_versions(const struct seen *expected)
{
	struct seen seen = { 0 };

	return store_list_versions(store, NULL, see, &seen, &err) == 0 && seen.count == expected->count &&
	       (seen.in_order || !seen.count) && !strcmp(seen.last, expected->last);
}

static void test_keys(void)
{
	struct store_object object;
	uint64_t expected = 0;
	bool good = true;

	for (size_t i = 0; i < KEYS; i++) {
		bool no_file = keys[i][0] == '!';
		const char *key = keys[i] + no_file;
		char what[128];

		if (no_file && normalised)
			continue;
		if (no_file && is_file) {
			(void)snprintf(what, sizeof(what), "key %zu is refused", i);
			say(store_put(store, key, "x", 1, &err) == -EINVAL, what);
			continue;
		}
		expected++;
		(void)snprintf(what, sizeof(what), "key %zu goes there and back", i);
		good = put(key, key) && holds(key, key) && store_stat(store, key, &object, &err) == 0 &&
		       object.pin.bytes == strlen(key) && !strcmp(object.key, key);
		say(good, what);
	}
	struct seen seen = { 0 };

	say(store_list(store, NULL, see, &seen, &err) == 0 && seen.count == expected && seen.in_order,
	    "all of them are listed, in bytewise order");
	say(lists_versions(&seen), "and with their versions");
	seen = (struct seen){ 0 };
	say(store_list(store, "\\[glob\\]\\**", see, &seen, &err) == 0 && seen.count == 1,
	    "a glob with escapes");
	seen = (struct seen){ 0 };
	say(store_list(store, "deep/*", see, &seen, &err) == 0 && seen.count == 1 &&
		    !strcmp(seen.last, "deep/er/and/deeper"),
	    "a glob below a folder");
	seen = (struct seen){ .delete = true };
	say(store_list(store, NULL, see, &seen, &err) == 0 && seen.count == expected,
	    "and are deleted while listed");
	seen = (struct seen){ 0 };
	say(store_list(store, NULL, see, &seen, &err) == 0 && !seen.count, "then none is left");
	say(lists_versions(&seen), "nor with versions");
}

static void test_pages(void)
{
	struct seen seen = { 0 };
	bool good = true;
	char key[32];

	for (uint32_t i = 0; i < MANY_KEYS && good; i++) {
		(void)snprintf(key, sizeof(key), "many/%05" PRIu32, i * 7919 % MANY_KEYS);
		good = put(key, "");
	}
	say(good && store_list(store, NULL, see, &seen, &err) == 0 && seen.count == MANY_KEYS &&
		    seen.in_order,
	    "more keys than a page holds");
	say(lists_versions(&seen), "with their versions, too");
	seen = (struct seen){ .stop_after = 1003 };
	say(store_list(store, "many/*", see, &seen, &err) == 42 && !strcmp(seen.last, "many/01002"),
	    "the callback stops a list on its second page");
	seen = (struct seen){ .delete = true };
	say(store_list(store, "many/*", see, &seen, &err) == 0 && seen.count == MANY_KEYS,
	    "deleted while listed");
}

/* ---- Objects ---- */

static void test_objects(void)
{
	struct store_object object;
	char buffer[16] = "";
	char *data = NULL;
	uint64_t bytes;

	say(put("o", "first") && put("o", "0123456789") && holds("o", "0123456789"), "a put replaces");
	say(put("empty", "") && holds("empty", ""), "an object without bytes");
	say(store_get(store, "o", NULL, 3, buffer, 4, &err) == 0 && !memcmp(buffer, "3456", 5), "a range");
	say(store_get(store, "o", NULL, 9, buffer, 1, &err) == 0 && buffer[0] == '9', "the last byte");
	say(store_get(store, "o", NULL, 8, buffer, 4, &err) == -ERANGE, "a range over the end is an error");
	say(store_get(store, "o", NULL, 10, buffer, 1, &err) == -ERANGE,
	    "a range behind the end is an error");
	say(store_get_all(store, "o", 9, &data, &bytes, &err) == -EFBIG && !data,
	    "larger than expected is an error");
	say(store_stat(store, "absent", &object, &err) == -ENOENT && strstr(err.text, "absent"),
	    "stat of no object names it");
	say(store_get(store, "absent", NULL, 0, buffer, 1, &err) == -ENOENT, "get of no object");
	say(store_delete(store, "o", &err) == 0, "delete");
	say(store_delete(store, "o", &err) == 0, "deleting what is gone is fine");
	say(store_stat(store, "o", &object, &err) == -ENOENT, "then it is gone");
	say(store_put(store, "", "x", 1, &err) == -EINVAL && store_delete(store, "", &err) == -EINVAL,
	    "an empty key is refused");
}

/* Several programs at once, one of which has to win. */
static uint32_t put_new_by(uint32_t programs)
{
	uint32_t succeeded = 0;

	for (uint32_t i = 0; i < programs; i++)
		if (fork() == 0)
			execl("/proc/self/exe", "store", "put-new", store_url(store), "contended", NULL);
	for (uint32_t i = 0; i < programs; i++) {
		int status;

		succeeded += wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return succeeded;
}

static void test_put_new(void)
{
	say(store_put_new(store, "new", "mine", 4, &err) == 0 && holds("new", "mine"),
	    "an object that is to be new is put");
	say(store_put_new(store, "new", "its", 3, &err) == -EEXIST && strstr(err.text, "new") &&
		    holds("new", "mine"),
	    "where there is one it stays");
	say(store_put_new(store, "new", "mines", 5, &err) == -EEXIST && holds("new", "mine"),
	    "one of more bytes, too");
	say(store_put_new(store, "new", "mine", 4, &err) == 0, "the same once more is no other one");
	say(put_new_by(8) == 1, "of eight at once one is put");
	say(store_delete(store, "new", &err) == 0 && store_delete(store, "contended", &err) == 0,
	    "they are deleted");
}

static int keep(void *context, const struct store_object *object)
{
	*(struct store_object *)context = *object;
	return 0;
}

/* What was pinned by version is read as it was, until the version is removed for good. */
static void test_versions(const struct store_pin *pin)
{
	struct store_pin gone = *pin;
	struct store_object object = { 0 };
	char buffer[9];

	say(store_get(store, "pinned", pin, 0, buffer, 9, &err) == 0 && !memcmp(buffer, "version 1", 9),
	    "the object changed: the pinned version is read");
	say(store_list_versions(store, "pinned", keep, &object, &err) == 0 && object.pin.version[0] &&
		    strcmp(object.pin.version, pin->version) != 0 && object.pin.bytes == 10,
	    "the list has the current version");
	say(store_list(store, "pinned", keep, &object, &err) == 0 && !object.pin.version[0],
	    "a list without versions has none");
	gone.version[0] ^= 1;
	say(store_get(store, "pinned", &gone, 0, buffer, 9, &err) < 0, "a version that does not exist");
	(void)!store_delete(store, "pinned", &err);
	object = (struct store_object){ 0 };
	say(store_list_versions(store, "pinned", keep, &object, &err) == 0 && !object.key[0],
	    "a deleted object is not in the list");
	say(store_get(store, "pinned", pin, 0, buffer, 9, &err) == 0 && !memcmp(buffer, "version 1", 9),
	    "and its version is still read");
}

static void test_pins(void)
{
	struct store_object object;
	char buffer[9];

	say(put("pinned", "version 1") && store_stat(store, "pinned", &object, &err) == 0 &&
		    store_get(store, "pinned", &object.pin, 0, buffer, 9, &err) == 0,
	    "a get with the right pin");
	(void)put("pinned", "version 10");
	if (object.pin.version[0]) {
		test_versions(&object.pin);
		return;
	}
	(void)put("pinned", "version 2");
	say(store_get(store, "pinned", &object.pin, 0, buffer, 9, &err) == -ESTALE &&
		    strstr(err.text, object.pin.etag),
	    "the object changed: the pin is named");
	(void)put("pinned", "version three");
	object.pin.etag[0] = 0;
	say(store_get(store, "pinned", &object.pin, 0, buffer, 9, &err) == -ESTALE,
	    "the size alone tells, too");
	(void)!store_delete(store, "pinned", &err);
}

static void test_many_at_once(void)
{
	static const char twenty[] = "0123456789abcdefghij";
	struct store_request requests[64], *done = NULL;
	char buffers[64][10];
	int completed = 0, right = 0;

	(void)put("range", twenty);
	for (uint64_t i = 0; i < 64; i++) {
		requests[i] = (struct store_request){ .key = i == 40 ? "absent" : "range",
						      .offset = i % 11,
						      .bytes = 10,
						      .buffer = buffers[i],
						      .context = buffers[i] };
		(void)!store_submit(store, &requests[i], &err);
	}
	while (completed < 64 && store_poll(store, 10000, &done, &err) == 0 && done) {
		completed++;
		right += done->context == buffers[40]
				 ? done->result == -ENOENT
				 : done->result == 0 && !memcmp(done->buffer, &twenty[done->offset], 10);
	}
	say(completed == 64 && right == 64, "64 ranges at once over 8 connections");
	for (uint64_t i = 0; i < 64; i++)
		(void)!store_submit(store, &requests[i], &err);
	store_cancel_all(store);
	say(store_poll(store, 0, &done, &err) == 0 && !done && requests[0].result == -ECANCELED &&
		    requests[63].result == -ECANCELED && holds("range", twenty),
	    "all given up, and the store goes on");
	store_wake(store);
	say(store_poll(store, 60000, &done, &err) == 0 && !done, "a wake-up before a poll is not lost");
	(void)!store_delete(store, "range", &err);
}

/* ---- Files ---- */

static bool write_random(const char *path)
{
	FILE *from = fopen("/dev/urandom", "rb"), *to = fopen(path, "wb");
	char *bytes = malloc(BIG_BYTES);
	bool good = from && to && bytes && fread(bytes, 1, BIG_BYTES, from) == BIG_BYTES &&
		    fwrite(bytes, 1, BIG_BYTES, to) == BIG_BYTES;

	free(bytes);
	close_file(&from);
	close_file(&to);
	return good;
}

static bool sha256sum_is(const char *path, const char *hex)
{
	char command[256], found[65] = "";
	FILE *pipe;

	(void)snprintf(command, sizeof(command), "sha256sum < %s", path);
	pipe = popen(command, "r"); // NOLINT(cert-env33-c): the name is ours
	if (pipe) {
		(void)!fread(found, 1, 64, pipe);
		(void)pclose(pipe);
	}
	return !strcmp(found, hex);
}

/* Large objects are copied into memory differently from small ones: from and to odd offsets, and no byte
 * too many. */
static bool range_is(const char *key, const char *path, uint64_t offset, uint64_t bytes)
{
	FILE *file = fopen(path, "rb");
	char *expected = malloc(bytes), *found = malloc(bytes + 2);
	bool good = file && expected && found && fseek(file, (long)offset, SEEK_SET) == 0 &&
		    fread(expected, 1, bytes, file) == bytes;

	if (good) {
		found[0] = found[bytes + 1] = 42;
		good = store_get(store, key, NULL, offset, found + 1, bytes, &err) == 0 &&
		       memcmp(found + 1, expected, bytes) == 0 && found[0] == 42 && found[bytes + 1] == 42;
	}
	free(expected);
	free(found);
	close_file(&file);
	return good;
}

static void test_files(void)
{
	char folder[] = "/tmp/kiln-store-XXXXXX", from[64], to[64], sha256[65] = "";
	struct store_object object;

	if (!mkdtemp(folder))
		return;
	(void)snprintf(from, sizeof(from), "%s/from", folder);
	(void)snprintf(to, sizeof(to), "%s/to", folder);
	say(write_random(from) && store_put_file(store, BIG_KEY, from, sha256, NULL, &err) == 0 &&
		    sha256sum_is(from, sha256),
	    "a file of 21 MiB goes up in parts of 5 MiB, with its SHA-256");
	say(store_stat(store, BIG_KEY, &object, &err) == 0 && object.pin.bytes == BIG_BYTES &&
		    store_get_file(store, BIG_KEY, to, UINT64_MAX, &err) == 0 && sha256sum_is(to, sha256),
	    "and comes back the same");
	say(range_is(BIG_KEY, from, 7, PART), "a range of 5 MiB into memory is the same");
	say(store_abort_stale(store, &err) == 0, "nothing is left unfinished");
	(void)!truncate(from, 1000);
	say(store_put_file(store, BIG_KEY, from, sha256, NULL, &err) == 0 && sha256sum_is(from, sha256) &&
		    store_get_file(store, BIG_KEY, to, UINT64_MAX, &err) == 0 && sha256sum_is(to, sha256),
	    "a small file replaces it in one piece");
	(void)!truncate(from, 0);
	say(store_put_file(store, BIG_KEY, from, NULL, NULL, &err) == 0 &&
		    store_get_file(store, BIG_KEY, to, UINT64_MAX, &err) == 0 && holds(BIG_KEY, ""),
	    "an empty file");
	(void)!store_delete(store, BIG_KEY, &err);
	(void)unlink(from);
	(void)unlink(to);
	(void)rmdir(folder);
}

static int contract(void)
{
	char text[STORE_COUNTERS_TEXT];
	struct store_counters c;
	const char *from = getenv("KILN_TAP_FROM");

	number = from ? (int)strtol(from, NULL, 10) - 1 : 0;
	test_clean();
	test_keys();
	test_pages();
	test_objects();
	if (!versioned)
		test_put_new();
	test_pins();
	test_many_at_once();
	test_files();
	test_clean();
	c = store_counters_of(store);
	printf("# %s\n", store_counters_text(&c, text));
	return failed;
}

/* ---- One call ---- */

static int see_and_print(void *context, const struct store_object *object)
{
	(void)context;
	printf("%s %" PRIu64 "\n", object->key, object->pin.bytes);
	return 0;
}

/* Prints version and key of each object, then why there are no versions. */
static int print_version(void *context, const struct store_object *object)
{
	(void)context;
	printf("'%s' %s ", object->pin.version, object->key);
	return 0;
}

/* The second list shows what the store has learnt from the first. */
static int list_versions_twice(void)
{
	int rc = store_list_versions(store, NULL, print_version, NULL, &err);

	if (rc == 0)
		rc = store_list_versions(store, NULL, print_version, NULL, &err);
	if (rc == 0)
		printf("refused: %s\n",
		       store_versions_refused(store) ? store_versions_refused(store) : "nothing");
	return rc;
}

static int try_one(const char *verb, const char *key)
{
	struct store_pin pin = { .bytes = 10,
				 .etag = "781e5e245d69b566979b86e28d23f2c7" }; /* the MD5 of 0123456789 */
	struct store_counters c;
	struct store_object object;
	struct rusage usage;
	char buffer[10], text[STORE_COUNTERS_TEXT], *data = NULL;
	uint64_t bytes;
	int rc = -EINVAL;

	if (!strcmp(verb, "list-versions"))
		rc = list_versions_twice();
	else if (!strcmp(verb, "list"))
		rc = store_list(store, NULL, see_and_print, NULL, &err);
	else if (!strcmp(verb, "stat"))
		rc = store_stat(store, key, &object, &err);
	else if (!strcmp(verb, "get"))
		rc = store_get(store, key, NULL, 0, buffer, 10, &err);
	else if (!strcmp(verb, "get-pinned"))
		rc = store_get(store, key, &pin, 0, buffer, 10, &err);
	else if (!strcmp(verb, "get-all"))
		rc = store_get_all(store, key, 100, &data, &bytes, &err);
	else if (!strcmp(verb, "put"))
		rc = store_put(store, key, "0123456789", 10, &err);
	else if (!strcmp(verb, "abort-stale"))
		rc = store_abort_stale(store, &err);
	else if (!strcmp(verb, "delete"))
		rc = store_delete(store, key, &err);
	if (!strncmp(verb, "get", 3) && rc == 0 && memcmp(data ? data : buffer, "0123456789", 10) != 0)
		rc = error_set(&err, -EBADMSG, "WRONG BYTES");
	free(data);
	c = store_counters_of(store);
	printf("%s %s\n", rc < 0 ? strerrorname_np(-rc) : rc ? "MANY" : "OK", rc < 0 ? err.text : "");
	(void)getrusage(RUSAGE_SELF, &usage);
	printf("%s value=%d peak_mib=%ld\n", store_counters_text(&c, text), rc, usage.ru_maxrss >> 10);
	return 0;
}

static int put_new(const char *key)
{
	pid_t whose = getpid();

	return store_put_new(store, key, &whose, sizeof(whose), &err) < 0;
}

static struct store_request ten_bytes(const char *key, char *buffer)
{
	static const struct store_pin pin = { .bytes = 10, .etag = "listed" };

	return (struct store_request){ .key = key, .pin = &pin, .bytes = 10, .buffer = buffer };
}

static int get_twice(const char *key)
{
	char buffer[10];
	struct store_request one = ten_bytes(key, buffer);

	for (int i = 0; i < 2; i++) {
		int rc = store_get(store, key, one.pin, 0, buffer, 10, &err);

		printf("%s ", rc < 0 ? strerrorname_np(-rc) : "OK");
	}
	printf("%s\n", err.text);
	return 0;
}

static int overtake(const char *slow, const char *fast)
{
	char buffers[2][10];
	struct store_request requests[2] = { ten_bytes(slow, buffers[0]), ten_bytes(fast, buffers[1]) },
			     *done;

	requests[0].pin = requests[1].pin = NULL;
	(void)!store_submit(store, &requests[0], &err);
	(void)!store_submit(store, &requests[1], &err);
	for (int i = 0; i < 2; i++) {
		if (store_poll(store, 30000, &done, &err) < 0 || !done)
			return 1;
		printf("%s%s", done->result < 0 ? done->err.text : done->key, i ? "\n" : " ");
	}
	return 0;
}

/* ---- Rate ---- */

static double seconds(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int get_rate(const char *key, uint64_t part, uint64_t rounds)
{
	uint32_t at_once = options.connections ? options.connections : 8;
	struct store_request *requests = calloc(at_once, sizeof(*requests)), *done;
	struct store_object object;
	uint64_t next = 0, waiting = 0, parts, total;
	double wall, cpu;

	if (!requests || store_stat(store, key, &object, &err) < 0 || object.pin.bytes < part)
		return 1;
	parts = object.pin.bytes / part;
	total = parts * rounds;
	for (uint32_t i = 0; i < at_once; i++) {
		char *buffer = aligned_alloc(HUGE_PAGE, (part + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);

		if (!buffer)
			return 1;
		(void)madvise(buffer, part, MADV_HUGEPAGE); /* the same advice as for fetchd's buffers */
		memset(buffer, 1, part);
		requests[i] = (struct store_request){
			.key = key, .pin = &object.pin, .bytes = part, .buffer = buffer
		};
	}
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (uint32_t i = 0; i < at_once && next < total; i++, next++, waiting++) {
		requests[i].offset = next % parts * part;
		(void)!store_submit(store, &requests[i], &err);
	}
	while (waiting) {
		if (store_poll(store, 10000, &done, &err) < 0 || !done || done->result < 0) {
			printf("%s\n", done ? done->err.text : err.text);
			return 1;
		}
		waiting--;
		if (next < total) {
			done->offset = next++ % parts * part;
			(void)!store_submit(store, done, &err);
			waiting++;
		}
	}
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%.1f %.3f\n", (double)(total * part) / wall / 1e6, cpu / ((double)(total * part) / 1e9));
	for (uint32_t i = 0; i < at_once; i++)
		free(requests[i].buffer);
	free(requests);
	return 0;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static int run(char **argv, int arguments)
{
	const char *verb = argv[1];

	if (!strcmp(verb, "contract") && arguments == 0)
		return contract();
	if (!strcmp(verb, "try") && arguments == 2)
		return try_one(argv[3], argv[4]);
	if (!strcmp(verb, "get-twice") && arguments == 1)
		return get_twice(argv[3]);
	if (!strcmp(verb, "overtake") && arguments == 2)
		return overtake(argv[3], argv[4]);
	if (!strcmp(verb, "put-new") && arguments == 1)
		return put_new(argv[3]);
	if (!strcmp(verb, "upload") && arguments == 2)
		return store_put_file(store, argv[3], argv[4], NULL, NULL, &err) < 0;
	if (!strcmp(verb, "download") && arguments == 2)
		return store_get_file(store, argv[3], argv[4], UINT64_MAX, &err) < 0;
	if (!strcmp(verb, "get-rate") && arguments == 3)
		return get_rate(argv[3], strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
	(void)error_set(&err, -EINVAL, "usage: the top of tests/system/store.c");
	return 2;
}

int main(int argc, char **argv)
{
	struct config_store where = { .url = argc > 2 ? argv[2] : "",
				      .endpoint = environment("KILN_S3_ENDPOINT"),
				      .region = environment("KILN_S3_REGION"),
				      .credential = environment("KILN_S3_CREDENTIAL"),
				      .ca_file = environment("KILN_S3_CA"),
				      .http2 = environment("KILN_S3_HTTP2")[0],
				      .url_style = strcmp(environment("KILN_S3_STYLE"), "virtual")
							   ? URL_STYLE_AUTO
							   : URL_STYLE_VIRTUAL };
	int rc;

	options.attempts_max = (uint32_t)strtoul(environment("KILN_ATTEMPTS"), NULL, 10);
	options.connect_timeout_ms = strtoull(environment("KILN_CONNECT_TIMEOUT_MS"), NULL, 10);
	options.low_speed_s = strtoull(environment("KILN_LOW_SPEED_S"), NULL, 10);
	options.connections = (uint32_t)strtoul(environment("KILN_CONNECTIONS"), NULL, 10);
	normalised = environment("KILN_NORMALISED")[0];
	versioned = environment("KILN_VERSIONED")[0];
	is_file = !strncmp(where.url, "file:", 5);
	rc = store_open(&where, &options, &store, &err);
	if (rc < 0) {
		printf("%s %s\n", strerrorname_np(-rc), err.text);
		return 1;
	}
	rc = run(argv, argc - 3);
	if (rc && err.text[0])
		printf("%s\n", err.text);
	store_close(store);
	return rc;
}
