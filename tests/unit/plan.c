/* SPDX-License-Identifier: Apache-2.0 */
#include "data/plan.h"

#include "core/base/paths.h"
#include "data/order.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[] = "/tmp/kiln-plan-XXXXXX";
static char path[PATH_BYTES];

static const struct plan_settings settings = { .order_version = ORDER_VERSION,
					       .lanes = 4,
					       .sources = 2,
					       .remainder = 1,
					       .seed = 44,
					       .epochs = 5,
					       .window_shards = 3,
					       .batch_rows = 128,
					       .weight = { 1, 0.5 } };

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/plan", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder); /* rmdir() fails if a temporary file is still there */
}

static struct plan_shard shard_of(const char *key)
{
	return (struct plan_shard){ .key = key, .etag = "e1", .version = "", .bytes = 7 };
}

static void add(struct plan_writer *writer, enum split split, const char *key)
{
	struct plan_shard shard = shard_of(key);

	assert_int_equal(plan_add(writer, split, &shard, NULL), 0);
}

/* Three train shards, of which the last becomes a validation shard, and a test shard; and a train shard of
 * another source. */
static void write_small(void)
{
	struct plan_writer *writer;

	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	add(writer, SPLIT_TRAIN, "a");
	add(writer, SPLIT_TRAIN, "a b/\xc3\xa4+%");
	add(writer, SPLIT_TRAIN, "b");
	plan_hold_out(writer, 1);
	assert_int_equal(plan_added(writer, 0, SPLIT_VALIDATION), 1);
	add(writer, SPLIT_TEST, "Z");
	assert_int_equal(plan_add(writer, SPLIT_TRAIN,
				  &(struct plan_shard){
					  .key = "a", .etag = "", .version = "v", .bytes = 1, .source = 1 },
				  NULL),
			 0);
	assert_int_equal(plan_added(writer, 1, SPLIT_TRAIN), 1);
	assert_int_equal(plan_finish(writer, NULL), 0);
}

static void comes_back(void **state)
{
	struct plan_shard shard;
	struct plan *plan;

	(void)state;
	write_small();
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	assert_memory_equal(plan_settings_of(plan), &settings, sizeof(settings));
	assert_int_equal(plan_shards(plan, SPLIT_TRAIN), 3);
	assert_int_equal(plan_source_shards(plan, 0, SPLIT_TRAIN), 2);
	assert_int_equal(plan_source_shards(plan, 1, SPLIT_TRAIN), 1);
	assert_int_equal(plan_shards(plan, SPLIT_VALIDATION), 1);
	assert_int_equal(plan_source_shards(plan, 1, SPLIT_VALIDATION), 0);
	assert_int_equal(plan_shards(plan, SPLIT_TEST), 1);
	assert_string_equal(plan_shard(plan, 0, SPLIT_TRAIN, 1).key, "a b/\xc3\xa4+%");
	assert_string_equal(plan_shard(plan, 0, SPLIT_VALIDATION, 0).key, "b");
	assert_string_equal(plan_shard(plan, 0, SPLIT_TEST, 0).key, "Z");
	/* Two sources may have equal keys. */
	shard = plan_shard(plan, 1, SPLIT_TRAIN, 0);
	assert_string_equal(shard.key, "a");
	assert_string_equal(shard.etag, "");
	assert_string_equal(shard.version, "v");
	assert_int_equal(shard.bytes, 1);
	assert_int_equal(shard.source, 1);
	plan_close(plan);
}

/* Another run over the same shards. */
static void another_order(void **state)
{
	CLEANUP(plan_closep) struct plan *plan = NULL;
	struct plan_settings other;
	uint64_t shards;

	(void)state;
	write_small();
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	shards = plan_shards(plan, SPLIT_TRAIN);
	other = *plan_settings_of(plan);
	other.seed++;
	other.lanes = 1;
	other.window_shards = 1;
	plan_reorder(plan, &other);
	assert_memory_equal(plan_settings_of(plan), &other, sizeof(other));
	assert_int_equal(plan_shards(plan, SPLIT_TRAIN), shards);
	assert_int_equal(plan_windows(plan, 0, 0, SPLIT_TRAIN), plan_source_shards(plan, 0, SPLIT_TRAIN));
}

