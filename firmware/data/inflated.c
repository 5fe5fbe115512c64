/* SPDX-License-Identifier: Apache-2.0 */
#include "data/inflated.h"

int inflated_set(struct inflated *inflated, const void *shard, uint64_t bytes, uint64_t max,
		 struct error *err)
{
	const enum compression compression = compression_of(shard, bytes);
	int r;

	inflated->data = shard;
	inflated->bytes = bytes;
	if (compression == COMPRESSION_NONE)
		return 0;
	if (!inflated->inflater && (r = inflater_open(&inflated->inflater, err)) < 0)
		return r;
	r = inflate_into(inflated->inflater, shard, bytes, compression, max, &inflated->buffer,
			 &inflated->capacity, &inflated->bytes, err);
	inflated->data = inflated->buffer;
	return r;
}

void inflated_done(struct inflated *inflated)
{
	inflater_closep(&inflated->inflater);
	free(inflated->buffer);
	*inflated = (struct inflated){ 0 };
}
