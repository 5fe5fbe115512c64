/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/write.h"

#include "cli/base/say.h"
#include "cli/prep/build.h"
#include "cli/prep/dataset.h"
#include "cli/prep/output.h"
#include "cli/prep/parallel.h"
#include "cli/prep/stores.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/run/manifest.h"
#include "data/tfrecord.h"
#include "drivers/digest/digest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define RECORDS_USUAL 500u

struct shard_row {
	char key[PREP_KEY_BYTES];
	char sha256[DIGEST_HEX_BYTES], etag[STORE_ETAG_MAX];
	uint64_t bytes, records;
	bool is_there; /* the store already had the same bytes before this kiln prep */
};

struct writing {
	struct prep *prep;
	struct example_schema schema;
	uint64_t per_shard, shard_bytes, example_bytes;
	uint32_t shards[TEXTS_SPLITS], total;
	uint32_t *first[TEXTS_SPLITS]; /* the first row of each shard, and the number of rows */
	struct shard_row *row;
	struct stores stores;
	pthread_mutex_t lock;
	struct error err; /* error of the first shard that failed; no further shards are made */
};

/* ---- One shard ---- */

static bool same_object(struct store *store, const char *key, const uint8_t *data, uint64_t bytes)
{
	CLEANUP(free_ptr) char *there = NULL;
	struct store_object object;
	struct error ignored;
	uint64_t there_bytes;

	return store_stat(store, key, &object, &ignored) == 0 && object.pin.bytes == bytes &&
	       store_get_all(store, key, bytes, &there, &there_bytes, &ignored) == 0 &&
	       there_bytes == bytes && memcmp(there, data, bytes) == 0;
}

static int put_shard(struct writing *writing, struct shard_row *row, const uint8_t *data, uint64_t bytes,
		     struct error *err)
{
	struct store *store = stores_borrow(&writing->stores, err);
	struct store_object object;
	int r;

	if (!store)
		return err->code;
	row->is_there = same_object(store, row->key, data, bytes);
	r = row->is_there ? store_stat_put(store, row->key, &object, err)
			  : store_put_checked(store, row->key, data, bytes, &object, err);
	if (r == 0)
		(void)snprintf(row->etag, sizeof(row->etag), "%s", object.pin.etag);
	stores_give_back(&writing->stores, store);
	return r;
}

/* Returns the split of shard *number of all, and makes *number its number in the split. */
static enum texts_split split_of(const struct writing *writing, uint32_t *number)
{
	enum texts_split split = TEXTS_TRAIN;

	while (*number >= writing->shards[split])
		*number -= writing->shards[split++];
	return split;
}

static int write_shard(struct writing *writing, uint32_t index, struct error *err)
{
	uint32_t number = index;
	const enum texts_split split = split_of(writing, &number);
	const uint32_t *first = &writing->first[split][number];
	const struct build_part part = { &writing->schema, writing->example_bytes, split, first[0],
					 first[1] - first[0] };
	CLEANUP(free_ptr) uint8_t *data = NULL;
	struct shard_row *row = &writing->row[index];
	int r;

	row->records = part.records;
	prep_shard_key(split, writing->prep->mode == PREP_APPEND ? writing->prep->id : "", number,
		       writing->shards[split], writing->prep->kind->plain, row->key);
	r = build_shard(writing->prep, &part, &data, &row->bytes, err);
	if (r < 0)
		return r;
	digest_sha256(data, row->bytes, row->sha256);
	return put_shard(writing, row, data, row->bytes, err);
}

static void shard_job(void *context, uint32_t index)
{
	struct writing *writing = context;
	struct error err = { 0 };

	if (__atomic_load_n(&writing->err.code, __ATOMIC_RELAXED))
		return;
	if (write_shard(writing, index, &err) < 0) {
		(void)pthread_mutex_lock(&writing->lock);
		if (!writing->err.code)
			writing->err = err;
		(void)pthread_mutex_unlock(&writing->lock);
		return;
	}
	progress_step("shards", writing->total);
}

/* ---- The manifest ---- */

static void print_lines(const struct writing *writing, FILE *out)
{
	for (uint32_t i = 0; i < writing->total; i++) {
		const struct shard_row *row = &writing->row[i];

		manifest_print(row->key, row->bytes, row->etag, row->sha256, row->records, out);
	}
}

/* Copies the lines of the other sets that stay. A killed kiln prep may have left lines of this set, or of a
 * set that it did not finish. */
