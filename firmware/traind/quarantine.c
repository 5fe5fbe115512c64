/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quarantine list: which records fetch.bad_record = "skip" left out. kiln-fetchd names them in the slot
 * that leaves them out; a checkpoint has those of all slots behind its cursor, so that the list of a run that
 * was killed has each record once, too. An epoch leaves out the same ones as the last.
 */
#include "data/quarantine.h"
#include "data/batch.h"
#include "traind/train.h"

#include <inttypes.h>
#include <string.h>

int quarantine_open(struct train *train, struct error *err)
{
	char path[PATH_BYTES];

	if (train->run.config.fetch.bad_record != BAD_RECORD_SKIP)
		return 0;
	return plan_open(path_of(PATH_RUN, "plan", path), &train->quarantine.plan, err);
}

void quarantine_close(struct train *train)
{
	plan_closep(&train->quarantine.plan);
}

/* ---- The list ---- */

static bool is_of_plan(const struct plan *plan, const struct ring_quarantined *record)
{
	return record->source < plan_settings_of(plan)->sources && record->split < SPLIT_MAX &&
	       record->shard < plan_source_shards(plan, record->source, (enum split)record->split);
}

static bool is_listed(const struct quarantine *list, const struct ring_quarantined *record)
{
	for (uint32_t i = 0; i < list->records; i++) {
		const struct ring_quarantined *known = &list->record[i];

		if (known->source == record->source && known->split == record->split &&
		    known->shard == record->shard && known->offset == record->offset)
			return true;
	}
	return false;
}

/* What is beyond the list is counted in the first pass alone: nobody knows it again in the second. */
static int add(struct train *train, const struct ring_quarantined *record, bool first_pass, struct error *err)
{
	struct quarantine *list = &train->quarantine;

	if (!is_of_plan(list->plan, record))
		return error_set(err, -EUCLEAN,
				 "a record left out of shard %" PRIu64
				 " of source %u, split %u: the plan has none such",
				 record->shard, record->source, record->split);
	if (is_listed(list, record))
		return 0;
	report_changed(train);
	if (list->records == QUARANTINE_MAX)
		list->more += first_pass;
	else
		list->record[list->records++] = *record;
	return 0;
}

int quarantine_take(struct train *train, const struct ring_slot *slot, struct error *err)
{
	struct ring_quarantine page;
	uint64_t bytes = train->quarantine.plan ? slot->column[train->left_out].bytes : 0;
	int r;

	if (bytes == 0)
		return 0;
	r = quarantine_read(ring_column_data(train->ring, slot, train->left_out), bytes, &page, err);
	for (uint32_t i = 0; r == 0 && i < page.records; i++)
		r = add(train, &page.record[i], slot->segment == 0, err);
	if (r == 0 && slot->segment == 0)
		train->quarantine.more += page.more;
	return r;
}

/* ---- Its text ---- */

static bool add_entry(const struct plan *plan, const struct ring_quarantined *record, cJSON *array)
{
	struct plan_shard shard = plan_shard(plan, record->source, (enum split)record->split, record->shard);
	cJSON *entry = cJSON_CreateObject();

	return cJSON_AddItemToArray(array, entry) && json_add_u64(entry, "source", record->source) &&
	       cJSON_AddStringToObject(entry, "split", split_name(record->split)) &&
	       json_add_u64(entry, "shard", record->shard) &&
	       cJSON_AddItemToObject(entry, "key", json_string(shard.key)) &&
	       json_add_u64(entry, "offset", record->offset) &&
	       cJSON_AddBoolToObject(entry, "rest", record->row == RING_QUARANTINED_REST);
}

cJSON *quarantine_json(const struct train *train)
{
	const struct quarantine *list = &train->quarantine;
	CLEANUP(json_free) cJSON *object = NULL;
	cJSON *array;
	bool whole;

	if (list->records == 0)
		return NULL;
	object = cJSON_CreateObject();
	array = cJSON_AddArrayToObject(object, "records");
	whole = array && json_add_u64(object, "more", list->more);
	for (uint32_t i = 0; whole && i < list->records; i++)
		whole = add_entry(list->plan, &list->record[i], array);
	return whole ? TAKE(object) : NULL;
}

/* ---- From a checkpoint ---- */

static int read_split(const char *path, const cJSON *entry, uint16_t *ret_split, struct error *err)
{
	const char *text = NULL;
	int r = json_get_string(path, entry, "split", &text, err);

	for (uint16_t split = 0; r == 0 && split < SPLIT_MAX; split++)
		if (strcmp(text, split_name(split)) == 0) {
			*ret_split = split;
			return 0;
		}
	return r < 0 ? r : error_set(err, -EBADMSG, "%s: split: found \"%.100s\"", path, text);
}

static int read_entry(struct train *train, const char *path, const cJSON *entry, struct error *err)
{
	bool rest = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "rest"));
	struct ring_quarantined record = { .row = rest ? RING_QUARANTINED_REST : 0 };
	uint64_t source = 0;
	int r;

	if ((r = json_get_u64(path, entry, "source", &source, err)) < 0 ||
	    (r = read_split(path, entry, &record.split, err)) < 0 ||
	    (r = json_get_u64(path, entry, "shard", &record.shard, err)) < 0 ||
	    (r = json_get_u64(path, entry, "offset", &record.offset, err)) < 0)
		return r;
	record.source = source < UINT16_MAX ? (uint16_t)source : UINT16_MAX;
	r = add(train, &record, false, err);
	return r < 0 ? error_set(err, -EBADMSG, "%s: %s", path, err->text) : 0;
}

static int read_text(struct train *train, const char *path, const struct model_tensor *tensor,
		     struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	const cJSON *entry;
	int r = json_parse(path, tensor->data, tensor->bytes, &object, err);

	if (r == 0)
		r = json_get_u64(path, object, "more", &train->quarantine.more, err);
	if (r < 0)
		return r;
	cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(object, "records"))
		if ((r = read_entry(train, path, entry, err)) < 0)
			return r;
	return 0;
}

int quarantine_restore(struct train *train, const char *path, const struct safetensors *file,
		       struct error *err)
{
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(file, &count);

	for (uint32_t i = 0; train->quarantine.plan && i < count; i++)
		if (strcmp(tensors[i].name, QUARANTINE_TENSOR) == 0) {
			int r = read_text(train, path, &tensors[i], err);

			return r < 0 ? error_prefix(err, "%s", QUARANTINE_TENSOR) : 0;
		}
	return 0;
}
