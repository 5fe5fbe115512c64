/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/whole_shard.h"

#include "trained/whole.h"

static int take(struct whole_shard *shard, int r, uint64_t bytes)
{
	shard->data = (const uint8_t *)shard->raw;
	shard->bytes = r == 0 ? bytes : 0;
	shard->at = shard->record = 0;
	return r;
}

int whole_shard_get(struct whole_shard *shard, struct store *store, const char *key, struct error *err)
{
	uint64_t bytes = 0;
	int r;

	free(TAKE(shard->raw));
	r = whole_get(store, key, WHOLE_SHARD_MAX, &shard->raw, &bytes, err);
	return take(shard, r, bytes);
}

int whole_shard_get_pinned(struct whole_shard *shard, struct store *store, const struct plan_shard *pinned,
			   struct error *err)
{
	int r;

	free(TAKE(shard->raw));
	r = whole_get_pinned(store, pinned, WHOLE_SHARD_MAX, &shard->raw, err);
	return take(shard, r, pinned->bytes);
}

int whole_shard_inflate(struct whole_shard *shard, struct error *err)
{
	int r = inflated_set(&shard->inflated, shard->data, shard->bytes, WHOLE_SHARD_MAX, err);

	if (shard->inflated.data != shard->data)
		free(TAKE(shard->raw));
	shard->data = shard->inflated.data;
	shard->bytes = shard->inflated.bytes;
	return r;
}

int whole_shard_next(struct whole_shard *shard, const struct filter *filter, uint64_t record_max,
		     struct tfrecord *ret_record, struct error *err)
{
	int r;

	*ret_record = (struct tfrecord){ 0 };
	r = tfrecord_next(shard->data, shard->bytes, shard->at, record_max, ret_record, err);
	shard->at = ret_record->data ? ret_record->next : shard->bytes;
	shard->record++;
	if (r < 0)
		return r;
	return filter ? filter_match(filter, ret_record->data, ret_record->bytes, err) : 1;
}

void whole_shard_done(struct whole_shard *shard)
{
	free(shard->raw);
	inflated_done(&shard->inflated);
	*shard = (struct whole_shard){ 0 };
}
