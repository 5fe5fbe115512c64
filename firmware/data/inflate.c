/* SPDX-License-Identifier: Apache-2.0 */
#include "data/inflate.h"

#include "data/tfrecord.h"

#include <endian.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <limits.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#define GROW_FIRST 65536u
#define RATIO_MAX  1032u      /* deflate's best: 258 bytes for two bits */
#define CHUNK_MAX  (1u << 30) /* zlib counts in 32 bits */

/* zlib's windowBits: 2^15 bytes; +16 selects gzip's wrapper (zlib.h, inflateInit2). */
static int window_bits(enum compression compression)
{
	return compression == COMPRESSION_GZIP ? 15 + 16 : 15;
}

enum compression compression_of(const void *data, uint64_t bytes)
{
	const uint8_t *p = data;
	uint64_t length;

	/* First, as the first bytes of a plain shard may also look like a gzip or zlib header. */
	if (bytes >= TFRECORD_HEADER_BYTES && tfrecord_length(data, &length))
		return COMPRESSION_NONE;
	if (bytes >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
		return COMPRESSION_GZIP;
	if (bytes >= 2 && (p[0] & 0x0f) == 8 && (p[0] >> 4) <= 7 && ((unsigned)p[0] << 8 | p[1]) % 31 == 0)
		return COMPRESSION_ZLIB;
	return COMPRESSION_NONE;
}

/* An output that grows while it is filled. */
struct growing {
	struct inflate_output *output;
	uint8_t *data;
	uint64_t used, size, max;
};

static int too_large(const struct growing *out, struct error *err)
{
	return error_set(err, -E2BIG, "inflates to more than %" PRIu64 " bytes", out->max);
}

/* Grows to `size` bytes, or to the maximum where `size` is more. */
static int grow(struct growing *out, uint64_t size, struct error *err)
{
	int r;

	if (size > out->max)
		size = out->max;
	if (size <= out->size)
		return too_large(out, err);
	r = out->output->grow(out->output, out->used, size, err);
	if (r < 0)
		return r;
	out->data = out->output->data;
	out->size = size;
	return 0;
}

static int grow_more(struct growing *out, struct error *err)
{
	return grow(out, out->size ? out->size * 2 : GROW_FIRST, err);
}

static int trailing_bytes(uint64_t used, uint64_t bytes, struct error *err)
{
	return error_set(err, -EBADMSG,
			 "byte %" PRIu64 ": %" PRIu64 " bytes after the end of the zlib stream", used,
			 bytes - used);
}

/* ---- zlib, in pieces: finds how far a broken stream is good ---- */

/* Calls inflate() once, with at most CHUNK_MAX bytes of input and of output. */
static int inflate_some(z_stream *stream, const uint8_t *in, uint64_t bytes, struct growing *out)
{
	uint64_t left = out->size - out->used, used = (uint64_t)(stream->next_in - in);
	uInt given = (uInt)(left < CHUNK_MAX ? left : CHUNK_MAX);
	int r;

	stream->avail_in = (uInt)(bytes - used < CHUNK_MAX ? bytes - used : CHUNK_MAX);
	stream->next_out = out->data + out->used;
	stream->avail_out = given;
	r = inflate(stream, Z_NO_FLUSH);
	out->used += given - stream->avail_out;
	return r;
}

/* Inflates every member of a gzip file, or the one stream of a zlib file. */
static int inflate_members(z_stream *stream, const uint8_t *in, uint64_t bytes, bool gzip,
			   struct growing *out, struct error *err)
{
	for (;;) {
		uint64_t used;
		int r = out->used == out->size ? grow_more(out, err) : 0;

		/* With a full output, zlib may still have to read the end of the stream. */
		if (r < 0 && r != -E2BIG)
			return r;
		r = inflate_some(stream, in, bytes, out);
		used = (uint64_t)(stream->next_in - in);
		if (r == Z_STREAM_END && used == bytes)
			return 0;
		if (r == Z_STREAM_END && !gzip)
			return trailing_bytes(used, bytes, err);
		if (r == Z_STREAM_END && inflateReset(stream) == Z_OK)
			continue;
		if (r != Z_OK && r != Z_BUF_ERROR)
			return error_set(err, -EBADMSG, "byte %" PRIu64 " of the compressed shard: %s", used,
					 stream->msg ? stream->msg : "not a compressed stream");
		if (out->used == out->max)
			return too_large(out, err);
		if (used == bytes && out->used < out->size)
			return error_set(err, -EBADMSG,
					 "the compressed shard ends at byte %" PRIu64
					 ", in the middle of its stream",
					 bytes);
	}
}

/* Inflates from byte `from`, the start of a member. */
static int inflate_carefully(const uint8_t *in, uint64_t from, uint64_t bytes, bool gzip, struct growing *out,
			     struct error *err)
{
	z_stream stream = { .next_in = in + from };
	int r;

