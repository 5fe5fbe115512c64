/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/first.h"

#include "data/batch.h"
#include "data/filter.h"
#include "data/inflated.h"
#include "data/tfrecord.h"
#include "preflight/numbers.h"

#include <inttypes.h>
#include <string.h>

#define PART            "record"
#define BEGIN_MAX       (UINT64_C(1) << 20) /* bytes of a shard that are read first */
#define SHARD_MAX       (UINT64_C(1) << 28) /* ... where the first record is longer */
#define PLAIN_MAX       (UINT64_C(1) << 31)
#define PLAIN_BRIEF_MAX (UINT64_C(1) << 26) /* ... at the begin of a run */

/* The begin of a shard. */
struct begin {
	char *raw; /* as it is in the store */
	struct inflated inflated;
};

static void begin_done(struct begin *begin)
{
	free(begin->raw);
	inflated_done(&begin->inflated);
}

/* A part of a compressed shard ends in the middle of a stream: what was inflated before counts. */
static int read_begin(struct store *store, const struct store_object *shard, uint64_t max, uint64_t plain_max,
		      struct begin *begin, struct error *err)
{
	const uint64_t bytes = shard->pin.bytes < max ? shard->pin.bytes : max;
	const bool whole = bytes == shard->pin.bytes;
	int r;

	begin_done(begin);
	*begin = (struct begin){ .raw = malloc(bytes + 1) };
	if (!begin->raw)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " bytes", bytes);
	r = store_get(store, shard->key, &shard->pin, 0, begin->raw, bytes, err);
	if (r < 0)
		return r;
	r = inflated_set(&begin->inflated, begin->raw, bytes, plain_max, err);
	return r == -EBADMSG && !whole && begin->inflated.bytes > 0 ? 0 : r;
}

/* ---- The records ---- */

/* A batch of one row, in memory of its own. */
struct rows {
	struct example_schema schema;
	struct batch_slot batch;
	struct batch_decoder *decoder;
	void *row[EXAMPLE_FEATURES_MAX]; /* as example_parse() takes them */
	struct example_ragged ragged[EXAMPLE_FEATURES_MAX];
	int64_t splits[EXAMPLE_FEATURES_MAX][2];
	uint8_t *memory, empty;
	struct numbers numbers;
};

static void rows_done(struct rows *rows)
{
	free(rows->memory);
	batch_decoder_freep(&rows->decoder);
}

static int rows_open(const struct config *config, struct rows *ret_rows, struct error *err)
{
	uint64_t bytes = 0;
	int r = batch_schema(config, &ret_rows->schema, err);

	if (r < 0 || (r = batch_decoder_new(config, &ret_rows->decoder, err)) < 0)
		return r;
	numbers_of(config, &ret_rows->numbers);
	ret_rows->batch = (struct batch_slot){ .schema = &ret_rows->schema, .empty = &ret_rows->empty };
	for (uint32_t i = 0; i < ret_rows->schema.features; i++)
		bytes += (batch_row_bytes(&ret_rows->schema.feature[i]) + 7) / 8 * 8;
	ret_rows->memory = malloc(bytes + 1);
	if (!ret_rows->memory)
		return error_set(err, -ENOMEM, "no memory for a record of %" PRIu64 " bytes", bytes);
	bytes = 0;
	for (uint32_t i = 0; i < ret_rows->schema.features; i++) {
		const struct example_feature *feature = &ret_rows->schema.feature[i];
		uint8_t *at = ret_rows->memory + bytes;

		ret_rows->batch.values[i] = at;
		ret_rows->batch.splits[i] = feature->values_max ? ret_rows->splits[i] : NULL;
		ret_rows->batch.row_bytes[i] = batch_row_bytes(feature);
		ret_rows->ragged[i] = (struct example_ragged){ &ret_rows->splits[i][1], at };
		ret_rows->row[i] = feature->values_max ? (void *)&ret_rows->ragged[i] : at;
		bytes += (batch_row_bytes(feature) + 7) / 8 * 8;
	}
	return 0;
}

struct look {
	struct filter filter;
	bool filtered;               /* there is a filter */
	bool seen[FILTER_TERMS_MAX]; /* a record has the feature of this term of the filter */
	bool none;                   /* the bytes hold no whole record */
	bool misfit;                 /* a record arrived intact and does not fit */
	bool whole;                  /* the bytes are the whole shard */
	bool stranger;               /* no record has a feature of the schema */
	bool number;                 /* a record has a number that the network cannot take */
	uint32_t records, matching;
};

