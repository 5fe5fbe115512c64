/* SPDX-License-Identifier: Apache-2.0 */
#include "data/inflate.h"

#include "core/base/cleanup.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MAX ((uint64_t)1 << 20)

static const char *const payloads[] = { "", "a", "kiln trains every night",
					"kiln trains every night, unattended" };

/* Makes a small shard: plain, then compressed. */
struct shard {
	uint8_t plain[256];
	uint64_t plain_bytes;
	uint8_t *packed;
	uint64_t packed_bytes;
};

/* Inflates into memory of its own. */
static int inflate_all(const void *data, uint64_t bytes, enum compression compression, uint64_t max,
		       uint8_t **ret_data, uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(inflater_closep) struct inflater *inflater = NULL;
	uint64_t capacity = 0;

	*ret_data = NULL;
	assert_int_equal(inflater_open(&inflater, err), 0);
	return inflate_into(inflater, data, bytes, compression, max, ret_data, &capacity, ret_bytes, err);
}

static struct shard make(enum compression compression)
{
	struct shard shard = { 0 };

	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
		shard.plain_bytes +=
			tfrecord_frame(payloads[i], strlen(payloads[i]), shard.plain + shard.plain_bytes);
	assert_int_equal(deflate_all(shard.plain, shard.plain_bytes, compression, 6, &shard.packed,
				     &shard.packed_bytes, NULL),
			 0);
	return shard;
}

static const struct {
	const char *label, *bytes;
	uint64_t length;
	enum compression compression;
} beginnings[] = {
	{ "nothing", "", 0, COMPRESSION_NONE },
	{ "one byte", "\x78", 1, COMPRESSION_NONE },
	{ "text", "label\ttext\n..............", 24, COMPRESSION_NONE },
	{ "gzip", "\x1f\x8b\x08\x00", 4, COMPRESSION_GZIP },
	{ "gzip's magic, method 7", "\x1f\x8b\x07\x00", 4, COMPRESSION_NONE },
	{ "zlib, fastest", "\x78\x01", 2, COMPRESSION_ZLIB },
	{ "zlib, default", "\x78\x9c", 2, COMPRESSION_ZLIB },
	{ "zlib, best", "\x78\xda", 2, COMPRESSION_ZLIB },
	{ "zlib, a window of 256 bytes", "\x08\x1d", 2, COMPRESSION_ZLIB },
	{ "zlib, header check wrong", "\x78\x9d", 2, COMPRESSION_NONE },
	{ "zlib, window beyond 32 KiB", "\x88\x1c", 2, COMPRESSION_NONE },
};

static void told_by_content(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		print_message("# %s\n", beginnings[i].label);
		assert_int_equal(compression_of(beginnings[i].bytes, beginnings[i].length),
				 beginnings[i].compression);
	}
}

/* The first bytes of a plain shard are a record's length. If they equal gzip's magic or zlib's header, the
 * shard is still plain. */
static void a_plain_shard_that_looks_compressed(void **state)
{
	static const uint64_t lengths[] = { 0x088b1f, 0x9c78 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint8_t *data = calloc(1, lengths[i] + TFRECORD_FRAME_BYTES);

		assert_non_null(data);
		(void)tfrecord_frame(data, lengths[i], data);
		assert_int_equal(compression_of(data, lengths[i] + TFRECORD_FRAME_BYTES), COMPRESSION_NONE);
		assert_int_equal(compression_of(data, TFRECORD_HEADER_BYTES), COMPRESSION_NONE);
		free(data);
	}
}

static void round_trip(void **state)
{
	(void)state;
	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZLIB; kind++) {
		struct shard shard = make(kind), again = make(kind);
		uint64_t bytes;
		uint8_t *plain;

		assert_int_equal(shard.packed_bytes, again.packed_bytes);
		assert_memory_equal(shard.packed, again.packed, shard.packed_bytes);
		assert_int_equal(compression_of(shard.packed, shard.packed_bytes), kind);
		assert_int_equal(
			inflate_all(shard.packed, shard.packed_bytes, kind, MAX, &plain, &bytes, NULL), 0);
		assert_int_equal(bytes, shard.plain_bytes);
		assert_memory_equal(plain, shard.plain, bytes);
		free(plain);
		free(shard.packed);
		free(again.packed);
	}
}

