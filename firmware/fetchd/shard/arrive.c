/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/shard/arrive.h"

#include "data/tfrecord.h"

#include <string.h>

#define SEEK_BYTES_MAX      (UINT64_C(1) << 20) /* searched in a part for the first record */
#define WORKERS_MAX         3u
#define RECORDS_FIRST_BYTES (1024 * sizeof(struct record))

/* The bytes of a part that have arrived, up to `end`. Bytes [hot, end) have just been copied from `data` and
 * are in the processor's caches there; bytes_at() prefers them. */
struct there {
	const struct shard *shard;
	const uint8_t *data;
	uint64_t hot, end;
};

static const uint8_t *bytes_at(const struct there *there, uint64_t offset)
{
	return offset >= there->hot ? there->data + (offset - there->hot)
				    : there->shard->raw.output.data + offset;
}

static bool add(struct arrival *arrival, uint64_t offset, uint64_t bytes)
{
	uint64_t used = arrival->records * sizeof(struct record), held = arrival->index.output.capacity;
	struct error err;

	if (held - used < sizeof(struct record) &&
	    buffer_grow(&arrival->index, used, held ? held * 2 : RECORDS_FIRST_BYTES, &err) < 0)
		return false;
	arrival->record = (struct record *)(void *)arrival->index.output.data;
	arrival->record[arrival->records++] = (struct record){ .offset = offset, .bytes = (uint32_t)bytes };
	return true;
}

/* Finds the start of the run. False: not found yet. */
static bool seek(struct arrival *arrival, const struct there *there)
{
	uint64_t length;

	if (arrival->first != ARRIVAL_NOWHERE)
		return true;
	for (; there->end - arrival->at >= TFRECORD_HEADER_BYTES; arrival->at++) {
		if (tfrecord_length(bytes_at(there, arrival->at), &length)) {
			arrival->first = arrival->at;
			return true;
		}
		if (arrival->at == 0 || arrival->at - arrival->begin == SEEK_BYTES_MAX) {
			arrival->over = true;
			return false;
		}
	}
	return false;
}

/* Adds one record, if all of its bytes are there. */
static bool add_next(struct arrival *arrival, const struct there *there)
{
	uint64_t left = there->end - arrival->at, length;
	const uint8_t *frame = bytes_at(there, arrival->at);
	struct tfrecord record;

	if (left < TFRECORD_FRAME_BYTES)
		return false;
	if (!tfrecord_length(frame, &length)) {
		arrival->over = true;
		return false;
	}
	if (length > UINT32_MAX || length > left - TFRECORD_FRAME_BYTES)
		return false;
	if (tfrecord_next(frame, left, 0, UINT32_MAX, &record, NULL) < 0 ||
	    !add(arrival, arrival->at + TFRECORD_HEADER_BYTES, length)) {
		arrival->over = true;
		return false;
	}
	arrival->at += record.next;
	return true;
}

static void begin(struct arrival *arrival, uint64_t offset)
{
	arrival->begin = arrival->end = arrival->at = offset;
	arrival->first = ARRIVAL_NOWHERE;
	arrival->records = 0;
	arrival->over = false;
}

/* The store's callback: bytes [from, from + bytes) of the request are there. A request that is retried
 * delivers its bytes from 0 again, and the run starts anew. */
static void arrived(struct store_request *request, uint64_t from, const void *data, uint64_t bytes)
{
	struct shard *shard = request->context;
	struct arrival *arrival = &shard->arrival[request - shard->part];
	struct there there = { shard, data, request->offset + from, request->offset + from + bytes };

	if (from == 0)
		begin(arrival, request->offset);
	arrival->over |= there.hot != arrival->end;
	arrival->end = there.end;
	if (arrival->over || !seek(arrival, &there))
		return;
	while (add_next(arrival, &there))
		;
}

bool arrival_pays(uint32_t workers, bool filtered)
{
	return workers <= WORKERS_MAX && !filtered;
}

/* Records of a compressed shard are only visible after inflating. A group without a margin has no memory for
 * a second index. */
static bool is_indexable(const struct shard *shard)
{
	const char *end = strrchr(shard->plan.key, '.');

	return shard->group->margin && !(end && strcmp(end, ".gz") == 0);
}

void arrival_expect(struct shard *shard, uint64_t part, bool index)
{
	struct arrival *arrival = &shard->arrival[part];

	if (!arrival->index.budget)
		buffer_init(&arrival->index, shard->raw.budget);
	begin(arrival, shard->part[part].offset);
	if (index && is_indexable(shard))
		shard->part[part].arrived = arrived;
}

const struct arrival *arrival_at(const struct shard *shard, uint64_t offset, uint64_t *part)
{
	if (shard->plain != shard->raw.output.data)
		return NULL;
	for (; *part < shard->parts; ++*part) {
		const struct arrival *arrival = &shard->arrival[*part];

		if (arrival->records > 0 && arrival->first >= offset)
			return arrival->first == offset ? arrival : NULL;
	}
	return NULL;
}