/* A request repeats the ETag in a header: "e\r\nX-Evil: 1" would be a header of its own. */
static void no_etag_ends_a_header(void **state)
{
	static const char *const bad[] = { "e\r\nX-Evil: 1", "e\n", "\x1b[2J", "\x7f", "e\"" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct plan_shard shard = { .key = "a", .etag = bad[i], .version = "", .bytes = 7 };
		struct error err = { 0 };
		struct plan_writer *writer;
		struct plan *plan;

		assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
		assert_int_equal(plan_add(writer, SPLIT_TRAIN, &shard, NULL), 0);
		assert_int_equal(plan_finish(writer, NULL), 0);
		assert_int_equal(plan_open(path, &plan, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "entry 0 has an ETag with a quote or a control character"));
	}
}

static bool is_in(const void *context, uint64_t index)
{
	return strchr(context, (int)('0' + index)) != NULL;
}

/* Held-out shards stand anywhere among the train shards; sources before and after are left alone. */
static void any_are_held_out(void **state)
{
	static const char *const keys[] = { "a", "b", "c", "d", "e" };
	struct plan_shard other = { .key = "a", .etag = "", .version = "", .bytes = 1, .source = 1 };
	struct plan_writer *writer;
	struct plan *plan;
	uint64_t index;

	(void)state;
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		add(writer, SPLIT_TRAIN, keys[i]);
	assert_int_equal(plan_hold_out_each(writer, is_in, "03", NULL), 0);
	add(writer, SPLIT_TEST, "t");
	for (size_t i = 0; i < 3; i++) {
		other.key = keys[i];
		assert_int_equal(plan_add(writer, SPLIT_TRAIN, &other, NULL), 0);
	}
	assert_int_equal(plan_hold_out_each(writer, is_in, "2", NULL), 0);
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	assert_int_equal(plan_source_shards(plan, 0, SPLIT_TRAIN), 3);
	assert_int_equal(plan_source_shards(plan, 0, SPLIT_VALIDATION), 2);
	assert_int_equal(plan_source_shards(plan, 1, SPLIT_VALIDATION), 1);
	assert_string_equal(plan_shard(plan, 0, SPLIT_TRAIN, 0).key, "b");
	assert_string_equal(plan_shard(plan, 0, SPLIT_TRAIN, 2).key, "e");
	assert_string_equal(plan_shard(plan, 0, SPLIT_VALIDATION, 0).key, "a");
	assert_string_equal(plan_shard(plan, 0, SPLIT_VALIDATION, 1).key, "d");
	assert_string_equal(plan_shard(plan, 0, SPLIT_TEST, 0).key, "t");
	assert_string_equal(plan_shard(plan, 1, SPLIT_VALIDATION, 0).key, "c");
	assert_true(plan_find(plan, 0, SPLIT_TRAIN, "c", &index));
	plan_close(plan);
}

static void order_is_checked(void **state)
{
	struct plan_shard same = shard_of("b"), before = shard_of("a"), empty = shard_of("");
	struct plan_writer *writer;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	add(writer, SPLIT_TRAIN, "b");
	assert_int_equal(plan_add(writer, SPLIT_TRAIN, &same, &err), -EINVAL);
	assert_int_equal(plan_add(writer, SPLIT_TRAIN, &before, &err), -EINVAL);
	assert_non_null(strstr(err.text, "\"a\" comes after \"b\""));
	assert_int_equal(plan_add(writer, SPLIT_TRAIN, &empty, &err), -EINVAL);
	/* Keys ascend within each split, so another split may begin with "a". */
	assert_int_equal(plan_add(writer, SPLIT_TEST, &before, &err), 0);
	assert_int_equal(plan_add(writer, SPLIT_VALIDATION, &same, &err), -EINVAL);
	before.source = 1;
	assert_int_equal(plan_add(writer, SPLIT_TRAIN, &before, &err), 0);
	before.source = 2;
	assert_int_equal(plan_add(writer, SPLIT_TRAIN, &before, &err), -EINVAL);
	assert_int_equal(plan_add(writer, SPLIT_TEST, &same, &err), -EINVAL);
	assert_non_null(strstr(err.text, "source 0, split 2 comes after source 1, split 0"));
	plan_abandon(writer);
}

