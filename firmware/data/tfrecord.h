/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord framing: { uint64 length, uint32 masked CRC-32C of length, bytes, uint32 masked CRC-32C of bytes
 * }, little endian. Pure functions on bytes. Source: tensorflow/core/lib/io/record_writer.h.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define TFRECORD_HEADER_BYTES 12u
#define TFRECORD_FOOTER_BYTES 4u
#define TFRECORD_FRAME_BYTES  16u

/* TensorFlow's mask: rotate right by 15, add 0xa282ead8. */
uint32_t crc32c_mask(uint32_t crc);

/* The length in a frame's first TFRECORD_HEADER_BYTES; false when its CRC is wrong. */
MUST_CHECK bool tfrecord_length(const void *frame, uint64_t *ret_length);

struct tfrecord {
	const uint8_t *data;
	uint64_t bytes;
	uint64_t next; /* offset of the frame behind this one */
};

/* How much of a record is asked for ahead of its use; the processor itself sees how a longer one goes on. */
#define TFRECORD_AHEAD_BYTES 4096u
#define CACHE_LINE_BYTES     64u

/* Asks memory for a record that is used soon: the next one, while this one is worked on. Into the second
 * cache only: the first one's few outstanding requests are left to the record at hand. Never blocks. */
static inline void tfrecord_ahead(const uint8_t *data, uint64_t bytes)
{
	uint64_t ahead = bytes < TFRECORD_AHEAD_BYTES ? bytes : TFRECORD_AHEAD_BYTES;

	for (uint64_t i = 0; i < ahead; i += CACHE_LINE_BYTES)
		__builtin_prefetch(data + i, 0, 2);
}

/* The frame at `offset` of a buffer that holds whole records.
 * Errors: -ENODATA offset is the end; -EBADMSG length CRC, length beyond the buffer or `record_max`: the rest
 * is lost; -EILSEQ the data CRC is wrong: ret_record is set, so the reader may go on behind it. */
MUST_CHECK int tfrecord_next(const void *buffer, uint64_t bytes, uint64_t offset, uint64_t record_max,
			     struct tfrecord *ret_record, struct error *err);

/* Frame `bytes` bytes into `out`, which has TFRECORD_FRAME_BYTES more. Returns the framed length. */
uint64_t tfrecord_frame(const void *data, uint64_t bytes, void *out);
