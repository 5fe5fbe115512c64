/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tfrecord.h"
#include "data/inflate.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Input is a shard from the store: inflate it if it is compressed, then read every record. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(inflater_closep) struct inflater *inflater = NULL;
	enum compression compression = compression_of(data, size);
	const uint8_t *plain = data;
	uint8_t *inflated = NULL;
	uint64_t bytes = size, offset = 0, capacity = 0;
	struct error err;

	if (compression != COMPRESSION_NONE) {
		if (inflater_open(&inflater, &err) < 0)
			return 0;
		(void)!inflate_into(inflater, data, size, compression, 1 << 20, &inflated, &capacity, &bytes,
				    &err);
		plain = inflated; /* up to the first error */
	}
	for (;;) {
		struct tfrecord record;
		int r = tfrecord_next(plain, bytes, offset, UINT64_MAX, &record, &err);

		if (r < 0 && r != -EILSEQ)
			break;
		offset = record.next;
	}
	free(inflated);
	return 0;
}