/* ---- A plan file is untrusted input ---- */

static uint8_t *read_plan(uint64_t *ret_bytes)
{
	char *text;

	assert_int_equal(file_read(path, 1 << 20, &text, ret_bytes, NULL), 0);
	return (uint8_t *)text;
}

static int open_bytes(const uint8_t *data, uint64_t bytes, struct error *err)
{
	struct plan *plan;
	int r;

	assert_int_equal(file_write_durable(path, data, bytes, NULL), 0);
	r = plan_open(path, &plan, err);
	if (r == 0)
		plan_close(plan);
	return r;
}

/* Offsets are those of struct plan_header and struct plan_entry in data/plan_file.h. */
enum { AT_HEAP = 16, AT_SETTINGS = 24, AT_SHARDS = 608, AT_ENTRIES = 1376, ENTRY = 32 };
#define SETTING(member) (AT_SETTINGS + offsetof(struct plan_settings, member))

static const struct {
	const char *label;
	uint64_t at, value;
	unsigned bytes;
	const char *words;
} damages[] = {
	{ "magic", 0, 1, 8, "expected a plan of version" },
	{ "version", 8, 4, 4, "version 4" },
	{ "version of objects", 8, 3, 4, "order version 1" },
	{ "version 1 of two sources", 8, 1, 4, "version 1 with" },
	{ "one shard more", AT_SHARDS, 3, 8, "a file of" },
	{ "shards beyond all", AT_SHARDS, UINT64_MAX, 8, "at most" },
	{ "a shard to another split", AT_SHARDS + 8, 0, 8, "a file of" },
	{ "a shard of no source", AT_SHARDS + 48, 1, 8, "1 shards of source 2" },
	{ "heap beyond the file", AT_HEAP, UINT64_MAX - 7, 8, "a file of" },
	{ "order version", SETTING(order_version), 9, 4, "order version 9" },
	{ "order of objects", SETTING(order_version), 2, 4, "order version 2" },
	{ "no lanes", SETTING(lanes), 0, 4, "0 lanes" },
	{ "more places than a cursor has", SETTING(lanes), 17, 4, "17 lanes, 2 sources" },
	{ "product of both wraps", SETTING(lanes), 0x80000000, 4, "does not support" },
	{ "no sources", SETTING(sources), 0, 4, "0 sources" },
	{ "remainder", SETTING(remainder), 2, 4, "does not support" },
	{ "no epochs", SETTING(epochs), 0, 8, "0 epochs" },
	{ "empty windows", SETTING(window_shards), 0, 8, "windows of 0" },
	{ "empty batches", SETTING(batch_rows), 0, 8, "batches of 0" },
	{ "batch beyond 32 bits", SETTING(batch_rows), UINT64_C(1) << 32, 8, "batches of 4294967296" },
	{ "weight 0", SETTING(weight), 0, 8, "weight" },
	{ "weight NaN", SETTING(weight), UINT64_C(0x7ff8000000000000), 8, "weight" },
	{ "weight infinite", SETTING(weight) + 8, UINT64_C(0x7ff0000000000000), 8, "weight" },
	{ "a filter", SETTING(filter), 'x', 1, "the filter \"x\"" },
	{ "a filter without end", SETTING(filter) + 255, 'x', 1, "the filter \"\"" },
	{ "key outside", AT_ENTRIES, 1000, 8, "entry 0 points outside" },
	{ "key wraps", AT_ENTRIES, UINT64_MAX, 8, "entry 0 points outside" },
	{ "another source's", AT_ENTRIES + 16, 1, 4, "entry 0 points outside" },
	{ "mode", SETTING(mode), 2, 4, "does not support" },
	{ "batches without a row for each lane", SETTING(batch_rows), 3, 8, "batches of 3" },
	{ "key too long", AT_ENTRIES + 20, 2, 2, "entry 0 points outside" },
	{ "empty key", AT_ENTRIES + 20, 0, 2, "entry 0 points outside" },
	{ "a shard of 2^63 bytes", AT_ENTRIES + 8, UINT64_C(1) << 63, 8, "all shards together have more" },
	{ "sizes that wrap", AT_ENTRIES + ENTRY + 8, UINT64_MAX - 5, 8,
	  "entry 1 has 18446744073709551610 bytes" },
	{ "version runs out of the heap", AT_ENTRIES + 4 * ENTRY + 24, 65535, 2, "entry 4 points outside" },
};

