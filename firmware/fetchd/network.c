/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>

#define POLL_MS 1000

static void append(struct shard **queue, struct shard *shard)
{
	while (*queue)
		queue = &(*queue)->next;
	shard->next = NULL;
	*queue = shard;
}

static struct shard *take(struct shard **queue)
{
	struct shard *shard = *queue;

	if (shard)
		*queue = shard->next;
	return shard;
}

void network_fetch(struct fetch *fetch, struct shard *shard)
{
	append(&fetch->to_fetch, shard);
	store_wake(fetch->store);
}

static void to_decoders(struct fetch *fetch, struct shard *shard)
{
	(void)pthread_mutex_lock(&fetch->lock);
	append(&fetch->to_decode, shard);
	(void)pthread_cond_signal(&fetch->work);
	(void)pthread_mutex_unlock(&fetch->lock);
}

static void fail(struct fetch *fetch, struct shard *shard, const struct error *err)
{
	if (!shard->err.code)
		shard->err = *err;
	if (shard->parts_left == 0)
		to_decoders(fetch, shard);
}

static int reserve(struct shard *shard, uint64_t parts, struct error *err)
{
	if (shard->plan.bytes > shard->raw_capacity) {
		free(shard->raw);
		shard->raw = malloc(shard->plan.bytes);
		shard->raw_capacity = shard->raw ? shard->plan.bytes : 0;
	}
	if (parts > shard->parts_capacity) {
		free(shard->part);
		shard->part = calloc(parts, sizeof(*shard->part));
		shard->parts_capacity = shard->part ? parts : 0;
	}
	if ((shard->plan.bytes && !shard->raw) || (parts && !shard->part))
		return error_set(err, -ENOMEM, "%s: no memory for %" PRIu64 " bytes", shard->plan.key,
				 shard->plan.bytes);
	return 0;
}

/* Every range of a shard at once; the store keeps as many in flight as it has connections. */
static void submit(struct fetch *fetch, struct shard *shard)
{
	uint64_t part_bytes = fetch->run.config.fetch.part_bytes, bytes = shard->plan.bytes;
	uint64_t parts = (bytes + part_bytes - 1) / part_bytes;
	struct error err = { 0 };

	shard->parts = parts;
	shard->parts_left = 0;
	if (reserve(shard, parts, &err) < 0) {
		fail(fetch, shard, &err);
		return;
	}
	shard->parts_left = parts;
	if (parts == 0)
		to_decoders(fetch, shard);
	for (uint64_t i = 0; i < parts; i++) {
		struct store_request *request = &shard->part[i];

		memset(request, 0, sizeof(*request));
		request->key = shard->plan.key;
		request->pin = &shard->pin;
		request->offset = i * part_bytes;
		request->bytes = bytes - request->offset < part_bytes ? bytes - request->offset : part_bytes;
		request->buffer = shard->raw + request->offset;
		request->context = shard;
		if (store_submit(fetch->store, request, &err) < 0) {
			shard->parts_left--;
			fail(fetch, shard, &err);
		}
	}
}

static void complete(struct fetch *fetch, struct store_request *request)
{
	struct shard *shard = request->context;

	shard->parts_left--;
	if (request->result < 0)
		fail(fetch, shard, &request->err);
	else if (shard->parts_left == 0)
		to_decoders(fetch, shard);
}

/* New shards to fetch, and whether everything is to be given up. */
static bool next_order(struct fetch *fetch, struct shard **ret_shard)
{
	bool discard;

	(void)pthread_mutex_lock(&fetch->lock);
	discard = fetch->discard;
	*ret_shard = take(&fetch->to_fetch);
	(void)pthread_mutex_unlock(&fetch->lock);
	return discard;
}

static void give_up(struct fetch *fetch, struct shard *shard)
{
	struct error err = { 0 };

	(void)error_set(&err, -ECANCELED, "%s: no longer wanted", shard->plan.key);
	shard->parts_left = 0;
	fail(fetch, shard, &err);
}

void *network_thread(void *argument)
{
	struct fetch *fetch = argument;

	nic_pin(&fetch->cores.network);
	for (;;) {
		struct store_request *done;
		struct error err = { 0 };
		struct shard *shard;
		bool discard;

		while ((void)(discard = next_order(fetch, &shard)), shard) {
			if (discard)
				give_up(fetch, shard);
			else
				submit(fetch, shard);
		}
		if (discard)
			store_cancel_all(fetch->store);
		if (store_poll(fetch->store, POLL_MS, &done, &err) < 0) {
			log_err("network: %s", err.text);
			_exit(error_exit_code(&err));
		}
		if (done)
			complete(fetch, done);
	}
	return NULL;
}
