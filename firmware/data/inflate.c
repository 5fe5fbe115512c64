/* SPDX-License-Identifier: Apache-2.0 */
#include "data/inflate.h"

#include "data/tfrecord.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#define GROW_FIRST 65536u
#define CHUNK_MAX  (1u << 30) /* zlib counts in 32 bits */

/* A window of 32 KiB; +16 means gzip's wrapper (zlib.h, inflateInit2). */
static int window_bits(enum compression compression)
{
	return compression == COMPRESSION_GZIP ? 15 + 16 : 15;
}

enum compression compression_of(const void *data, uint64_t bytes)
{
	const uint8_t *p = data;
	uint64_t length;

	/* A plain shard proves itself by the CRC of its first length, whatever its bytes look like. */
	if (bytes >= TFRECORD_HEADER_BYTES && tfrecord_length(data, &length))
		return COMPRESSION_NONE;
	if (bytes >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
		return COMPRESSION_GZIP;
	if (bytes >= 2 && (p[0] & 0x0f) == 8 && (p[0] >> 4) <= 7 && ((unsigned)p[0] << 8 | p[1]) % 31 == 0)
		return COMPRESSION_ZLIB;
	return COMPRESSION_NONE;
}

struct growing {
	uint8_t *data;
	uint64_t used, size, max;
};

static int grow(struct growing *out)
{
	uint64_t size = out->size ? out->size * 2 : GROW_FIRST;
	uint8_t *data;

	if (size > out->max)
		size = out->max;
	if (size == out->size)
		return -E2BIG;
	data = realloc(out->data, size + 1);
	if (!data)
		return -ENOMEM;
	out->data = data;
	out->size = size;
	return 0;
}

/* Feed and drain once; both sides in pieces that zlib can count. */
static int inflate_some(z_stream *stream, const uint8_t *in, uint64_t bytes, struct growing *out)
{
	uint64_t room = out->size - out->used, used = (uint64_t)(stream->next_in - in);
	uInt given = (uInt)(room < CHUNK_MAX ? room : CHUNK_MAX);
	int r;

	stream->avail_in = (uInt)(bytes - used < CHUNK_MAX ? bytes - used : CHUNK_MAX);
	stream->next_out = out->data + out->used;
	stream->avail_out = given;
	r = inflate(stream, Z_NO_FLUSH);
	out->used += given - stream->avail_out;
	return r;
}

/* Every member of a gzip file, or the one stream of a zlib file. */
static int inflate_members(z_stream *stream, const uint8_t *in, uint64_t bytes, bool gzip,
			   struct growing *out, struct error *err)
{
	for (;;) {
		uint64_t used;
		int r;

		if (out->used == out->size && (r = grow(out)) == -ENOMEM)
			return error_set(err, r, "no memory to inflate more than %" PRIu64 " bytes",
					 out->used);
		r = inflate_some(stream, in, bytes, out);
		used = (uint64_t)(stream->next_in - in);
		if (r == Z_STREAM_END && used == bytes)
			return 0;
		if (r == Z_STREAM_END && !gzip)
			return error_set(err, -EBADMSG,
					 "byte %" PRIu64 ": %" PRIu64 " bytes behind the zlib stream", used,
					 bytes - used);
		if (r == Z_STREAM_END && inflateReset(stream) == Z_OK)
			continue;
		if (r != Z_OK && r != Z_BUF_ERROR)
			return error_set(err, -EBADMSG, "byte %" PRIu64 " of the compressed shard: %s", used,
					 stream->msg ? stream->msg : "not a compressed stream");
		if (out->used == out->max)
			return error_set(err, -E2BIG, "inflates to more than %" PRIu64 " bytes", out->max);
		if (used == bytes && out->used < out->size)
			return error_set(err, -EBADMSG,
					 "the compressed shard ends at byte %" PRIu64 " in mid-stream",
					 bytes);
	}
}

int inflate_into(const void *data, uint64_t bytes, enum compression compression, uint64_t max,
		 uint8_t **buffer, uint64_t *capacity, uint64_t *ret_bytes, struct error *err)
{
	bool gzip = compression == COMPRESSION_GZIP;
	struct growing out = { .data = *buffer, .size = *capacity < max ? *capacity : max, .max = max };
	z_stream stream = { .next_in = data };
	int r;

	*ret_bytes = 0;
	if (max == 0)
		return error_set(err, -E2BIG, "inflates to more than 0 bytes");
	if (inflateInit2(&stream, window_bits(compression)) != Z_OK)
		return error_set(err, -ENOMEM, "no memory for zlib");
	r = inflate_members(&stream, data, bytes, gzip, &out, err);
	(void)inflateEnd(&stream);
	*buffer = out.data;
	if (out.size > *capacity)
		*capacity = out.size;
	*ret_bytes = out.used;
	return r;
}

int deflate_all(const void *data, uint64_t bytes, enum compression compression, int level, uint8_t **ret_data,
		uint64_t *ret_bytes, struct error *err)
{
	z_stream stream = { .next_in = data, .avail_in = (uInt)bytes };
	CLEANUP(free_ptr) uint8_t *out = NULL;
	uint64_t bound;
	int r;

	if (bytes > CHUNK_MAX)
		return error_set(err, -E2BIG, "%" PRIu64 " bytes to compress in one piece, at most %u", bytes,
				 CHUNK_MAX);
	if (deflateInit2(&stream, level, Z_DEFLATED, window_bits(compression), 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return error_set(err, -ENOMEM, "no memory for zlib");
	bound = deflateBound(&stream, bytes);
	out = malloc(bound);
	if (!out) {
		(void)deflateEnd(&stream);
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " compressed bytes", bound);
	}
	stream.next_out = out;
	stream.avail_out = (uInt)bound;
	r = deflate(&stream, Z_FINISH);
	(void)deflateEnd(&stream);
	if (r != Z_STREAM_END)
		return error_set(err, -EIO, "zlib: deflate gave %d", r);
	*ret_bytes = stream.total_out;
	*ret_data = TAKE(out);
	return 0;
}
