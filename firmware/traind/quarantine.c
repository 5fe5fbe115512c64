/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/quarantine.h"
#include "data/quarantine.h"
#include "model/formats/names.h"

#include <inttypes.h>
#include <string.h>

int quarantine_open(struct quarantine *list, const struct config *config, const char *plan_path,
		    struct error *err)
{
	return config->fetch.bad_record == BAD_RECORD_SKIP ? plan_open(plan_path, &list->plan, err) : 0;
}

void quarantine_close(struct quarantine *list)
{
	plan_closep(&list->plan);
}

/* ---- The list ---- */

static bool is_of_plan(const struct plan *plan, const struct ring_quarantined *record)
{
	return record->source < plan_settings_of(plan)->sources && record->split < SPLIT_MAX &&
	       record->shard < plan_source_shards(plan, record->source, (enum split)record->split);
}

static bool is_listed(const struct quarantine *list, const struct ring_quarantined *record)
{
	for (uint32_t i = 0; i < list->all.records; i++) {
		const struct ring_quarantined *known = &list->all.record[i];

		if (known->source == record->source && known->split == record->split &&
		    known->shard == record->shard && known->offset == record->offset)
			return true;
	}
	return false;
}

/* Records beyond QUARANTINE_MAX are counted in the first pass only: a later pass could not tell whether such
 * a record was counted before. */
static void put(struct quarantine *list, const struct ring_quarantined *record, bool first_pass)
{
	struct quarantine_list *all = &list->all;

	if (is_listed(list, record))
		return;
	list->changed = true;
	if (all->records == QUARANTINE_MAX) {
		all->more += first_pass;
		return;
	}
	all->record[all->records++] = *record;
	if (first_pass)
		all->first_pass = all->records;
}

static int add(struct quarantine *list, const struct ring_quarantined *record, bool first_pass,
	       struct error *err)
{
	if (!is_of_plan(list->plan, record))
		return error_set(err, -EUCLEAN,
				 "a record left out of shard %" PRIu64
				 " of source %u, split %u: the plan has no such shard",
				 record->shard, record->source, record->split);
	put(list, record, first_pass);
	return 0;
}

int quarantine_add(struct quarantine *list, const void *column, uint64_t bytes, bool first_pass,
		   struct error *err)
{
	struct ring_quarantine page;
	int r;

	if (bytes == 0)
		return 0;
	r = quarantine_read(column, bytes, &page, err);
	for (uint32_t i = 0; r == 0 && i < page.records; i++)
		r = add(list, &page.record[i], first_pass, err);
	if (r == 0 && first_pass)
		list->all.more += page.more;
	return r;
}

void quarantine_merge(struct quarantine *list, const struct quarantine_list *other)
{
	list->all.more += other->more;
	for (uint32_t i = 0; i < other->records; i++)
		put(list, &other->record[i], i < other->first_pass);
}

/* ---- As JSON ---- */

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

cJSON *quarantine_json(const struct quarantine *list)
{
	CLEANUP(json_free) cJSON *object = NULL;
	cJSON *array;
	bool whole;

	if (list->all.records == 0)
		return NULL;
	object = cJSON_CreateObject();
	array = cJSON_AddArrayToObject(object, "records");
	whole = array && json_add_u64(object, "more", list->all.more);
	for (uint32_t i = 0; whole && i < list->all.records; i++)
		whole = add_entry(list->plan, &list->all.record[i], array);
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
	return r < 0 ? r
		     : error_set(err, -EBADMSG,
				 "%s: split: found \"%.100s\", expected train, validation or test", path,
				 text);
}

static int read_entry(struct quarantine *list, const char *path, const cJSON *entry, struct error *err)
{
	bool rest = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "rest"));
	struct ring_quarantined record = { .row = rest ? RING_QUARANTINED_REST : 0 };
	struct error said;
	uint64_t source = 0;
	int r;

	if ((r = json_get_u64(path, entry, "source", &source, err)) < 0 ||
	    (r = read_split(path, entry, &record.split, err)) < 0 ||
	    (r = json_get_u64(path, entry, "shard", &record.shard, err)) < 0 ||
	    (r = json_get_u64(path, entry, "offset", &record.offset, err)) < 0)
		return r;
	record.source = source < UINT16_MAX ? (uint16_t)source : UINT16_MAX;
	r = add(list, &record, false, &said);
	return r < 0 ? error_set(err, -EBADMSG, "%s: %s", path, said.text) : 0;
}

static int read_text(struct quarantine *list, const char *path, const struct model_tensor *tensor,
		     struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	const cJSON *entry;
	int r = json_parse(path, tensor->data, tensor->bytes, &object, err);

	if (r == 0)
		r = json_get_u64(path, object, "more", &list->all.more, err);
	if (r < 0)
		return r;
	cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(object, "records"))
		if ((r = read_entry(list, path, entry, err)) < 0)
			return r;
	return 0;
}

int quarantine_restore(struct quarantine *list, const char *path, const struct safetensors *file,
		       struct error *err)
{
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(file, &count),
				  *found = name_find(tensors, count, QUARANTINE_TENSOR);
	int r = list->plan && found ? read_text(list, path, found, err) : 0;

	return r < 0 ? error_prefix(err, "%s", QUARANTINE_TENSOR) : 0;
}