static int copy_lines(const struct prep *prep, const char *manifest, FILE *out, struct error *err)
{
	while (*manifest) {
		const size_t bytes = strcspn(manifest, "\n");
		struct manifest_line line;
		int r = manifest_parse(manifest, bytes, &line, err);

		if (r < 0)
			return error_prefix(err, "%s", prep->where.url);
		if (prep_is_of_others(prep, line.key))
			fprintf(out, "%.*s\n", (int)bytes, manifest);
		manifest += bytes + (manifest[bytes] == '\n');
	}
	return 0;
}

/* Writes the lines of the shards, with those of the other sets before them where `others` is given. */
static int put_lines(const struct writing *writing, struct store *store, const char *key, const char *others,
		     struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int r;

	if (!out)
		return error_set(err, -ENOMEM, "no memory for the manifest");
	r = others ? copy_lines(writing->prep, others, out, err) : 0;
	print_lines(writing, out);
	if (fclose(out) != 0)
		return error_set(err, -ENOMEM, "no memory for the manifest");
	if (r < 0)
		return r;
	if (bytes > MANIFEST_BYTES_MAX)
		return error_set(err, -EFBIG, "%s: %zu bytes, of which a run reads at most %" PRIu64, key,
				 bytes, MANIFEST_BYTES_MAX);
	return store_put_checked(store, key, text, bytes, NULL, err);
}

static int put_manifests(const struct writing *writing, struct store *store, struct error *err)
{
	CLEANUP(free_ptr) char *others = NULL;
	char key[PREP_KEY_BYTES];
	uint64_t bytes;
	int r;

	if (writing->prep->mode != PREP_APPEND)
		return put_lines(writing, store, MANIFEST_NAME, NULL, err);
	prep_manifest_key(writing->prep->id, key);
	if ((r = put_lines(writing, store, key, NULL, err)) < 0 ||
	    ((r = store_get_all(store, MANIFEST_NAME, MANIFEST_BYTES_MAX, &others, &bytes, err)) < 0 &&
	     r != -ENOENT))
		return r;
	return put_lines(writing, store, MANIFEST_NAME, others, err);
}

/* ---- All of it ---- */

/* Tells whether a shard may begin with this row: rows of a group stay in one shard. */
static bool may_begin(const struct prep *prep, enum texts_split split, uint32_t row)
{
	const struct text_row *text = prep->texts.row[split];

	return prep->kind->ungrouped || prep->from[split] || !texts_same_group(&text[row - 1], &text[row]);
}

static uint64_t row_bytes(const struct writing *writing, enum texts_split split, uint32_t row)
{
	const struct prep_kind *kind = writing->prep->kind;

	return kind->row_bytes ? kind->row_bytes(writing->prep, split, row) + TFRECORD_FRAME_BYTES : 0;
}

/* Divides the rows of a split: a shard ends after per_shard rows or shard_bytes bytes, or later at the end of
 * a group. */
static int divide(struct writing *writing, enum texts_split split, struct error *err)
{
	const uint32_t rows = writing->prep->rows[split];
	uint32_t *first = malloc(((size_t)rows + 2) * sizeof(*first)), shards = 0;
	uint64_t bytes = 0;

	if (!first)
		return error_set(err, -ENOMEM, "no memory for the shards of %u records", rows);
	writing->first[split] = first;
	for (uint32_t row = 0; row < rows; row++) {
		const uint64_t more = row_bytes(writing, split, row);
		const bool full = row && (row - first[shards - 1] >= writing->per_shard ||
					  bytes + more > writing->shard_bytes);

		if (row == 0 || (full && may_begin(writing->prep, split, row))) {
			first[shards++] = row;
			bytes = 0;
		}
		bytes += more;
	}
	first[shards] = rows;
	writing->shards[split] = shards;
	writing->total += shards;
	return 0;
}

/* Returns the number of records in a shard, where it is not given. */
static uint64_t usual_records(const struct prep *prep)
{
	const uint64_t least = prep->kind->shards_least,
		       records = least ? prep->rows[TEXTS_TRAIN] / least : RECORDS_USUAL;

	return records < 1 ? 1 : records < RECORDS_USUAL ? records : RECORDS_USUAL;
}

/* Decides where a shard ends: by the number of records or, with --shard-bytes, by the bytes. */
static void limit_shards(struct writing *writing)
{
	const struct prep *prep = writing->prep;
	const uint64_t fit = prep->shard_bytes / (writing->example_bytes + TFRECORD_FRAME_BYTES);

	writing->per_shard = prep->records_per_shard ? prep->records_per_shard : usual_records(prep);
	writing->shard_bytes = prep->kind->shard_bytes ? prep->kind->shard_bytes : UINT64_MAX;
	if (prep->shard_bytes && prep->kind->row_bytes) {
		writing->per_shard = UINT32_MAX;
		writing->shard_bytes = prep->shard_bytes;
	} else if (prep->shard_bytes) {
		writing->per_shard = fit ? fit : 1;
	}
}

