/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/stalls.h"
#include "controld/status/figure.h"
#include "controld/status/watch.h"
#include "core/run/status_ranks.h"

#include <math.h>

/* Tells a person why the device waits, by the stage that the missing data is in. */
static const char *const means[STALL_STAGES] = {
	[STALL_LIST] = "the source was listed for the plan, which happens once a run",
	[STALL_CACHE] = "the cache's disk",
	[STALL_QUEUE] = "too few requests in flight: the pace says why",
	[STALL_RETRY] = "requests that failed: the log says how",
	[STALL_CONNECT] = "name, TCP or TLS of new connections",
	[STALL_FIRST_BYTE] = "the store works before it answers",
	[STALL_TRANSFER] = "the network, or the store's rate",
	[STALL_WORKER] = "too few decode workers",
	[STALL_INFLATE] = "this box's cores: the shards are compressed",
	[STALL_PARSE] = "this box's cores: checksums",
	[STALL_GATHER] = "this box's cores: records into batches",
	[STALL_DECODE] = "this box's cores: decoding pictures",
};

static cJSON *stages(const struct status_fetchd *page)
{
	cJSON *list = cJSON_CreateArray();

	for (int i = 0; i < STALL_STAGES; i++) {
		cJSON *stage = cJSON_CreateObject();

		(void)cJSON_AddStringToObject(stage, "stage", status_stage_name((enum stall_stage)i));
		(void)cJSON_AddNumberToObject(stage, "waited_s", (double)page->stalled_us[i] / 1e6);
		(void)cJSON_AddStringToObject(stage, "means", means[i]);
		(void)cJSON_AddItemToArray(list, stage);
	}
	return list;
}

static void add_now(cJSON *object, const struct status_fetchd *page, bool at_work)
{
	cJSON *now;

	(void)cJSON_AddBoolToObject(object, "at_work", at_work);
	/* A fetcher that was killed or stopped leaves the wait of its last moment in its page. */
	if (!at_work || page->stalled == 0 || page->stalled > STALL_STAGES) {
		(void)cJSON_AddNullToObject(object, "now");
		return;
	}
	now = cJSON_AddObjectToObject(object, "now");
	(void)cJSON_AddStringToObject(now, "stage", status_stage_name((enum stall_stage)(page->stalled - 1)));
	figure_text(now, "key", *page->stalled_key ? page->stalled_key : NULL);
}

static cJSON *tuning(const struct status_fetchd *page)
{
	cJSON *object = cJSON_CreateObject();

	(void)json_add_u64(object, "requests_in_flight", page->at_once);
	(void)json_add_u64(object, "requests_in_flight_max", page->at_once_max);
	(void)cJSON_AddItemToObject(object, "requests_why", json_string(page->pace_reason));
	(void)json_add_u64(object, "request_bytes", page->part_bytes);
	(void)json_add_u64(object, "hedged", page->hedged);
	(void)json_add_u64(object, "hedges_won", page->hedges_won);
	(void)json_add_u64(object, "workers", page->workers);
	(void)json_add_u64(object, "workers_max", page->workers_max);
	(void)cJSON_AddItemToObject(object, "workers_why", json_string(page->workers_reason));
	(void)json_add_u64(object, "windows_ahead", page->ahead);
	(void)json_add_u64(object, "windows_ahead_max", page->ahead_max);
	(void)cJSON_AddItemToObject(object, "windows_ahead_why", json_string(page->ahead_reason));
	(void)json_add_u64(object, "windows_memory_bytes", page->memory_bytes);
	(void)json_add_u64(object, "windows_disk_bytes", page->spilled_bytes);
	return object;
}

cJSON *stalls_object(const struct status *fetchd, const struct status *traind)
{
	const struct status_fetchd *page = fetchd ? &fetchd->fetchd : NULL;
	cJSON *object = cJSON_CreateObject();

	if (!page) {
		(void)cJSON_AddNullToObject(object, "run");
		return object;
	}
	(void)cJSON_AddItemToObject(object, "run", json_string(fetchd->run_id));
	(void)cJSON_AddNumberToObject(object, "observed_s",
				      (double)(fetchd->updated_us - fetchd->started_us) / 1e6);
	figure_number(object, "device_waited_s", traind ? (double)traind->traind.waited_us / 1e6 : NAN);
	(void)cJSON_AddItemToObject(object, "stages", stages(page));
	(void)cJSON_AddNumberToObject(object, "ring_full_s", (double)page->full_us / 1e6);
	add_now(object, page, watch_is_alive(fetchd));
	(void)cJSON_AddItemToObject(object, "tuning", tuning(page));
	(void)cJSON_AddItemToObject(object, "ranks", status_ranks(NULL, traind));
	return object;
}
