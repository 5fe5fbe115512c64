/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tfrecord.h"

#include "core/base/words.h"
#include "data/crc32c.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

uint32_t crc32c_mask(uint32_t crc)
{
	return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}

static uint32_t stored_crc(const uint8_t *p)
{
	return le32toh(load32(p));
}

static uint32_t masked_crc(const void *data, uint64_t bytes)
{
	return crc32c_mask(crc32c(0, data, bytes));
}

bool tfrecord_length(const void *frame, uint64_t *ret_length)
{
	uint64_t length;

	memcpy(&length, frame, sizeof(length));
	*ret_length = le64toh(length);
	return stored_crc((const uint8_t *)frame + sizeof(length)) == masked_crc(frame, sizeof(length));
}

int tfrecord_next(const void *buffer, uint64_t bytes, uint64_t offset, uint64_t record_max,
		  struct tfrecord *ret_record, struct error *err)
{
	const uint8_t *frame = (const uint8_t *)buffer + offset;
	uint64_t left = bytes - offset, length;

	if (offset == bytes)
		return -ENODATA;
	if (offset > bytes || left < TFRECORD_FRAME_BYTES)
		return error_set(err, -EBADMSG,
				 "byte %" PRIu64 ": found %" PRIu64 " bytes, a record takes at least %u",
				 offset, left, TFRECORD_FRAME_BYTES);
	if (!tfrecord_length(frame, &length))
		return error_set(err, -EBADMSG,
				 "byte %" PRIu64 ": the length's CRC is 0x%08x, expected 0x%08x", offset,
				 stored_crc(frame + 8), masked_crc(frame, 8));
	if (length > record_max || length > left - TFRECORD_FRAME_BYTES)
		return error_set(
			err, -EBADMSG,
			"byte %" PRIu64 ": a record of %" PRIu64 " bytes, at most %" PRIu64 " fit here",
			offset, length,
			record_max < left - TFRECORD_FRAME_BYTES ? record_max : left - TFRECORD_FRAME_BYTES);
	ret_record->data = frame + TFRECORD_HEADER_BYTES;
	ret_record->bytes = length;
	ret_record->next = offset + TFRECORD_FRAME_BYTES + length;
	tfrecord_ahead(ret_record->data + length, bytes - ret_record->next < TFRECORD_FRAME_BYTES + length
							  ? bytes - ret_record->next
							  : TFRECORD_FRAME_BYTES + length);
	if (stored_crc(ret_record->data + length) != masked_crc(ret_record->data, length))
		return error_set(err, -EILSEQ, "byte %" PRIu64 ": the data's CRC is 0x%08x, expected 0x%08x",
				 offset, stored_crc(ret_record->data + length),
				 masked_crc(ret_record->data, length));
	return 0;
}

uint64_t tfrecord_frame(const void *data, uint64_t bytes, void *out)
{
	uint8_t *frame = out;
	uint64_t length = htole64(bytes);
	uint32_t crc;

	memcpy(frame, &length, sizeof(length));
	crc = htole32(masked_crc(frame, 8));
	memcpy(frame + 8, &crc, sizeof(crc));
	memmove(frame + TFRECORD_HEADER_BYTES, data, bytes);
	crc = htole32(masked_crc(frame + TFRECORD_HEADER_BYTES, bytes));
	memcpy(frame + TFRECORD_HEADER_BYTES + bytes, &crc, sizeof(crc));
	return bytes + TFRECORD_FRAME_BYTES;
}