static void damage_is_named(void **state)
{
	uint64_t bytes;
	uint8_t *good;

	(void)state;
	write_small();
	good = read_plan(&bytes);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		uint8_t *bad = malloc(bytes);
		struct error err = { 0 };
		int r;

		memcpy(bad, good, bytes);
		memcpy(bad + damages[i].at, &damages[i].value, damages[i].bytes);
		r = open_bytes(bad, bytes, &err);
		if (r != -EBADMSG || !strstr(err.text, damages[i].words))
			fail_msg("%s: %d %s", damages[i].label, r, err.text);
		free(bad);
	}
	for (uint64_t cut = 0; cut < bytes; cut++)
		assert_int_equal(open_bytes(good, cut, NULL), -EBADMSG);
	assert_int_equal(open_bytes(good, bytes, NULL), 0);
	free(good);
}

static void keys_out_of_order(void **state)
{
	uint8_t entry[ENTRY], *data, *first;
	struct error err = { 0 };
	uint64_t bytes;

	(void)state;
	write_small();
	data = read_plan(&bytes);
	first = data + AT_ENTRIES;
	memcpy(entry, first, ENTRY);
	memcpy(first, first + ENTRY, ENTRY);
	assert_int_equal(open_bytes(data, bytes, &err), -EBADMSG); /* the same key as the entry before */
	assert_non_null(strstr(err.text, "entry 1 is not in bytewise key order"));
	memcpy(first + ENTRY, entry, ENTRY);
	assert_int_equal(open_bytes(data, bytes, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "entry 1 is not in bytewise key order"));
	free(data);
}

/* ---- Objects: version 3, with classes ---- */

static const struct plan_settings of_objects = { .order_version = ORDER_OBJECTS,
						 .lanes = 2,
						 .sources = 1,
						 .seed = 44,
						 .epochs = 5,
						 .window_shards = 64,
						 .batch_rows = 128,
						 .weight = { 1 } };

/* The order of the names is not that of the folders: "a-b/" comes before "a/", "a" before "a-b". */
static void write_objects(void)
{
	static const char *const train[] = { "train/a-b/1.jpg", "train/a-b/2.jpg", "train/a/1.jpg",
					     "train/deep/z/1.jpg", "train/\xc3\xa4/1.jpg" };
	struct plan_writer *writer;

	assert_int_equal(plan_create(path, &of_objects, &writer, NULL), 0);
	for (size_t i = 0; i < sizeof(train) / sizeof(train[0]); i++)
		add(writer, SPLIT_TRAIN, train[i]);
	assert_int_equal(plan_hold_out_each(writer, is_in, "1", NULL), 0);
	add(writer, SPLIT_TEST, "b/1.jpg");
	assert_int_equal(plan_finish(writer, NULL), 0);
}

static void objects_have_classes(void **state)
{
	static const char *const names[] = { "a", "a-b", "b", "z", "\xc3\xa4" };
	struct plan *plan;

	(void)state;
	write_objects();
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	assert_true(plan_is_of_objects(plan));
	assert_int_equal(plan_class_count(plan), 5);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(plan_class(plan, i), names[i]);
	assert_int_equal(plan_shard(plan, 0, SPLIT_TRAIN, 0).label, 1);
	assert_string_equal(plan_shard(plan, 0, SPLIT_TRAIN, 1).key, "train/a/1.jpg");
	assert_int_equal(plan_shard(plan, 0, SPLIT_TRAIN, 1).label, 0);
	assert_int_equal(plan_shard(plan, 0, SPLIT_TRAIN, 2).label, 3);
	assert_int_equal(plan_shard(plan, 0, SPLIT_TRAIN, 3).label, 4);
	assert_int_equal(plan_shard(plan, 0, SPLIT_VALIDATION, 0).label, 1);
	assert_int_equal(plan_shard(plan, 0, SPLIT_TEST, 0).label, 2);
	plan_close(plan);
	write_small();
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	assert_true(!plan_is_of_objects(plan) && plan_class_count(plan) == 0);
	plan_close(plan);
}