/* Zeros that inflate to much more than the first allocation: the buffer grows many times. */
static void grows(void **state)
{
	uint64_t bytes = 3000000, packed_bytes, plain_bytes;
	uint8_t *zeros = calloc(1, bytes), *packed, *plain;

	(void)state;
	assert_non_null(zeros);
	assert_int_equal(deflate_all(zeros, bytes, COMPRESSION_GZIP, 9, &packed, &packed_bytes, NULL), 0);
	assert_in_range(packed_bytes, 1, 10000);
	assert_int_equal(
		inflate_all(packed, packed_bytes, COMPRESSION_GZIP, bytes, &plain, &plain_bytes, NULL), 0);
	assert_int_equal(plain_bytes, bytes);
	assert_memory_equal(plain, zeros, bytes);
	free(plain);
	free(packed);
	free(zeros);
}

/* Two members; then the second member is cut, then replaced by random bytes: the records of the first one
 * stay. */
static void members(void **state)
{
	struct shard shard = make(COMPRESSION_GZIP);
	uint8_t two[512], *plain;
	uint64_t one = shard.packed_bytes, bytes;
	struct error err = { 0 };

	(void)state;
	memcpy(two, shard.packed, one);
	memcpy(two + one, shard.packed, one);
	for (uint64_t n = one; n <= 2 * one; n++) {
		int expected = n == one || n == 2 * one ? 0 : -EBADMSG;

		assert_int_equal(inflate_all(two, n, COMPRESSION_GZIP, MAX, &plain, &bytes, &err), expected);
		assert_in_range(bytes, shard.plain_bytes, 2 * shard.plain_bytes);
		assert_memory_equal(plain, shard.plain, shard.plain_bytes);
		assert_memory_equal(plain + shard.plain_bytes, shard.plain, bytes - shard.plain_bytes);
		free(plain);
	}
	two[one] = 'x';
	assert_int_equal(inflate_all(two, 2 * one, COMPRESSION_GZIP, MAX, &plain, &bytes, &err), -EBADMSG);
	assert_int_equal(bytes, shard.plain_bytes);
	free(plain);
	free(shard.packed);
}

/* zlib streams are not concatenated: bytes after the first stream are an error after the valid prefix. */
static void bytes_behind_zlib(void **state)
{
	struct shard shard = make(COMPRESSION_ZLIB);
	uint8_t more[512], *plain;
	struct error err = { 0 };
	uint64_t bytes;

	(void)state;
	memcpy(more, shard.packed, shard.packed_bytes);
	more[shard.packed_bytes] = 0;
	assert_int_equal(
		inflate_all(more, shard.packed_bytes + 1, COMPRESSION_ZLIB, MAX, &plain, &bytes, &err),
		-EBADMSG);
	assert_int_equal(bytes, shard.plain_bytes);
	assert_non_null(strstr(err.text, "1 bytes after"));
	free(plain);
	free(shard.packed);
}

static void every_truncation_keeps_a_prefix(void **state)
{
	(void)state;
	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZLIB; kind++) {
		struct shard shard = make(kind);

		for (uint64_t n = 0; n < shard.packed_bytes; n++) {
			struct error err = { 0 };
			uint64_t bytes;
			uint8_t *plain;

			assert_int_equal(inflate_all(shard.packed, n, kind, MAX, &plain, &bytes, &err),
					 -EBADMSG);
			assert_true(*err.text);
			assert_in_range(bytes, 0, shard.plain_bytes);
			assert_memory_equal(plain, shard.plain, bytes);
			free(plain);
		}
		free(shard.packed);
	}
}

/* Reads a file: the result must be 0 and exactly the records, or an error. Anything else fails. */
static int read_shard(const struct shard *shard)
{
	enum compression kind = compression_of(shard->packed, shard->packed_bytes);
	uint64_t bytes = shard->packed_bytes, offset = 0;
	uint8_t *plain = NULL;
	int r = 0;

	if (kind != COMPRESSION_NONE)
		r = inflate_all(shard->packed, bytes, kind, MAX, &plain, &bytes, NULL);
	while (r == 0) {
		struct tfrecord record;

		r = tfrecord_next(plain ? plain : shard->packed, bytes, offset, MAX, &record, NULL);
		if (r == 0)
			offset = record.next;
	}
	if (r == -ENODATA && plain) {
		assert_int_equal(bytes, shard->plain_bytes);
		assert_memory_equal(plain, shard->plain, bytes);
		r = 0;
	}
	free(plain);
	return r;
}

