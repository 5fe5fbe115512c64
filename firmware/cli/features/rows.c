/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/rows.h"

#include "cli/prep/parallel.h"
#include "core/base/log.h"
#include "data/order.h"
#include "trained/whole.h"
#include "trained/whole_shard.h"

#include <inttypes.h>
#include <string.h>

#define OBJECT_MAX (UINT64_C(256) << 20)
#define AT_ONCE    16u /* objects that are fetched at the same time, at least */

/* A row of the batch, before and after a thread has decoded it. */
struct item {
	const uint8_t *data; /* bytes of a record */
	uint64_t bytes;
	const char *key;
	uint64_t record; /* in its shard */
	struct plan_shard object;
	char name[JOB_NAME_MAX + 1];
	int result;
	struct error err;
};

struct rows {
	const struct job *job;
	bool objects, filtered;
	struct filter filter;
	struct columns columns;
	struct item *item; /* rows of a batch */
	uint32_t used;

	const struct job_shard *shard;
	struct plan_shard pinned;
	uint64_t next; /* place of the next object in the split */
	struct whole_shard whole;

	struct stores stores;
	pthread_mutex_t lock;
	struct batch_decoder *idle[PARALLEL_THREADS_MAX]; /* decoders that no thread uses */
	uint32_t idles;
};

/* ---- Open and close ---- */

static int open_rows(struct rows *rows, struct error *err)
{
	const struct config *config = &rows->job->config;

	rows->filtered = *config->order.filter != '\0';
	if (rows->filtered && !filter_parse(config->order.filter, &rows->filter))
		return error_set(err, -EINVAL, "order.filter: found %s, allowed: " FILTER_ALLOWED,
				 config->order.filter);
	rows->item = calloc(config->run.batch_rows, sizeof(*rows->item));
	if (!rows->item)
		return error_set(err, -ENOMEM, "no memory for a batch");
	return columns_open(config, rows->job->model, true, &rows->columns, err);
}

int rows_open(const struct job *job, struct rows **ret_rows, struct error *err)
{
	CLEANUP(rows_closep) struct rows *rows = calloc(1, sizeof(*rows));
	int r;

	if (!rows)
		return error_set(err, -ENOMEM, "no memory");
	rows->job = job;
	rows->objects = config_reads_objects(&job->config);
	rows->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	stores_init(&rows->stores, &job->config.source[0].store);
	r = open_rows(rows, err);
	if (r == 0)
		*ret_rows = TAKE(rows);
	return r;
}

void rows_closep(struct rows **pointer)
{
	struct rows *rows = *pointer;

	if (!rows)
		return;
	stores_done(&rows->stores);
	while (rows->idles)
		batch_decoder_freep(&rows->idle[--rows->idles]);
	columns_done(&rows->columns);
	whole_shard_done(&rows->whole);
	free(rows->item);
	free(rows);
}

/* ---- The bytes of a shard or an object ---- */

static int load_shard(struct rows *rows, struct error *err)
{
	struct store *store = stores_borrow(&rows->stores, err);
	int r;

	if (!store)
		return err->code;
	r = whole_shard_get_pinned(&rows->whole, store, &rows->pinned, err);
	stores_give_back(&rows->stores, store);
	return r < 0 ? r : whole_shard_inflate(&rows->whole, err);
}

static int load_object(struct rows *rows, const struct plan_shard *object, char **ret_data, struct error *err)
{
	struct store *store = stores_borrow(&rows->stores, err);
	int r;

	if (!store)
		return err->code;
	r = whole_get_pinned(store, object, OBJECT_MAX, ret_data, err);
	stores_give_back(&rows->stores, store);
	return r;
}

int rows_begin(struct rows *rows, const struct job_shard *shard, struct error *err)
{
	rows->shard = shard;
	rows->next = shard->first;
	if (rows->objects)
		return 0;
	rows->pinned = plan_shard(rows->job->plan, 0, shard->split, shard->number);
	return load_shard(rows, err) < 0 ? error_prefix(err, "%s", rows->pinned.key) : 0;
}

/* ---- A row, on any thread ---- */

static struct batch_decoder *borrow_decoder(struct rows *rows, struct error *err)
{
	struct batch_decoder *decoder = NULL;

	(void)pthread_mutex_lock(&rows->lock);
	if (rows->idles)
		decoder = rows->idle[--rows->idles];
	(void)pthread_mutex_unlock(&rows->lock);
	if (!decoder && batch_decoder_new(&rows->job->config, &decoder, err) < 0)
		return NULL;
	return decoder;
}

static void give_back_decoder(struct rows *rows, struct batch_decoder *decoder)
{
	(void)pthread_mutex_lock(&rows->lock);
	if (decoder)
		rows->idle[rows->idles++] = decoder;
	(void)pthread_mutex_unlock(&rows->lock);
}