static void an_object_has_a_folder(void **state)
{
	static const char *const bad[] = { "1.jpg", "/1.jpg", "train//1.jpg" };
	struct plan_writer *writer;

	(void)state;
	assert_int_equal(plan_create(path, &of_objects, &writer, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct plan_shard shard = shard_of(bad[i]);
		struct error err = { 0 };

		assert_int_equal(plan_add(writer, SPLIT_TRAIN, &shard, &err), -EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
		assert_non_null(strstr(err.text, "found no folder in its key"));
	}
	plan_abandon(writer);
}

enum { AT_CLASSES = AT_ENTRIES, AT_OBJECTS = AT_ENTRIES + 16 };
static const struct {
	const char *label;
	uint64_t at, value; /* `at` counts from the end where `from_end` */
	unsigned bytes;
	bool from_end;
	const char *words;
} object_damages[] = {
	{ "version of shards", 8, 2, 4, false, "order version 2" },
	{ "two sources", SETTING(sources), 2, 4, false, "2 sources" },
	{ "arrival order", SETTING(mode), 1, 4, false, "does not support" },
	{ "a filter", SETTING(filter), 'x', 1, false, "does not support" },
	{ "a class less", AT_CLASSES, 4, 8, false, "found 13 bytes of names of classes, expected 10" },
	{ "a class more", AT_CLASSES, 6, 8, false, "the name of class 5" },
	{ "classes beyond all", AT_CLASSES, UINT64_MAX, 8, false, "classes, at most 65536" },
	{ "names beyond the file", AT_CLASSES + 8, UINT64_MAX - 7, 8, false, "a file of" },
	{ "a name without end", 1, 'x', 1, true, "the name of class 4" },
	{ "an empty name", 13, 0, 1, true, "the name of class 0" },
	{ "names out of order", 13, 'c', 1, true, "the name of class 1" },
	{ "a folder that is no class", 13, 'A', 1, true, "is of a class that the plan does not have" },
	{ "key outside", AT_OBJECTS, 1000, 8, false, "entry 0 points outside" },
};

static void damage_of_objects_is_named(void **state)
{
	uint64_t bytes;
	uint8_t *good;

	(void)state;
	write_objects();
	good = read_plan(&bytes);
	for (size_t i = 0; i < sizeof(object_damages) / sizeof(object_damages[0]); i++) {
		const uint64_t at = object_damages[i].at;
		uint8_t *bad = malloc(bytes);
		struct error err = { 0 };
		int r;

		memcpy(bad, good, bytes);
		memcpy(bad + (object_damages[i].from_end ? bytes - at : at), &object_damages[i].value,
		       object_damages[i].bytes);
		r = open_bytes(bad, bytes, &err);
		if (r != -EBADMSG || !strstr(err.text, object_damages[i].words))
			fail_msg("%s: %d %s", object_damages[i].label, r, err.text);
		free(bad);
	}
	for (uint64_t cut = 0; cut < bytes; cut++)
		assert_int_equal(open_bytes(good, cut, NULL), -EBADMSG);
	assert_int_equal(open_bytes(good, bytes, NULL), 0);
	free(good);
}

/* ---- Version 1: one source, and settings that end with the filter ---- */

static void version_1(void **state)
{
	enum { SETTINGS_1 = offsetof(struct plan_settings, skip_rows), AT_SETTINGS_1 = 48, HEADER_1 = 608 };
	struct plan_settings old = settings;
	struct plan_writer *writer;
	struct plan *plan;
	uint8_t *data, one[4096] = { 0 };
	uint64_t bytes;

	(void)state;
	old.sources = 1;
	old.filter[0] = '\0';
	assert_int_equal(plan_create(path, &old, &writer, NULL), 0);
	add(writer, SPLIT_TRAIN, "a");
	add(writer, SPLIT_TRAIN, "b");
	add(writer, SPLIT_TEST, "c");
	assert_int_equal(plan_finish(writer, NULL), 0);
	data = read_plan(&bytes);
	memcpy(one, data, 8);
	one[8] = 1;
	memcpy(one + 16, data + AT_SHARDS, 24);
	memcpy(one + 40, data + AT_HEAP, 8);
	memcpy(one + AT_SETTINGS_1, data + AT_SETTINGS, SETTINGS_1);
	memcpy(one + HEADER_1, data + AT_ENTRIES, bytes - AT_ENTRIES);
	assert_int_equal(file_write_durable(path, one, HEADER_1 + bytes - AT_ENTRIES, NULL), 0);
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	assert_memory_equal(plan_settings_of(plan), &old, sizeof(old));
	assert_int_equal(plan_shards(plan, SPLIT_TRAIN), 2);
	assert_string_equal(plan_shard(plan, 0, SPLIT_TEST, 0).key, "c");
	plan_close(plan);
	free(data);
}

/* ---- A million shards ---- */

static uint64_t resident_peak_kib(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss;
}

static bool is_tenth(const void *context, uint64_t index)
{
	(void)context;
	return index % 10 == 7;
}

static void a_million_objects(void **state)
{
	enum { OBJECTS = 1000000, CLASSES = 1000 };
	uint64_t before = resident_peak_kib();
	struct plan_writer *writer;
	struct plan *plan;
	char key[96];

	(void)state;
	assert_int_equal(plan_create(path, &of_objects, &writer, NULL), 0);
	for (unsigned i = 0; i < OBJECTS; i++) {
		(void)snprintf(key, sizeof(key), "a/prefix/as/long/as/they/come/n%08u/picture_%07u.JPEG",
			       i / (OBJECTS / CLASSES), i);
		add(writer, SPLIT_TRAIN, key);
	}
	assert_int_equal(plan_hold_out_each(writer, is_tenth, NULL, NULL), 0);
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_in_range(resident_peak_kib() - before, 0, 4096);
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	assert_int_equal(plan_class_count(plan), CLASSES);
	assert_int_equal(plan_source_shards(plan, 0, SPLIT_TRAIN), OBJECTS / 10 * 9);
	assert_int_equal(plan_shard(plan, 0, SPLIT_TRAIN, OBJECTS / 10 * 9 - 1).label, CLASSES - 1);
	assert_string_equal(plan_shard(plan, 0, SPLIT_VALIDATION, 54321).key,
			    "a/prefix/as/long/as/they/come/n00000543/picture_0543217.JPEG");
	plan_close(plan);
}

static void a_million(void **state)
{
	enum { SHARDS = 1000000 };
	uint64_t before = resident_peak_kib();
	struct plan_writer *writer;
	struct plan *plan;
	char key[96];

	(void)state;
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	for (unsigned i = 0; i < SHARDS; i++) {
		(void)snprintf(key, sizeof(key),
			       "a/prefix/as/long/as/they/come/train-%07u-of-1000000.tfrecord.gz", i);
		add(writer, SPLIT_TRAIN, key);
	}
	plan_hold_out(writer, SHARDS / 10);
	assert_int_equal(plan_finish(writer, NULL), 0);
	/* The plan is written as a stream: the file has 100 MB. */
	assert_in_range(resident_peak_kib() - before, 0, 4096);
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	assert_int_equal(plan_shards(plan, SPLIT_TRAIN), SHARDS - SHARDS / 10);
	assert_string_equal(plan_shard(plan, 0, SPLIT_VALIDATION, SHARDS / 10 - 1).key, key);
	plan_close(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(another_order),
		cmocka_unit_test(order_is_checked),
		cmocka_unit_test(damage_is_named),
		cmocka_unit_test(keys_out_of_order),
		cmocka_unit_test(a_million_objects),
		cmocka_unit_test(objects_have_classes),
		cmocka_unit_test(an_object_has_a_folder),
		cmocka_unit_test(damage_of_objects_is_named),
		cmocka_unit_test(version_1),
		cmocka_unit_test(a_million),
		cmocka_unit_test(any_are_held_out),
		cmocka_unit_test(no_etag_ends_a_header),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
