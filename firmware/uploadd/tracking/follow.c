/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/follow.h"
#include "data/tfrecord.h"
#include "model/formats/tfevents_read.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER      "logs/steps/"
#define CHUNK_BYTES ((uint64_t)1 << 20)

struct reading {
	struct follow *follow;
	const char *run_id;
	struct journal *journal;
	char *chunk;
	struct error *err;
};

/* A number, or a text where JSON has none for it. */
static cJSON *number(double value)
{
	return isfinite(value) ? cJSON_CreateNumber(value)
			       : cJSON_CreateString(isnan(value) ? "nan"
						    : value > 0  ? "inf"
								 : "-inf");
}

static int add_point(struct reading *reading, const struct tfevents_point *point)
{
	cJSON *values;

	if (point->count == 0 || !journal_wants(reading->journal, JOURNAL_STEP, point->step))
		return 0;
	values = cJSON_CreateObject();
	for (uint32_t i = 0; i < point->count; i++)
		(void)cJSON_AddItemToObject(values, point->scalar[i].tag, number(point->scalar[i].value));
	return journal_add(reading->journal, JOURNAL_STEP, point->step, (int64_t)(point->wall_s * 1e3),
			   values, reading->err);
}

/* Adds the points of the whole records in a chunk. *ret_used: their bytes; of a record that is longer than a
 * chunk, which holds pictures, the bytes that it has, where the file has them all. */
static int read_chunk(struct reading *reading, uint64_t bytes, uint64_t left, uint64_t *ret_used)
{
	struct tfrecord record = { 0 };
	struct tfevents_point point;
	uint64_t length;
	int r = 0;

	while (r == 0 && tfrecord_next(reading->chunk, bytes, record.next, bytes, &record, NULL) == 0) {
		if (tfevents_read(record.data, record.bytes, &point) >= 0)
			r = add_point(reading, &point);
	}
	*ret_used = record.next;
	if (record.next == 0 && bytes >= TFRECORD_HEADER_BYTES && tfrecord_length(reading->chunk, &length) &&
	    length < left && length + TFRECORD_FRAME_BYTES <= left)
		*ret_used = length + TFRECORD_FRAME_BYTES;
	return r;
}

static int read_file(struct reading *reading, const char *name, uint64_t bytes)
{
	struct follow *follow = reading->follow;
	CLEANUP(close_fd) int fd = -1;
	int r = spool_open(reading->run_id, name, &fd, reading->err);

	while (r == 0 && follow->offset < bytes) {
		const ssize_t got = pread(fd, reading->chunk, CHUNK_BYTES, (off_t)follow->offset);
		uint64_t used = 0;

		if (got <= 0)
			return got == 0 ? 0
					: error_set(reading->err, -errno, "%s: cannot read: %s", name,
						    strerror(errno));
		r = read_chunk(reading, (uint64_t)got, bytes - follow->offset, &used);
		if (used == 0)
			return r;
		follow->offset += used;
	}
	return r == -ENOENT ? 0 : r;
}

static int read_if_new(void *context, const char *name, uint64_t bytes)
{
	struct reading *reading = context;
	struct follow *follow = reading->follow;
	const int order = strcmp(name, follow->name);

	if (strncmp(name, FOLDER, strlen(FOLDER)) != 0 || order < 0)
		return 0;
	if (order > 0 || follow->offset > bytes) /* a new file, or one that a rewind has cut */
		follow->offset = 0;
	(void)snprintf(follow->name, sizeof(follow->name), "%s", name);
	return read_file(reading, name, bytes);
}

int follow_steps(struct follow *follow, const char *run_id, struct journal *journal, struct error *err)
{
	CLEANUP(free_ptr) char *chunk = malloc(CHUNK_BYTES);
	struct reading reading = { follow, run_id, journal, chunk, err };

	if (!chunk)
		return error_set(err, -ENOMEM, "%s: no memory for its points", run_id);
	return spool_list(run_id, read_if_new, &reading, err);
}