/* Flipped bits that carry no data are harmless: gzip's time, system, extra flags and text flag. */
static void every_bit_flip_is_seen_or_harmless(void **state)
{
	static const uint64_t harmless_max[] = {
		[COMPRESSION_GZIP] = (4 + 1 + 1) * 8 + 8, [COMPRESSION_ZLIB] = 8
	};

	(void)state;
	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZLIB; kind++) {
		struct shard shard = make(kind);
		uint64_t harmless = 0;

		assert_int_equal(read_shard(&shard), 0);
		for (uint64_t bit = 0; bit < shard.packed_bytes * 8; bit++) {
			int r;

			shard.packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
			r = read_shard(&shard);
			assert_true(r == 0 || r == -EBADMSG);
			harmless += r == 0;
			shard.packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		print_message("# %" PRIu64 " of %" PRIu64 " flips are harmless\n", harmless,
			      shard.packed_bytes * 8);
		assert_in_range(harmless, 0, harmless_max[kind]);
		free(shard.packed);
	}
}

enum { PLAIN = 200000 };

/* Data that compresses, but not to almost nothing. */
static void fill(uint8_t *plain, unsigned salt)
{
	for (unsigned i = 0; i < PLAIN; i++)
		plain[i] = (uint8_t)((i * i >> 5) + salt * (i % 7));
}

static void buffer_is_kept(void **state)
{
	static uint8_t plain[PLAIN];
	CLEANUP(inflater_closep) struct inflater *inflater = NULL;
	uint8_t *buffer = NULL, *kept = NULL;
	uint64_t capacity = 0, used;

	(void)state;
	assert_int_equal(inflater_open(&inflater, NULL), 0);
	for (unsigned salt = 0; salt < 4; salt++) {
		uint64_t bytes = salt == 3 ? 10 : PLAIN, packed_bytes;
		uint8_t *packed;

		fill(plain, salt);
		assert_int_equal(deflate_all(plain, bytes, COMPRESSION_GZIP, 6, &packed, &packed_bytes, NULL),
				 0);
		assert_int_equal(inflate_into(inflater, packed, packed_bytes, COMPRESSION_GZIP, 1 << 20,
					      &buffer, &capacity, &used, NULL),
				 0);
		assert_int_equal(used, bytes);
		assert_memory_equal(buffer, plain, bytes);
		if (salt > 0)
			assert_ptr_equal(buffer, kept);
		kept = buffer;
		free(packed);
	}
	free(buffer);
}

/* Every limit below the plain size is refused, and no limit above, whether the reused buffer is larger or
 * smaller. */
static void limit_holds(void **state)
{
	static const uint64_t limits[] = { 0, 1, 1000, PLAIN / 2, PLAIN - 1, PLAIN, PLAIN + 1 };
	CLEANUP(inflater_closep) struct inflater *inflater = NULL;
	static uint8_t plain[PLAIN];
	uint64_t packed_bytes;
	uint8_t *packed;

	(void)state;
	assert_int_equal(inflater_open(&inflater, NULL), 0);
	fill(plain, 0);
	assert_int_equal(deflate_all(plain, PLAIN, COMPRESSION_GZIP, 6, &packed, &packed_bytes, NULL), 0);
	for (int kept = 0; kept < 2; kept++)
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			uint64_t capacity = kept ? 2 * (uint64_t)PLAIN : 0, used;
			uint8_t *buffer = kept ? malloc(capacity) : NULL;
			struct error err = { 0 };
			int r = inflate_into(inflater, packed, packed_bytes, COMPRESSION_GZIP, limits[i],
					     &buffer, &capacity, &used, &err);

			assert_int_equal(r, limits[i] < PLAIN ? -E2BIG : 0);
			assert_true(used <= limits[i]);
			assert_true(r == 0 || strstr(err.text, "inflates to more than"));
			free(buffer);
		}
	free(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_by_content),
		cmocka_unit_test(a_plain_shard_that_looks_compressed),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(grows),
		cmocka_unit_test(members),
		cmocka_unit_test(bytes_behind_zlib),
		cmocka_unit_test(every_truncation_keeps_a_prefix),
		cmocka_unit_test(every_bit_flip_is_seen_or_harmless),
		cmocka_unit_test(buffer_is_kept),
		cmocka_unit_test(limit_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
