/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "data/inflate.h"
#include "data/tfrecord.h"
#include "drivers/notify/alive.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>

#define SHARD_LEASE_S     900u /* the largest shard on a slow core */
#define INDEX_FIRST_BYTES (1024 * sizeof(struct record))

/* What this shard may take besides its stored bytes, which are counted already. */
static uint64_t room_of(struct fetch *fetch, const struct window *window)
{
	uint64_t used;

	(void)pthread_mutex_lock(&fetch->lock);
	used = window->bytes;
	(void)pthread_mutex_unlock(&fetch->lock);
	return used < fetch->budget.max ? fetch->budget.max - used : 0;
}

static int too_large(const struct fetch *fetch, const struct shard *shard, struct error *err)
{
	return error_set(err, -EINVAL,
			 "%s: with it, a window of %" PRIu64 " shards takes more than %" PRIu64
			 " bytes inflated, fetch.memory_bytes: raise it, or lower order.window_shards",
			 shard->plan.key, shard->window->shards, fetch->budget.max);
}

/* Nothing is a shard without records, unless its name says gzip, which has a header even then: it was cut. */
static enum compression compression_of_shard(const struct shard *shard)
{
	const char *end = strrchr(shard->plan.key, '.');

	if (shard->plan.bytes == 0 && end && strcmp(end, ".gz") == 0)
		return COMPRESSION_GZIP;
	return compression_of(shard->stored, shard->plan.bytes);
}

/* Inflates where needed. A corrupt stream leaves its good prefix behind the error. */
static int make_plain(struct fetch *fetch, struct inflater *inflater, struct shard *shard, struct error *err)
{
	enum compression compression = compression_of_shard(shard);
	int r;

	shard->plain = shard->stored;
	shard->plain_bytes = shard->plan.bytes;
	if (compression == COMPRESSION_NONE)
		return 0;
	shard->plain_bytes = 0;
	if (!cache_shard_is_sound(shard))
		return error_set(err, -EBADMSG, "its checksum is not its label's");
	r = inflate_to(inflater, shard->stored, shard->plan.bytes, compression, room_of(fetch, shard->window),
		       &shard->inflated.output, &shard->plain_bytes, err);
	shard->plain = shard->inflated.output.data;
	return r == -E2BIG ? too_large(fetch, shard, err) : r;
}

static int make_index_room(struct shard *shard, uint64_t records, struct error *err)
{
	uint64_t used = shard->records * sizeof(*shard->record), more = records * sizeof(*shard->record),
		 room = shard->index.output.capacity;
	int r;

	if (room - used >= more)
		return 0;
	room = room ? room * 2 : INDEX_FIRST_BYTES;
	r = buffer_grow(&shard->index, used, room - used >= more ? room : used + more, err);
	shard->record = (struct record *)(void *)shard->index.output.data;
	return r;
}

/* What was indexed as it arrived, from this offset on. */
static int add_arrivals(struct shard *shard, uint64_t *offset, uint64_t *part, struct error *err)
{
	const struct arrival *arrival;

	while ((arrival = arrival_at(shard, *offset, part))) {
		int r = make_index_room(shard, arrival->records, err);

		if (r < 0)
			return r;
		memcpy(shard->record + shard->records, arrival->record,
		       arrival->records * sizeof(*shard->record));
		shard->records += arrival->records;
		*offset = arrival->at;
	}
	return 0;
}

static int add_record(struct shard *shard, const struct tfrecord *record, bool bad, struct error *err)
{
	int r = make_index_room(shard, 1, err);

	if (r < 0)
		return r;
	shard->record[shard->records++] = (struct record){ .offset = (uint64_t)(record->data - shard->plain),
							   .bytes = (uint32_t)record->bytes,
							   .bad = bad };
	return 0;
}

/* Whether it is one of order.filter's. What cannot be told of a record makes it a bad one. */
static int is_wanted(const struct fetch *fetch, const struct tfrecord *record, uint64_t offset,
		     struct error *err)
{
	int r = fetch->filtered ? filter_match(&fetch->filter, record->data, record->bytes, err) : 1;

	return r < 0 ? error_prefix(err, "record at byte %" PRIu64, offset) : r;
}

/* Every record's place. A bad data CRC marks its record; a bad length ends the shard (shard->lost). Returns
 * the first fault. */
static int index_records(const struct fetch *fetch, struct shard *shard, struct error *err)
{
	uint64_t offset = 0, part = 0;
	int fault = 0;

	for (;;) {
		struct tfrecord record;
		struct error one = { 0 };
		int r = add_arrivals(shard, &offset, &part, err);
		bool broken;

		if (r < 0)
			return r;
		r = tfrecord_next(shard->plain, shard->plain_bytes, offset, UINT32_MAX, &record, &one);
		broken = r == -EBADMSG;
		if (r == -ENODATA)
			return fault;
		if (r == 0)
			r = is_wanted(fetch, &record, offset, &one);
		if (r < 0 && fault == 0) {
			fault = -EBADMSG;
			*err = one;
			err->code = -EBADMSG;
			shard->bad_offset = offset;
		}
		shard->lost = broken;
		shard->lost_at = offset;
		if (broken)
			return fault;
		if (r != 0) {
			r = add_record(shard, &record, r < 0, err);
			if (r < 0)
				return r;
		}
		offset = record.next;
	}
}

