/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a plain shard are checked and indexed as they arrive, while they lie in the caches: to read them
 * from memory again costs twice as much. A range begins in the middle of a record: the first place behind its
 * beginning where a record's length has its CRC begins a run, which counts only if the decoders, who go
 * through the shard from its beginning, find a record to begin just there. Whatever is wrong ends a run, and
 * is theirs to judge.
 *
 * It changes nothing of what the index becomes. The network thread's until the shard is the decoders'.
 */
#include "data/tfrecord.h"
#include "fetchd/fetch.h"

#include <string.h>

#define SEEK_BYTES_MAX (UINT64_C(1) << 20) /* of a range, for a record to begin there */
/* With more of them, not CPU time is short but the network thread's: then it leaves this to them. */
#define WORKERS_MAX         3u
#define RECORDS_FIRST_BYTES (1024 * sizeof(struct record))

/* What is there of a shard: [begin, end), of which [hot, end) has just been copied from `data`. */
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
	uint64_t used = arrival->records * sizeof(struct record), room = arrival->index.output.capacity;
	struct error err;

	if (room - used < sizeof(struct record) &&
	    buffer_grow(&arrival->index, used, room ? room * 2 : RECORDS_FIRST_BYTES, &err) < 0)
		return false;
	arrival->record = (struct record *)(void *)arrival->index.output.data;
	arrival->record[arrival->records++] = (struct record){ .offset = offset, .bytes = (uint32_t)bytes };
	return true;
}

/* The run's beginning: false as long as there is none. */
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

/* One more record that is wholly there. */
static bool take(struct arrival *arrival, const struct there *there)
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

/* A request that is made once more begins anew. */
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
	while (take(arrival, &there))
		;
}

/* The decoders inflate what is compressed, and a filter takes its time. */
static bool is_of_use(const struct shard *shard)
{
	const struct fetch *fetch = shard->source->fetch;
	const char *end = strrchr(shard->plan.key, '.');

	return fetch->workers_max <= WORKERS_MAX && !fetch->filtered && shard->window->roomy &&
	       !(end && strcmp(end, ".gz") == 0);
}

void arrival_expect(struct shard *shard, uint64_t part)
{
	struct arrival *arrival = &shard->arrival[part];

	if (!arrival->index.budget)
		buffer_init(&arrival->index, &shard->source->fetch->budget);
	begin(arrival, shard->part[part].offset);
	if (is_of_use(shard))
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

void arrivals_place(struct shard *shard, uint64_t parts, uint64_t bytes)
{
	for (uint64_t i = 0; i < parts && i < shard->parts_max; i++) {
		buffer_init(&shard->arrival[i].index, &shard->source->fetch->budget);
		buffer_expect(&shard->arrival[i].index, bytes);
		shard->parts_used = i + 1;
	}
}

uint64_t arrivals_kept_bytes(const struct shard *shard)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < shard->parts_used; i++)
		bytes += shard->arrival[i].index.output.capacity;
	return bytes;
}

void arrivals_drop(struct shard *shard)
{
	for (uint64_t i = 0; i < shard->parts_used; i++)
		buffer_drop(&shard->arrival[i].index);
}
