/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/shard.h"

#include "core/base/clock.h"
#include "core/base/temporary.h"
#include "data/tfrecord.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SAY_US 5000000u

/* A shard while it is made. */
struct making {
	struct job *job;
	const struct columns *columns;
	struct example_schema schema; /* features of a written record */
	uint32_t from[3];             /* column of each feature of `schema` that is copied from the batch */
	FILE *out;
	float *outputs; /* numbers of a batch */
	uint8_t *record;
	uint64_t capacity;
	union {
		uint32_t length;
		uint8_t bytes[JOB_NAME_MAX + 64];
	} name;
};

static void making_done(struct making *making)
{
	close_file(&making->out);
	free(making->outputs);
	free(making->record);
}

/* ---- Records ---- */

static void add_copied(struct making *making, const char *name)
{
	const struct example_schema *of_batch = &making->columns->schema;

	for (uint32_t i = 0; name && *name && i < of_batch->features; i++)
		if (strcmp(of_batch->feature[i].name, name) == 0) {
			making->from[making->schema.features] = i;
			making->schema.feature[making->schema.features++] = of_batch->feature[i];
		}
}

/* The features of a record: the outputs of the base, the label, the weight of the row, the name of the
 * picture. */
static void make_schema(struct making *making)
{
	const struct job *job = making->job;

	making->schema.features = 1;
	making->schema.feature[0] = (struct example_feature){ .name = JOB_COLUMN,
							      .dtype = EXAMPLE_FLOAT32,
							      .elements = job->outputs };
	add_copied(making, job->config.model.label);
	add_copied(making, job->config.model.sample_weight);
	making->schema.feature[making->schema.features++] = (struct example_feature){
		.name = JOB_NAME, .dtype = EXAMPLE_BYTES, .elements = 1, .bytes_max = JOB_NAME_MAX
	};
}

static int open_making(struct making *making, struct error *err)
{
	const struct job *job = making->job;
	char path[PATH_BYTES];
	int r = temporary_file("features", path, err);

	if (r < 0)
		return r;
	making->out = fopen(path, "w+e");
	(void)unlink(path);
	making->outputs = malloc(job->config.run.batch_rows * job->outputs * sizeof(float));
	make_schema(making);
	return making->out && making->outputs
		       ? 0
		       : error_set(err, making->out ? -ENOMEM : -errno, "no memory for a shard of features");
}

/* Returns the bytes of a record, which is written behind the space for the header of its frame; where they do
 * not fit the buffer, only their number. */
static uint64_t serialize(struct making *making, const void *const *rows)
{
	const uint64_t space =
		making->capacity > TFRECORD_FRAME_BYTES ? making->capacity - TFRECORD_FRAME_BYTES : 0;

	return example_write(&making->schema, rows,
			     making->record ? making->record + TFRECORD_HEADER_BYTES : NULL, space);
}

static int write_record(struct making *making, const void *const *rows, struct error *err)
{
	uint64_t bytes = serialize(making, rows);

	if (bytes + TFRECORD_FRAME_BYTES > making->capacity) {
		free(TAKE(making->record));
		making->capacity = bytes + TFRECORD_FRAME_BYTES;
		making->record = malloc(making->capacity);
		if (!making->record)
			return error_set(err, -ENOMEM, "no memory for a record of %" PRIu64 " bytes", bytes);
		bytes = serialize(making, rows);
	}
	bytes = tfrecord_frame(making->record + TFRECORD_HEADER_BYTES, bytes, making->record);
	return fwrite(making->record, 1, bytes, making->out) == bytes
		       ? 0
		       : error_set(err, -errno, "a temporary file: cannot write it: %s", strerror(errno));
}

static int write_row(struct making *making, uint32_t row, const char *name, struct error *err)
{
	const struct batch_slot *batch = &making->columns->batch;
	const void *rows[4];

	rows[0] = making->outputs + row * making->job->outputs;
	for (uint32_t i = 1; i + 1 < making->schema.features; i++)
		rows[i] = batch->values[making->from[i]] + row * batch->row_bytes[making->from[i]];
	memset(&making->name, 0, sizeof(making->name));
	making->name.length = (uint32_t)strlen(name);
	memcpy(making->name.bytes + sizeof(uint32_t), name, making->name.length);
	rows[making->schema.features - 1] = &making->name;
	return write_record(making, rows, err);
}

