/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord framing, little endian. Pure functions on bytes. Source: tensorflow/core/lib/io/record_writer.h.
 *
 *     uint64 length | uint32 masked CRC-32C of the length | data | uint32 masked CRC-32C of the data
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define TFRECORD_HEADER_BYTES 12u
#define TFRECORD_FOOTER_BYTES 4u
#define TFRECORD_FRAME_BYTES  16u

/* Masks a CRC as TensorFlow does: rotates right by 15, adds 0xa282ead8. */
uint32_t crc32c_mask(uint32_t crc);

/* Reads the length from a frame's first TFRECORD_HEADER_BYTES; false when its CRC is wrong. */
MUST_CHECK bool tfrecord_length(const void *frame, uint64_t *ret_length);

struct tfrecord {
	const uint8_t *data;
	uint64_t bytes;
	uint64_t next; /* offset of the next frame */
};

/* Upper bound of the bytes prefetched of a record: of a longer record, the processor sees by itself that it
 * is read in sequence. */
#define TFRECORD_AHEAD_BYTES 4096u
#define CACHE_LINE_BYTES     64u

/* Prefetches the record after the one that is parsed now. Only into the second-level cache: the first level
 * has few outstanding requests, and the record that is parsed now needs them. Never blocks. */
static inline void tfrecord_ahead(const uint8_t *data, uint64_t bytes)
{
	uint64_t ahead = bytes < TFRECORD_AHEAD_BYTES ? bytes : TFRECORD_AHEAD_BYTES;

	for (uint64_t i = 0; i < ahead; i += CACHE_LINE_BYTES)
		__builtin_prefetch(data + i, 0, 2);
}

/* Reads and checks the frame at `offset` of a buffer of whole records.
 * Errors: -ENODATA `offset` is the end; -EBADMSG the length's CRC is wrong, or the length exceeds the buffer
 * or `record_max`: the rest of the buffer is lost; -EILSEQ the data's CRC is wrong: ret_record is set, and
 * the caller may go on with the next record. */
MUST_CHECK int tfrecord_next(const void *buffer, uint64_t bytes, uint64_t offset, uint64_t record_max,
			     struct tfrecord *ret_record, struct error *err);

/* Writes a frame of `bytes` bytes of data into `out`, which has TFRECORD_FRAME_BYTES more. The data may lie
 * in `out`. Returns the bytes of the frame. */
uint64_t tfrecord_frame(const void *data, uint64_t bytes, void *out);