	if (inflateInit2(&stream, window_bits(gzip ? COMPRESSION_GZIP : COMPRESSION_ZLIB)) != Z_OK)
		return error_set(err, -ENOMEM, "no memory for zlib");
	r = inflate_members(&stream, in, bytes, gzip, out, err);
	(void)inflateEnd(&stream);
	return r;
}

/* ---- libdeflate: each member as a whole or not at all ---- */

int inflater_open(struct inflater **ret_inflater, struct error *err)
{
	struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();

	if (!inflater)
		return error_set(err, -ENOMEM, "no memory for libdeflate");
	*ret_inflater = (struct inflater *)inflater;
	return 0;
}

void inflater_closep(struct inflater **inflater)
{
	libdeflate_free_decompressor((struct libdeflate_decompressor *)*inflater);
	*inflater = NULL;
}

/* Guesses the inflated size. A gzip file ends with the size of its last member (RFC 1952 2.3.1), which nearly
 * always is the only one. 0: not known. */
static uint64_t likely_bytes(const uint8_t *in, uint64_t bytes, bool gzip)
{
	uint32_t last;

	if (!gzip || bytes < sizeof(last))
		return 0;
	memcpy(&last, in + bytes - sizeof(last), sizeof(last));
	return le32toh(last) / RATIO_MAX < bytes ? le32toh(last) : 0;
}

static int inflate_quickly(struct inflater *inflater, const uint8_t *in, uint64_t bytes, bool gzip,
			   struct growing *out, struct error *err)
{
	struct libdeflate_decompressor *decompressor = (struct libdeflate_decompressor *)inflater;
	uint64_t at = 0;
	int r = 0;

	do {
		size_t used, made, left = out->size - out->used;
		enum libdeflate_result result =
			gzip ? libdeflate_gzip_decompress_ex(decompressor, in + at, bytes - at,
							     out->data + out->used, left, &used, &made)
			     : libdeflate_zlib_decompress_ex(decompressor, in + at, bytes - at,
							     out->data + out->used, left, &used, &made);

		if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
			r = grow_more(out, err);
			continue;
		}
		if (result != LIBDEFLATE_SUCCESS)
			return inflate_carefully(in, at, bytes, gzip, out, err);
		at += used;
		out->used += made;
		if (!gzip && at < bytes)
			return trailing_bytes(at, bytes, err);
	} while (r == 0 && at < bytes);
	return r;
}

int inflate_to(struct inflater *inflater, const void *data, uint64_t bytes, enum compression compression,
	       uint64_t max, struct inflate_output *output, uint64_t *ret_bytes, struct error *err)
{
	bool gzip = compression == COMPRESSION_GZIP;
	struct growing out = { .output = output,
			       .data = output->data,
			       .size = output->capacity < max ? output->capacity : max,
			       .max = max };
	uint64_t likely = likely_bytes(data, bytes, gzip);
	int r = 0;

	/* An eighth more: the next shards are about as large and then fit without another allocation. */
	if (!out.data || (likely > out.size && likely <= max))
		r = grow(&out, likely > GROW_FIRST ? likely + likely / 8 : GROW_FIRST, err);
	if (r == 0)
		r = inflate_quickly(inflater, data, bytes, gzip, &out, err);
	*ret_bytes = out.used;
	return r;
}

static int grow_memory(struct inflate_output *output, uint64_t used, uint64_t bytes, struct error *err)
{
	uint8_t *data = realloc(output->data, bytes + 1);

	if (!data)
		return error_set(err, -ENOMEM, "no memory to inflate more than %" PRIu64 " bytes", used);
	output->data = data;
	output->capacity = bytes;
	return 0;
}

int inflate_into(struct inflater *inflater, const void *data, uint64_t bytes, enum compression compression,
		 uint64_t max, uint8_t **buffer, uint64_t *capacity, uint64_t *ret_bytes, struct error *err)
{
	struct inflate_output output = { .data = *buffer, .capacity = *capacity, .grow = grow_memory };
	int r = inflate_to(inflater, data, bytes, compression, max, &output, ret_bytes, err);

	*buffer = output.data;
	*capacity = output.capacity;
	return r;
}

/* ---- Deflate ---- */

static void free_compressor(struct libdeflate_compressor **compressor)
{
	libdeflate_free_compressor(*compressor);
}

int deflate_all(const void *data, uint64_t bytes, enum compression compression, int level, uint8_t **ret_data,
		uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(free_compressor) struct libdeflate_compressor *compressor = NULL;
	CLEANUP(free_ptr) uint8_t *out = NULL;
	const bool gzip = compression == COMPRESSION_GZIP;
	size_t bound;

	if (bytes > CHUNK_MAX)
		return error_set(err, -E2BIG, "%" PRIu64 " bytes to compress in one piece, at most %u", bytes,
				 CHUNK_MAX);
	compressor = libdeflate_alloc_compressor(level);
	if (!compressor)
		return error_set(err, -ENOMEM, "no memory for libdeflate");
	bound = gzip ? libdeflate_gzip_compress_bound(compressor, bytes)
		     : libdeflate_zlib_compress_bound(compressor, bytes);
	out = malloc(bound);
	if (!out)
		return error_set(err, -ENOMEM, "no memory for %zu compressed bytes", bound);
	*ret_bytes = gzip ? libdeflate_gzip_compress(compressor, data, bytes, out, bound)
			  : libdeflate_zlib_compress(compressor, data, bytes, out, bound);
	*ret_data = TAKE(out);
	return 0;
}
