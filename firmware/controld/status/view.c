/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/view.h"
#include "controld/status/node.h"

#include <math.h>
#include <string.h>
#include <time.h>

static void read_record(struct view *view)
{
	struct error *err = &view->record_error;
	const char *id;

	view->state = "idle";
	if (run_record(&view->record, err) < 0 ||
	    json_get_string("run.json", view->record, "id", &id, err) < 0 ||
	    json_get_string("run.json", view->record, "state", &view->state, err) < 0) {
		cJSON_Delete(TAKE(view->record));
		return;
	}
	(void)snprintf(view->id, sizeof(view->id), "%s", id);
}

static const struct status *page_of(const struct box *box, enum status_daemon daemon, const char *run_id)
{
	const struct status *page = watch_newest(&box->watch, daemon);

	return page && *run_id && strcmp(page->run_id, run_id) == 0 ? page : NULL;
}

void view_open(struct view *view, struct box *box)
{
	struct timespec now;

	*view = (struct view){ .box = box, .disk = node_disk() };
	watch_sample(&box->watch);
	read_record(view);
	if ((view->begins = beginning_is(&box->beginning, view->id)) && !box->beginning.goes_on) {
		cJSON_Delete(TAKE(view->record)); /* the record on the disk is that of the last run */
		view->id[0] = '\0';
		view->state = "idle";
	}
	view->fetchd = page_of(box, STATUS_FETCHD, view->id);
	view->traind = page_of(box, STATUS_TRAIND, view->id);
	view->uploadd = page_of(box, STATUS_UPLOADD, view->id);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	view->now_us = (uint64_t)now.tv_sec * 1000000u;
}

void view_done(struct view *view)
{
	cJSON_Delete(TAKE(view->record));
	cJSON_Delete(TAKE(view->disk));
}

const cJSON *view_noted(const struct view *view, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(view->record, key);
}

double view_noted_number(const struct view *view, const char *key)
{
	const cJSON *epochs = view_noted(view, "epochs");
	const cJSON *last = cJSON_GetArrayItem(epochs, cJSON_GetArraySize(epochs) - 1);
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(last, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}
