/* SPDX-License-Identifier: Apache-2.0 */
/* A whole shard of a store, plain and compressed: its records, those that a filter drops, the bad ones, and
 * what is left of a damaged shard. */
#include "data/example.h"
#include "scratch.h"
#include "trained/whole.h"
#include "trained/whole_shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RECORDS 4u

/* A shard of four Examples whose feature "x" is 0, 1, 2 and 3. */
struct fixture {
	uint8_t plain[1024];
	uint64_t bytes, second; /* second: the offset of record 1 */
	char url[80];
	struct store *store;
	struct whole_shard shard;
};

static void done(struct fixture *fixture)
{
	whole_shard_done(&fixture->shard);
	store_close(fixture->store);
}

static void make(struct fixture *fixture)
{
	static const struct example_schema schema = {
		.features = 1, .feature = { { .name = "x", .dtype = EXAMPLE_INT64, .elements = 1 } }
	};
	struct config_store where = { .url = fixture->url };
	struct error err = { 0 };

	*fixture = (struct fixture){ 0 };
	(void)snprintf(fixture->url, sizeof(fixture->url), "file://%s/store", root);
	for (int64_t x = 0; x < RECORDS; x++) {
		const void *const rows[] = { &x };
		uint8_t example[128];
		const uint64_t bytes = example_write(&schema, rows, example, sizeof(example));

		assert_true(bytes > 0 && bytes <= sizeof(example));
		fixture->bytes += tfrecord_frame(example, bytes, fixture->plain + fixture->bytes);
		if (x == 0)
			fixture->second = fixture->bytes;
	}
	assert_int_equal(store_open(&where, NULL, &fixture->store, &err), 0);
}

static void put(struct fixture *fixture, const void *data, uint64_t bytes)
{
	struct error err = { 0 };

	assert_int_equal(store_put(fixture->store, "shard", data, bytes, &err), 0);
}

static int load(struct fixture *fixture, struct error *err)
{
	int r = whole_shard_get(&fixture->shard, fixture->store, "shard", err);

	assert_int_equal(r, 0);
	return whole_shard_inflate(&fixture->shard, err);
}

/* Reads the shard to its end and writes a letter for each record: "y" it counts, "n" the filter drops it, "b"
 * it is bad, "x" its frame is broken. */
static const char *walk(struct fixture *fixture, const struct filter *filter, char out[static RECORDS + 2])
{
	struct whole_shard *shard = &fixture->shard;
	uint32_t used = 0;

	while (shard->at < shard->bytes && used <= RECORDS) {
		struct tfrecord record;
		struct error err = { 0 };
		int r = whole_shard_next(shard, filter, UINT64_MAX, &record, &err);

		out[used++] = r > 0 ? 'y' : r == 0 ? 'n' : record.data ? 'b' : 'x';
		assert_int_equal(shard->record, used);
	}
	out[used] = '\0';
	return out;
}

static void test_records(void **state)
{
	static const enum compression kinds[] = { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZLIB,
						  COMPRESSION_NONE };
	CLEANUP(done) struct fixture fixture;
	struct error err = { 0 };
	struct filter filter;
	char out[RECORDS + 2];

	(void)state;
	make(&fixture);
	assert_true(filter_parse("x >= 2", &filter));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		CLEANUP(free_ptr) uint8_t *packed = NULL;
		uint64_t bytes;

		assert_int_equal(deflate_all(fixture.plain, fixture.bytes,
					     kinds[i] ? kinds[i] : COMPRESSION_GZIP, 6, &packed, &bytes,
					     &err),
				 0);
		put(&fixture, kinds[i] ? packed : fixture.plain, kinds[i] ? bytes : fixture.bytes);
		assert_int_equal(load(&fixture, &err), 0);
		assert_int_equal(fixture.shard.bytes, fixture.bytes);
		assert_memory_equal(fixture.shard.data, fixture.plain, fixture.bytes);
		assert_int_equal(fixture.shard.raw == NULL, kinds[i] != COMPRESSION_NONE);
		assert_string_equal(walk(&fixture, NULL, out), "yyyy");
		assert_int_equal(load(&fixture, &err), 0);
		assert_string_equal(walk(&fixture, &filter, out), "nnyy");
	}
}

static void test_damage(void **state)
{
	CLEANUP(done) struct fixture fixture;
	CLEANUP(free_ptr) uint8_t *packed = NULL;
	struct error err = { 0 };
	char out[RECORDS + 2];
	uint64_t bytes;

	(void)state;
	make(&fixture);
	assert_int_equal(
		deflate_all(fixture.plain, fixture.bytes, COMPRESSION_GZIP, 6, &packed, &bytes, &err), 0);
	put(&fixture, packed, bytes - 8);
	assert_int_equal(load(&fixture, &err), -EBADMSG);
	assert_string_equal(walk(&fixture, NULL, out), "yyyy");
	fixture.plain[fixture.second + TFRECORD_HEADER_BYTES] ^= 1;
	put(&fixture, fixture.plain, fixture.bytes);
	assert_int_equal(load(&fixture, &err), 0);
	assert_string_equal(walk(&fixture, NULL, out), "ybyy");
	fixture.plain[fixture.second] ^= 1;
	put(&fixture, fixture.plain, fixture.bytes);
	assert_int_equal(load(&fixture, &err), 0);
	assert_string_equal(walk(&fixture, NULL, out), "yx");
}

static void test_pinned(void **state)
{
	CLEANUP(done) struct fixture fixture;
	CLEANUP(free_ptr) char *data = NULL;
	struct store_object object;
	struct plan_shard pinned = { .key = "shard", .version = "" };
	struct error err = { 0 };

	(void)state;
	make(&fixture);
	put(&fixture, fixture.plain, fixture.bytes);
	assert_int_equal(store_stat(fixture.store, "shard", &object, &err), 0);
	pinned.etag = object.pin.etag;
	pinned.bytes = object.pin.bytes;
	assert_int_equal(whole_shard_get_pinned(&fixture.shard, fixture.store, &pinned, &err), 0);
	assert_memory_equal(fixture.shard.data, fixture.plain, fixture.bytes);
	assert_int_equal(whole_get_pinned(fixture.store, &pinned, fixture.bytes - 1, &data, &err), -EFBIG);
	assert_non_null(strstr(err.text, "/shard: found "));
	put(&fixture, fixture.plain, fixture.bytes - 1);
	assert_int_equal(whole_shard_get_pinned(&fixture.shard, fixture.store, &pinned, &err), -ESTALE);
	assert_int_equal(fixture.shard.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_pinned),
	};

	return cmocka_run_group_tests_name("whole_shard", tests, scratch_setup, scratch_teardown);
}