static void index_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard)
{
	struct error corrupt = { 0 }, err = { 0 };
	int inflated = make_plain(fetch, inflater, shard, &corrupt), indexed = 0;

	shard_leaves(shard, STALL_INFLATE);
	shard->bad_offset = 0;
	if (inflated == 0 || inflated == -EBADMSG)
		indexed = index_records(fetch, shard, &err);
	/* The inflate error is the cause of what the index then finds. */
	if (inflated < 0) {
		shard->err = corrupt;
		shard->lost_at = shard->lost ? shard->lost_at : shard->plain_bytes;
		shard->lost = true;
	} else if (indexed < 0) {
		shard->err = err;
	}
	if (shard->err.code)
		(void)error_prefix(&shard->err, "%s", shard->plan.key);
}

/* The shard's part in its window's account, and whether it still fits. The lock is held. */
static void account(const struct fetch *fetch, struct shard *shard)
{
	struct window *window = shard->window;

	/* What the disk had no room for counts when it is loaded once more. */
	if (buffer_lacks_disk(shard->err.code))
		return;
	window->bytes += shard->records * sizeof(*shard->record);
	if (shard->plain != shard->stored)
		window->bytes += shard->plain_bytes;
	if (window->bytes > fetch->budget.max && !shard->err.code)
		(void)too_large(fetch, shard, &shard->err);
}

/* `skip`: what is bad in it is left out. The lock is held. */
static void settle(struct fetch *fetch, struct shard *shard, bool skip)
{
	struct window *window = shard->window;
	bool good = !shard->err.code && fetch->cache && !shard->repinned;

	if (skip) {
		shard->err.code = 0;
		window->lost += shard->lost;
	}
	account(fetch, shard);
	if (good)
		cache_keep(shard);
	shard_leaves(shard, STALL_PARSE);
	window_arrived(fetch, window, shard);
}

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
			   "%s; going on without the rest of the shard, behind %" PRIu64 " records",
			   shard->err.text, shard->records);
	else
		event_send(&(struct event){ .id = EVENT_RECORDS_SKIPPED,
					    .run_id = fetch->run.id,
					    .key = shard->plan.key,
					    .records = bad },
			   "%s; skipping %" PRIu64 " of %" PRIu64 " records", shard->err.text, bad,
			   shard->records);
}

/* What the disk did to the cache's copy is no fault of the object's. False: there is no room for it. */
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
	cache_forget(shard);
	return shard_reserve(shard, &shard->err) == 0;
}

/* Bad bytes are fetched once more, past the cache, before they count; then policy decides whether they may be
 * left out. An answer that made no sense is none of the records': it ends the run, whatever the policy. */
static void decode_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard)
{
	bool arrived, again, skip;

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
	skip = !again && arrived && shard->err.code == -EBADMSG &&
	       fetch->run.config.fetch.bad_record == BAD_RECORD_SKIP;
	if (skip)
		say_skipped(fetch, shard);

	(void)pthread_mutex_lock(&fetch->lock);
	if (again) {
		shard->err.code = 0;
		shard_forgets(shard);
		network_fetch(shard);
	} else {
		settle(fetch, shard, skip);
	}
	(void)pthread_mutex_unlock(&fetch->lock);
}

/* Rows first: they feed the ring; the next window can wait. */
static void wait_for_work(struct fetch *fetch, struct alive_worker *worker, pthread_cond_t *which)
{
	fetch_wait(fetch, which, IDLE_MS);
	alive_tick(worker);
}

/* At once, not at the first shard that needs it: nothing is asked of the allocator later. */
static struct inflater *open_inflater(void)
{
	struct inflater *inflater;
	struct error err;

	if (inflater_open(&inflater, &err) < 0)
		_exit(alive_fatal(STATUS_FETCHD, &err));
	return inflater;
}

void *decode_thread(void *argument)
{
	struct fetch *fetch = argument;
	struct alive_worker *worker = alive_worker("a decode thread");
	struct inflater *inflater = open_inflater();
	uint32_t mine;

	nic_pin(&fetch->cores.decode);
	(void)pthread_mutex_lock(&fetch->lock);
	mine = fetch->workers_begun++;
	(void)pthread_mutex_unlock(&fetch->lock);
	for (;; alive_lease_end(worker)) {
		struct shard *shard = NULL;
		struct span span = { 0 };

		(void)pthread_mutex_lock(&fetch->lock);
		while (mine >= fetch->workers ||
		       (fetch->spans_head == fetch->spans_tail && !fetch->to_decode.first))
			wait_for_work(fetch, worker, mine < fetch->workers ? &fetch->work : &fetch->rested);
		if (fetch->spans_head != fetch->spans_tail)
			span = fetch->span[fetch->spans_tail++ % FETCH_SPANS_MAX];
		else
			shard = queue_take(&fetch->to_decode);
		if (shard && fetch->discard)
			shard->err.code = -ECANCELED;
		(void)pthread_mutex_unlock(&fetch->lock);
		alive_lease(worker, NULL, SHARD_LEASE_S);
		if (shard)
			decode_shard(fetch, inflater, shard);
		else
			gather_span(fetch, &span);
	}
	return NULL;
}