/* ---- Progress ---- */

static void say(struct job *job)
{
	const uint64_t now = clock_us();
	const double seconds = (double)(now - job->begun_us) / 1e6;

	if (now - job->said_us < (isatty(STDERR_FILENO) ? SAY_US / 10 : SAY_US))
		return;
	job->said_us = now;
	fprintf(stderr,
		"%sfeatures: %" PRIu64 " of %" PRIu64 " shards, %" PRIu64 " pictures, %.1f pictures/s%s",
		isatty(STDERR_FILENO) ? "\r" : "", job->done, job->shards, job->pictures,
		seconds > 0 ? (double)job->pictures / seconds : 0, isatty(STDERR_FILENO) ? "  " : "\n");
}

/* ---- A shard ---- */

static int write_batch(struct making *making, struct rows *rows, uint32_t count, struct job_shard *shard,
		       struct error *err)
{
	struct job *job = making->job;
	int r = model_predict(job->model, (const void *const *)making->columns->input, count, making->outputs,
			      err);

	for (uint32_t row = 0; r == 0 && row < count; row++) {
		const char *name = rows_name(rows, row);

		job->left_out += name == NULL;
		shard->records += name != NULL;
		if (name)
			r = write_row(making, row, name, err);
	}
	job->pictures += count;
	say(job);
	return r;
}

static int put(struct job *job, FILE *file, struct job_shard *shard, struct error *err)
{
	struct store_object object;
	char path[64];
	int r;

	if (fflush(file) != 0)
		return error_set(err, -errno, "a temporary file: cannot write it: %s", strerror(errno));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	if ((r = store_put_file(job->store, shard->key, path, shard->sha256, &shard->bytes, err)) < 0 ||
	    (r = store_stat_put(job->store, shard->key, &object, err)) < 0)
		return r;
	(void)snprintf(shard->etag, sizeof(shard->etag), "%s", object.pin.etag);
	return 0;
}

int shard_make(struct job *job, struct rows *rows, struct job_shard *shard, struct error *err)
{
	CLEANUP(making_done) struct making making = { .job = job, .columns = rows_columns(rows) };
	int r = open_making(&making, err), count = 0;

	shard->records = 0;
	if (r == 0)
		r = rows_begin(rows, shard, err);
	while (r == 0 && (count = rows_next(rows, err)) > 0)
		r = write_batch(&making, rows, (uint32_t)count, shard, err);
	if (count < 0)
		r = count;
	return r < 0 ? r : put(job, making.out, shard, err);
}

/* ---- A shard that is there ---- */

/* Counts the records. Returns false where the bytes are no whole shard. */
static bool count_records(const uint8_t *data, uint64_t bytes, uint64_t *ret_records)
{
	struct tfrecord record = { 0 };
	struct error ignored;

	*ret_records = 0;
	for (uint64_t at = 0; at < bytes; at = record.next, ++*ret_records)
		if (tfrecord_next(data, bytes, at, UINT64_MAX, &record, &ignored) < 0)
			return false;
	return true;
}

static int read_back(struct job *job, struct job_shard *shard, const char *path, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct stat file;
	void *data = NULL;
	int r = store_get_file(job->store, shard->key, path, UINT64_MAX, err);

	if (r < 0 || (r = digest_file(path, shard->sha256, err)) < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &file) < 0)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	shard->bytes = (uint64_t)file.st_size;
	if (shard->bytes)
		data = mmap(NULL, shard->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	shard->is_there = count_records(data, shard->bytes, &shard->records);
	if (data)
		(void)munmap(data, shard->bytes);
	return 0;
}

int shard_look(struct job *job, struct job_shard *shard, struct error *err)
{
	struct store_object object;
	char path[PATH_BYTES];
	int r = store_stat(job->store, shard->key, &object, err);

	if (r == -ENOENT)
		return 0;
	if (r < 0 || (r = temporary_file("features", path, err)) < 0)
		return r;
	(void)snprintf(shard->etag, sizeof(shard->etag), "%s", object.pin.etag);
	r = read_back(job, shard, path, err);
	(void)unlink(path);
	return r;
}