static int plan_shards(struct writing *writing, struct error *err)
{
	const struct prep *prep = writing->prep;
	int r = 0;

	prep->kind->schema(prep, &writing->schema, &writing->example_bytes);
	limit_shards(writing);
	for (int s = 0; r == 0 && s < TEXTS_SPLITS; s++)
		r = divide(writing, (enum texts_split)s, err);
	return r;
}

struct summary {
	uint64_t bytes, were_there;
	double seconds;
};

static void report_json(const struct writing *writing, const struct summary *summary)
{
	const struct prep *prep = writing->prep;
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();

	cJSON_AddItemToObject(json, "url", json_string(prep->where.url));
	json_add_u64(json, "shards", writing->total);
	json_add_u64(json, "kept", summary->were_there);
	json_add_u64(json, "bytes", summary->bytes);
	for (int s = 0; s < TEXTS_SPLITS; s++)
		if (dataset_names_split(prep, (enum texts_split)s))
			json_add_u64(json, prep_split_names[s], prep->rows[s]);
	if (prep->kind == &prep_pictures)
		json_add_u64(json, "left_out", prep->pictures.left_out);
	if (prep->kind->summary)
		prep->kind->summary(prep, json);
	cJSON_AddNumberToObject(json, "seconds", round(summary->seconds * 1e3) / 1e3);
	(void)cli_print_json_line(json);
}

static void report(const struct writing *writing, double seconds)
{
	const struct prep *prep = writing->prep;
	uint64_t records = (uint64_t)prep->rows[0] + prep->rows[1] + prep->rows[2];
	char validation[48] = "";
	struct summary summary = { .seconds = seconds };

	for (uint32_t i = 0; i < writing->total; i++) {
		summary.bytes += writing->row[i].bytes;
		summary.were_there += writing->row[i].is_there;
	}
	if (prep->rows[TEXTS_VALIDATION])
		(void)snprintf(validation, sizeof(validation), ", %u validation",
			       prep->rows[TEXTS_VALIDATION]);
	if (prep->json)
		report_json(writing, &summary);
	else
		printf("%s: %u shards (%" PRIu64 " already there), %" PRIu64
		       " bytes, %u train%s and %u test records, %.0f records/s\n",
		       prep->where.url, writing->total, summary.were_there, summary.bytes, prep->rows[0],
		       validation, prep->rows[1], seconds > 0 ? (double)records / seconds : 0.0);
	if (!prep->json && prep->kind->summary)
		prep->kind->summary(prep, NULL);
}

/* A set that is added counts once dataset.json names it, so dataset.json is written after the manifests: the
 * next kiln prep removes the shards and the lines of a set that dataset.json does not name. */
static int write_set(struct writing *writing, struct store *store, struct error *err)
{
	int r = prep_begin_set(writing->prep, store, err);

	if (r < 0)
		return r;
	progress_start();
	parallel_run(shard_job, writing, writing->total);
	if (writing->err.code) {
		*err = writing->err;
		return err->code;
	}
	if ((r = prep_still_alone(writing->prep, store, err)) < 0 ||
	    (r = prep_remove_old(writing->prep, store, writing->shards, err)) < 0 ||
	    (r = put_manifests(writing, store, err)) < 0 ||
	    (r = dataset_put(writing->prep, &writing->schema, store, err)) < 0)
		return r;
	return prep_end_set(writing->prep, store, err);
}

int prep_write(struct prep *prep, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct writing writing = { .prep = prep, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct store_options options = { 0 };
	uint64_t start = clock_us();
	int r;

	stores_init(&writing.stores, &prep->where);
	r = plan_shards(&writing, err);
	writing.row = calloc((size_t)writing.total + 1, sizeof(*writing.row));
	if (r == 0 && !writing.row)
		r = error_set(err, -ENOMEM, "no memory for %u shards", writing.total);
	if (r == 0)
		r = store_open(&prep->where, &options, &store, err);
	if (r == 0)
		r = write_set(&writing, store, err);
	stores_done(&writing.stores);
	if (r == 0)
		report(&writing, (double)(clock_us() - start) * 1e-6);
	free(writing.row);
	for (int s = 0; s < TEXTS_SPLITS; s++)
		free(writing.first[s]);
	return r;
}
