/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/decode/decode.h"

#include "core/base/events.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/decode/changed.h"
#include "fetchd/decode/index.h"

#include <inttypes.h>

static void say_skipped(const struct fetch *fetch, const struct shard *shard)
{
	uint64_t bad = 0;

	for (uint64_t i = 0; i < shard->records; i++)
		bad += shard->record[i].bad;
	if (shard->lost)
		event_send(&(struct event){ .id = EVENT_RECORDS_SKIPPED,
					    .run_id = fetch->run.id,
					    .key = shard->plan.key,
					    .records = 0 },
			   "%s; going on without the rest of the shard, after %" PRIu64 " records",
			   shard->err.text, shard->records);
	else
		event_send(&(struct event){ .id = EVENT_RECORDS_SKIPPED,
					    .run_id = fetch->run.id,
					    .key = shard->plan.key,
					    .records = bad },
			   "%s; skipping %" PRIu64 " of %" PRIu64 " records", shard->err.text, bad,
			   shard->records);
}

/* Prepares a shard to be fetched once more. A damaged copy in the cache is removed, and does not count as the
 * object's first fetch. False: no memory. */
static bool fetch_again(const struct fetch *fetch, struct shard *shard)
{
	bool cached = shard->cached;

	event_send(&(struct event){ .id = EVENT_SHARD_REFETCHED,
				    .run_id = fetch->run.id,
				    .key = shard->plan.key },
		   "%s%s; fetching it once more", cached ? "the cache's copy of " : "", shard->err.text);
	if (!cached) {
		shard->fetched_again = true;
		return true;
	}
	reader_remove(&fetch->cache->reader, shard);
	return shard_reserve(shard, &shard->err) == 0;
}

enum verdict decode_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard)
{
	bool arrived, again;

	shard_leaves(shard, STALL_WORKER);
	shard->records = 0;
	shard->lost = false;
	shard->plain = shard->stored;
	if (!shard->err.code && shard->repinned)
		changed_check(fetch, shard);
	arrived = !shard->err.code;
	if (arrived)
		index_shard(fetch, inflater, shard);
	again = shard->err.code == -EBADMSG && (shard->cached || !shard->fetched_again);
	if (again)
		again = fetch_again(fetch, shard);
	else if (shard->err.code == -ESTALE && !shard->repinned)
		again = changed_repin(fetch, shard);
	if (again)
		return VERDICT_AGAIN;
	if (!shard->err.code) {
		if (!fetch->objects)
			index_check_features(fetch, shard);
		return shard->err.code ? VERDICT_FAILED : VERDICT_GOOD;
	}
	if (!arrived || shard->err.code != -EBADMSG || fetch->run.config.fetch.bad_record != BAD_RECORD_SKIP)
		return VERDICT_FAILED;
	say_skipped(fetch, shard);
	return VERDICT_SKIP;
}
