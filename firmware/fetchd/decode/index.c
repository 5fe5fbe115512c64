/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/decode/index.h"

#include "data/tfrecord.h"
#include "fetchd/cache/shard_reader.h"
#include "fetchd/shard/arrive.h"

#include <inttypes.h>
#include <string.h>

#define INDEX_FIRST_BYTES (1024 * sizeof(struct record))

/* Returns the bytes that the shard may inflate to: the budget, less what its window has on the account
 * already. */
static uint64_t inflated_max(struct fetch *fetch, const struct group *group)
{
	uint64_t used;

	(void)pthread_mutex_lock(&fetch->lock);
	used = group->bytes;
	(void)pthread_mutex_unlock(&fetch->lock);
	return used < fetch->window_max ? fetch->window_max - used : 0;
}

int index_too_large(const struct fetch *fetch, const struct shard *shard, struct error *err)
{
	if (fetch->objects)
		return error_set(err, -EINVAL,
				 "%s: with it, %" PRIu64 " objects take more than %" PRIu64
				 " bytes, fetch.memory_bytes: raise it",
				 shard->plan.key, shard->group->shards, fetch->window_max);
	return error_set(err, -EINVAL,
			 "%s: with it, a window of %" PRIu64 " shards takes more than %" PRIu64
			 " bytes inflated, fetch.memory_bytes: raise it, or lower order.window_shards",
			 shard->plan.key, shard->group->shards, fetch->window_max);
}

/* An empty object is a shard without records, except that gzip has a header even for 0 bytes: an empty .gz
 * was cut. */
static enum compression compression_of_shard(const struct shard *shard)
{
	const char *end = strrchr(shard->plan.key, '.');

	if (shard->plan.bytes == 0 && end && strcmp(end, ".gz") == 0)
		return COMPRESSION_GZIP;
	return compression_of(shard->stored, shard->plan.bytes);
}

/* Inflates where needed. With a corrupt stream, shard->plain has the bytes before the damage. */
static int make_plain(struct fetch *fetch, struct inflater *inflater, struct shard *shard, struct error *err)
{
	enum compression compression = compression_of_shard(shard);
	int r;

	shard->plain = shard->stored;
	shard->plain_bytes = shard->plan.bytes;
	if (compression == COMPRESSION_NONE)
		return 0;
	shard->plain_bytes = 0;
	if (!reader_file_is_sound(shard))
		return error_set(err, -EBADMSG, "its checksum differs from the checksum in its label");
	r = inflate_to(inflater, shard->stored, shard->plan.bytes, compression,
		       inflated_max(fetch, shard->group), &shard->inflated.output, &shard->plain_bytes, err);
	shard->plain = shard->inflated.output.data;
	return r == -E2BIG ? index_too_large(fetch, shard, err) : r;
}

static int grow_index(struct shard *shard, uint64_t records, struct error *err)
{
	uint64_t used = shard->records * sizeof(*shard->record), more = records * sizeof(*shard->record),
		 held = shard->index.output.capacity;
	int r;

	if (held - used >= more)
		return 0;
	held = held ? held * 2 : INDEX_FIRST_BYTES;
	r = buffer_grow(&shard->index, used, held - used >= more ? held : used + more, err);
	shard->record = (struct record *)(void *)shard->index.output.data;
	return r;
}

/* Appends the records that were indexed while their bytes arrived, where a run of them begins at *offset.
 * Such records are good and need no second look; *offset moves past them. */
static int add_arrivals(struct shard *shard, uint64_t *offset, uint64_t *part, struct error *err)
{
	const struct arrival *arrival;

	while ((arrival = arrival_at(shard, *offset, part))) {
		int r = grow_index(shard, arrival->records, err);

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
	int r = grow_index(shard, 1, err);

	if (r < 0)
		return r;
	shard->record[shard->records++] = (struct record){ .offset = (uint64_t)(record->data - shard->plain),
							   .bytes = (uint32_t)record->bytes,
							   .bad = bad };
	return 0;
}

/* Whether order.filter selects the record. Negative: the filter cannot judge the record, which is then bad.
 */
static int is_wanted(const struct fetch *fetch, const struct tfrecord *record, uint64_t offset,
		     struct error *err)
{
	int r = fetch->filtered ? filter_match(&fetch->filter, record->data, record->bytes, err) : 1;

	return r < 0 ? error_prefix(err, "record at byte %" PRIu64, offset) : r;
}

/* Indexes the records from the beginning. Returns the first fault; after a bad data CRC or a record that the
 * filter cannot judge it goes on, so that all bad records are known. */
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

/* An object is one record without a frame. It has no checksum but that of its file in the cache. */
static void index_object(struct shard *shard)
{
	shard->plain = shard->stored;
	shard->plain_bytes = shard->plan.bytes;
	shard->bad_offset = 0;
	shard_leaves(shard, STALL_INFLATE);
	if (shard->plain_bytes > UINT32_MAX)
		(void)error_set(&shard->err, -EINVAL, "%s: an object of %" PRIu64 " bytes, at most %u",
				shard->plan.key, shard->plain_bytes, UINT32_MAX);
	else if (!reader_file_is_sound(shard))
		(void)error_set(&shard->err, -EBADMSG,
				"%s: its checksum differs from the checksum in its label", shard->plan.key);
	shard->whole = (struct record){ .bytes = (uint32_t)shard->plain_bytes };
	shard->record = &shard->whole;
	shard->records = 1;
}

void index_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard)
{
	struct error corrupt = { 0 }, err = { 0 };
	int inflated, indexed = 0;

	if (fetch->objects) {
		index_object(shard);
		return;
	}
	inflated = make_plain(fetch, inflater, shard, &corrupt);
	shard_leaves(shard, STALL_INFLATE);
	shard->bad_offset = 0;
	if (inflated == 0 || inflated == -EBADMSG)
		indexed = index_records(fetch, shard, &err);
	/* An error of inflating comes first: it is the cause of the faults that the index finds. */
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

void index_check_features(const struct fetch *fetch, struct shard *shard)
{
	uint64_t records = 0;
	const char *other = NULL;

	for (uint64_t i = 0; i < shard->records; i++) {
		const uint8_t *data = shard->plain + shard->record[i].offset;

		if (shard->record[i].bad)
			continue;
		if (example_has_any(&fetch->schema, data, shard->record[i].bytes))
			return;
		if (records++ == 0)
			other = example_other(data, shard->record[i].bytes);
	}
	if (records > 0) {
		(void)example_no_feature(-EBADMSG, "its", records, other, &shard->err);
		(void)error_prefix(&shard->err, "%s", shard->plan.key);
	}
}
