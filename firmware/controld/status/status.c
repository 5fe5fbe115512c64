/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/status.h"
#include "controld/status/clock.h"
#include "controld/status/entries.h"
#include "controld/status/figure.h"
#include "controld/status/health.h"
#include "controld/status/node.h"
#include "controld/status/series.h"
#include "controld/status/training.h"
#include "controld/status/update.h"
#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/box/image.h"
#include "core/box/reports.h"
#include "core/ranks/members.h"
#include "drivers/clock/rtc.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA       1
#define ERRORS_SHOWN 5u
#define ERRORS_MS    5000u /* time between two reads of the journal, at least */

static void add_daemons(cJSON *object, const struct watch *watch)
{
	cJSON *daemons = cJSON_AddObjectToObject(object, "daemons"), *daemon;

	for (int i = 0; i < STATUS_DAEMONS; i++) {
		const struct status *page = watch_newest(watch, (enum status_daemon)i);
		const char *name = status_daemon_name((enum status_daemon)i);

		if (!page) {
			(void)cJSON_AddNullToObject(daemons, name);
			continue;
		}
		daemon = cJSON_AddObjectToObject(daemons, name);
		(void)cJSON_AddBoolToObject(daemon, "alive", watch_is_alive(page));
		(void)cJSON_AddNumberToObject(daemon, "pid", page->pid);
		figure_text(daemon, "run", *page->run_id ? page->run_id : NULL);
		figure_text(daemon, "phase", page->phase);
		figure_text(daemon, "text", page->text);
		(void)json_add_u64(daemon, "started_s", page->started_us / 1000000);
		(void)json_add_u64(daemon, "updated_s", page->updated_us / 1000000);
	}
}

static void add_errors(cJSON *object, struct box *box)
{
	static const struct journal_filter errors = { .priority = 3 };
	uint64_t now = clock_ms();
	cJSON *found = NULL;

	if (!box->errors || now - box->errors_ms > ERRORS_MS) {
		box->errors_ms = now;
		if (entries_tail(&errors, ERRORS_SHOWN, &found, NULL) < 0)
			found = cJSON_CreateNull();
		cJSON_Delete(box->errors);
		box->errors = found;
	}
	(void)cJSON_AddItemToObject(object, "errors", cJSON_Duplicate(box->errors, true));
}

/* Adds whether the time of day can be trusted, and if not, why. */
static void add_clock(cJSON *object)
{
	const bool set = clock_is_set();
	struct error err;

	(void)cJSON_AddBoolToObject(object, "clock_set", set);
	figure_text(object, "clock",
		    set ? NULL
		    : rtc_check(&err) == 0
			    ? "no time server has set it: the time is that of this box's hardware clock (RTC)"
			    : err.text);
}

static void add_network(cJSON *object, struct box *box)
{
	char text[1024];

	figure_text(object, "network", conf_network(&box->conf, text, sizeof(text)));
	figure_text(object, "boxes", ranks_members_text(text, sizeof(text)));
}

/* Adds all other members to an object that has its schema number already. */
static void add_all(cJSON *object, struct view *view)
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	(void)json_add_u64(object, "time_s", view->now_us / 1000000);
	figure_text(object, "host", host);
	figure_text(object, "version", KILN_VERSION);
	(void)image_add(object);
	health_add(object, view);
	add_clock(object);
	add_network(object, view->box);
	training_add_run(object, view);
	series_add(object, view);
	training_add_work(object, view);
	(void)cJSON_AddItemToObject(object, "disk", TAKE(view->disk));
	(void)cJSON_AddItemToObject(object, "temperatures", node_temperatures());
	(void)cJSON_AddItemToObject(object, "update", update_object());
	(void)cJSON_AddItemToObject(object, "report", report_newest());
	add_daemons(object, &view->box->watch);
	add_errors(object, view->box);
}

cJSON *status_object(struct box *box)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(view_done) struct view view = { 0 };

	view_open(&view, box);
	if (!view.disk || !cJSON_AddNumberToObject(object, "schema", SCHEMA))
		return NULL;
	add_all(object, &view);
	return TAKE(object);
}