static int note_feature(void *context, const char *name, uint64_t name_bytes, uint32_t dtype, uint64_t count)
{
	struct look *look = context;

	(void)dtype;
	(void)count;
	for (uint32_t i = 0; i < look->filter.terms; i++) {
		const char *wanted = filter_name(&look->filter, &look->filter.term[i]);

		if (strlen(wanted) == name_bytes && memcmp(wanted, name, name_bytes) == 0)
			look->seen[i] = true;
	}
	return 0;
}

/* Returns whether the filter takes the record, as kiln-fetchd asks it before it parses a record. */
static int look_at_filter(struct look *look, const struct tfrecord *record, struct error *err)
{
	int r = look->filtered ? example_describe(record->data, record->bytes, note_feature, look, err) : 0;

	if (r < 0 || !look->filtered)
		return r < 0 ? r : 1;
	return filter_match(&look->filter, record->data, record->bytes, err);
}

static int look_at(struct look *look, struct rows *rows, const struct tfrecord *record, struct error *err)
{
	int r = look_at_filter(look, record, err);

	if (r == 0)
		return 0;
	if (r > 0)
		r = batch_parse(&rows->batch, rows->decoder, 0, record->data, record->bytes, NULL, err);
	if (r == 0) {
		r = numbers_check(&rows->numbers, &rows->schema, rows->row, err);
		look->number = r < 0;
	}
	look->misfit = r < 0;
	look->matching += !look->misfit;
	return r;
}

/* Looks for a record with a feature of the schema. Where none of the whole shard has one, kiln-fetchd refuses
 * the shard. Errors: -EBADMSG no record has one. */
static int check_known(const struct inflated *begin, const struct rows *rows, struct look *look,
		       struct error *err)
{
	const char *other = NULL;
	uint32_t records = 0;
	uint64_t at = 0;

	while (at < begin->bytes) {
		struct tfrecord record = { 0 };
		struct error cut = { 0 };

		if (tfrecord_next(begin->data, begin->bytes, at, begin->bytes, &record, &cut) < 0)
			break;
		if (example_has_any(&rows->schema, record.data, record.bytes))
			return 0;
		if (records++ == 0)
			other = example_other(record.data, record.bytes);
		at = record.next;
	}
	if (records == 0)
		return 0;
	look->stranger = true;
	look->misfit = look->whole && at == begin->bytes;
	return example_no_feature(-EBADMSG, "the first", records, other, err);
}

/* Parses the records of the begin of a shard; goes on where the filter has taken none yet. A record that the
 * begin cuts ends the list. Errors: that of the first record that does not fit; with look->none that of the
 * shard. */
static int look_at_all(const struct inflated *begin, struct rows *rows, struct look *look, struct error *err)
{
	uint64_t at = 0;
	int known;

	look->none = false;
	known = check_known(begin, rows, look, err);
	if (known < 0)
		return known;
	while (at < begin->bytes && (look->records < FIRST_RECORDS_MAX || look->matching == 0)) {
		struct tfrecord record = { 0 };
		int r = tfrecord_next(begin->data, begin->bytes, at, begin->bytes, &record, err);

		look->none = r < 0 && look->records == 0;
		if (r < 0)
			return look->none ? r : 0;
		if (look_at(look, rows, &record, err) < 0)
			return error_prefix(err, "record %u", look->records);
		look->records++;
		at = record.next;
	}
	return 0;
}

/* Returns the first comparison with a feature that no record has; NULL: none. *ret_all: no record has any. */
static const struct filter_term *unseen(const struct look *look, bool *ret_all)
{
	const struct filter_term *first = NULL;

	*ret_all = true;
	for (uint32_t i = look->filter.terms; i-- > 0;)
		if (look->seen[i])
			*ret_all = false;
		else
			first = &look->filter.term[i];
	return first;
}

/* A comparison of a number that no record has is false; a text that no record has is compared as the empty
 * text. */
