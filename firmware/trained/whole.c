/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/whole.h"
#include "core/base/memory.h"

#include <inttypes.h>

int whole_get(struct store *store, const char *key, uint64_t max, char **ret_data, uint64_t *ret_bytes,
	      struct error *err)
{
	const uint64_t available = memory_available();
	struct store_object object = { 0 };
	int r = store_stat(store, key, &object, err);

	if (r < 0)
		return r;
	if (object.pin.bytes > max)
		return error_set(err, -EFBIG, "%s/%s: %" PRIu64 " bytes, at most %" PRIu64 " are expected",
				 store_url(store), key, object.pin.bytes, max);
	if (available > 0 && object.pin.bytes > available / 2)
		return error_set(err, -ENOMEM,
				 "%s/%s: %" PRIu64
				 " bytes, at most half of the available memory may be used, "
				 "of %" PRIu64 " bytes",
				 store_url(store), key, object.pin.bytes, available);
	return store_get_all(store, key, object.pin.bytes, ret_data, ret_bytes, err);
}

int whole_get_pinned(struct store *store, const struct plan_shard *shard, uint64_t max, char **ret_data,
		     struct error *err)
{
	const struct store_pin pin = store_pin_make(shard->bytes, shard->etag, shard->version);
	CLEANUP(free_ptr) char *data = NULL;
	int r;

	if (shard->bytes > max)
		return error_set(err, -EFBIG, "%s/%s: found %" PRIu64 " bytes, at most %" PRIu64,
				 store_url(store), shard->key, shard->bytes, max);
	data = malloc(shard->bytes + 1);
	if (!data)
		return error_set(err, -ENOMEM, "%s/%s: no memory for %" PRIu64 " bytes", store_url(store),
				 shard->key, shard->bytes);
	r = store_get(store, shard->key, &pin, 0, data, shard->bytes, err);
	if (r == 0)
		*ret_data = TAKE(data);
	return r;
}