/* Finds the name of a record's picture. */
static int find_name(struct item *item, struct error *err)
{
	static const struct example_schema schema = { .features = 1,
						      .feature = { { .name = JOB_NAME,
								     .dtype = EXAMPLE_BYTES,
								     .elements = 1,
								     .optional = true,
								     .bytes_max = JOB_NAME_MAX,
								     .truncate = true } } };
	union {
		uint32_t length;
		uint8_t bytes[JOB_NAME_MAX + 64];
	} row;
	void *rows[] = { &row };
	int r = example_parse(&schema, item->data, item->bytes, rows, err);

	if (r < 0)
		return r;
	if (row.length)
		(void)snprintf(item->name, sizeof(item->name), "%.*s", (int)row.length,
			       (const char *)row.bytes + sizeof(row.length));
	else
		(void)snprintf(item->name, sizeof(item->name), "%s#%" PRIu64, item->key, item->record);
	return 0;
}

static int decode_object(struct rows *rows, uint32_t row, struct batch_decoder *decoder, struct error *err)
{
	struct item *item = &rows->item[row];
	CLEANUP(free_ptr) char *data = NULL;
	int r = load_object(rows, &item->object, &data, err);

	(void)snprintf(item->name, sizeof(item->name), "%s", item->object.key);
	return r < 0 ? r
		     : batch_object(&rows->columns.batch, decoder, row, data, item->object.bytes,
				    item->object.label, NULL, err);
}

static void decode_job(void *context, uint32_t row)
{
	struct rows *rows = context;
	struct item *item = &rows->item[row];
	struct error err = { 0 };
	struct batch_decoder *decoder;
	int r = item->result;

	if (r < 0)
		return;
	decoder = borrow_decoder(rows, &err);
	if (err.code)
		r = err.code;
	else if (rows->objects)
		r = decode_object(rows, row, decoder, &err);
	else if ((r = batch_parse(&rows->columns.batch, decoder, row, item->data, item->bytes, NULL, &err)) ==
		 0)
		r = find_name(item, &err);
	give_back_decoder(rows, decoder);
	item->result = r;
	item->err = err;
}

/* ---- A batch ---- */

/* Finds the next record, and notes it as a row. Returns 1, or 0 where the filter drops it. */
static int find_record(struct rows *rows, struct item *item)
{
	struct tfrecord record;
	int r;

	item->key = rows->pinned.key;
	item->record = rows->whole.record;
	r = whole_shard_next(&rows->whole, rows->filtered ? &rows->filter : NULL, WHOLE_SHARD_MAX, &record,
			     &item->err);
	item->data = record.data;
	item->bytes = record.bytes;
	item->result = r < 0 ? r : 0;
	return r != 0;
}

static int find_object(struct rows *rows, struct item *item)
{
	const struct order_key key = { .seed = rows->job->seed, .pass = rows->shard->split };
	const uint64_t objects = plan_shards(rows->job->plan, rows->shard->split);

	item->object =
		plan_shard(rows->job->plan, 0, rows->shard->split, order_permute(&key, objects, rows->next));
	item->key = item->object.key;
	item->record = 0;
	item->result = 0;
	rows->next++;
	return 1;
}

static bool has_ended(const struct rows *rows)
{
	return rows->objects ? rows->next == rows->shard->first + rows->shard->count
			     : rows->whole.at == rows->whole.bytes;
}

/* Whether the error is one of the record and not of the machine or the store. */
static bool is_of_record(int code)
{
	return code == -EBADMSG || code == -EILSEQ || code == -EINVAL || code == -E2BIG || code == -EFBIG;
}

/* Reports the bad records of the batch. */
static int refuse_bad(const struct rows *rows, struct error *err)
{
	for (uint32_t row = 0; row < rows->used; row++) {
		struct item *item = &rows->item[row];

		if (item->result == 0)
			continue;
		*err = item->err;
		(void)(rows->objects ? error_prefix(err, "%s", item->key)
				     : error_prefix(err, "%s: record %" PRIu64, item->key, item->record));
		if (rows->job->config.fetch.bad_record != BAD_RECORD_SKIP || !is_of_record(item->result))
			return item->result;
		log_warning("left out: %s", err->text);
	}
	return 0;
}

int rows_next(struct rows *rows, struct error *err)
{
	const uint64_t most = rows->job->config.run.batch_rows;
	int r;

	rows->used = 0;
	while (rows->used < most && !has_ended(rows)) {
		struct item *item = &rows->item[rows->used];

		rows->used += (uint32_t)(rows->objects ? find_object(rows, item) : find_record(rows, item));
	}
	parallel_run_wide(decode_job, rows, rows->used, rows->objects ? AT_ONCE : 0);
	r = refuse_bad(rows, err);
	return r < 0 ? r : (int)rows->used;
}

const struct columns *rows_columns(const struct rows *rows)
{
	return &rows->columns;
}

const char *rows_name(const struct rows *rows, uint32_t row)
{
	return rows->item[row].result == 0 ? rows->item[row].name : NULL;
}