static void say(struct preflight *preflight, enum split split, const struct store_object *shard,
		const struct look *look)
{
	const char *condition = preflight->config->order.filter;
	bool all;
	const struct filter_term *absent = unseen(look, &all);

	if (!look->filtered || look->records == 0)
		return;
	if (absent && all && look->matching == 0)
		preflight_add_misfit(
			preflight, split == SPLIT_TRAIN, "filter", "name a feature that the records have",
			"order.filter \"%s\": the first %u records of %s have no feature \"%s\"", condition,
			look->records, shard->key, filter_name(&look->filter, absent));
	else if (absent)
		preflight_add(preflight, "filter", PREFLIGHT_WARNING, "name a feature that the records have",
			      "order.filter \"%s\": the first %u records of %s have no feature \"%s\"%s",
			      condition, look->records, shard->key, filter_name(&look->filter, absent),
			      absent->is_text ? ", which counts as the empty text"
					      : ", and the comparison with it is false");
	else if (look->matching == 0)
		preflight_add(preflight, "filter", PREFLIGHT_WARNING,
			      "a split without a matching record ends the run, or has no figures",
			      "order.filter \"%s\" matches none of the first %u records of %s", condition,
			      look->records, shard->key);
}

/* Reads and parses. `brief`: nothing is said about a shard whose first record is longer than its begin;
 * otherwise it is read as a whole. */
static int look_into(const struct config *config, struct store *store, const struct store_object *shard,
		     bool brief, struct look *look, struct error *err)
{
	CLEANUP(begin_done) struct begin begin = { 0 };
	CLEANUP(rows_done) struct rows rows = { 0 };
	const uint64_t plain_max = brief ? PLAIN_BRIEF_MAX : PLAIN_MAX;
	int r;

	if ((r = rows_open(config, &rows, err)) < 0 ||
	    (r = read_begin(store, shard, BEGIN_MAX, plain_max, &begin, err)) < 0)
		return r;
	look->whole = shard->pin.bytes <= BEGIN_MAX;
	r = look_at_all(&begin.inflated, &rows, look, err);
	if (!look->none || shard->pin.bytes <= BEGIN_MAX)
		return r;
	if (brief || shard->pin.bytes > SHARD_MAX)
		return 0;
	look->whole = true;
	r = read_begin(store, shard, SHARD_MAX, plain_max, &begin, err);
	return r < 0 ? r : look_at_all(&begin.inflated, &rows, look, err);
}

/* An object is one record. Its class is not looked at: objects.h. */
static int look_at_object(const struct config *config, struct store *store, const struct store_object *object,
			  struct look *look, struct error *err)
{
	CLEANUP(rows_done) struct rows rows = { 0 };
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes;
	int r;

	if ((r = rows_open(config, &rows, err)) < 0 ||
	    (r = store_get_all(store, object->key, SHARD_MAX, &data, &bytes, err)) < 0)
		return r;
	r = batch_object(&rows.batch, rows.decoder, 0, data, bytes, 0, NULL, err);
	look->records = 1;
	look->misfit = r < 0;
	look->matching = r == 0;
	return r;
}

static const char *todo_of(const struct config *config)
{
	return config_reads_objects(config)
		       ? "make a JPEG or PNG file of it, or remove it, or set fetch.bad_record = \"skip\""
		       : "make `schema` what the records are: see \"TFRecords that you have\" in the manual";
}

bool preflight_first(struct preflight *preflight, struct store *store, enum split split,
		     const struct store_object *shard)
{
	const bool skips = preflight->config->fetch.bad_record == BAD_RECORD_SKIP;
	const char *condition = preflight->config->order.filter;
	const char *todo = todo_of(preflight->config);
	struct look look = { 0 };
	struct error err = { 0 };
	int r;

	look.filtered = *condition && filter_parse(condition, &look.filter);
	r = config_reads_objects(preflight->config)
		    ? look_at_object(preflight->config, store, shard, &look, &err)
		    : look_into(preflight->config, store, shard, preflight->brief, &look, &err);
	if (r == 0) {
		say(preflight, split, shard, &look);
		return look.matching > 0;
	}
	(void)error_prefix(&err, "%s", shard->key);
	if (err.code != -EBADMSG && err.code != -EILSEQ && err.code != -ENODATA)
		preflight_add_error(preflight, PART, &err);
	else if (look.number)
		preflight_add_misfit(preflight, true, PART,
				     "make the network as large as the numbers are, or correct the records",
				     "%s", err.text);
	else if (look.stranger ? !look.misfit : skips) /* fetch.bad_record does not skip a whole shard */
		preflight_add(preflight, PART, PREFLIGHT_WARNING, todo, "%s", err.text);
	else
		preflight_add_misfit(preflight, look.misfit, PART, todo, "%s", err.text);
	return false;
}
