/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that read the status, the machine and the journal, and change nothing. */
#include "controld/methods/methods.h"
#include "controld/status/entries.h"
#include "controld/status/follow.h"
#include "controld/status/metrics.h"
#include "controld/status/node.h"
#include "controld/status/stalls.h"
#include "controld/status/status.h"

#include <string.h>
#include <syslog.h>

#define LINES_DEFAULT 50u

int method_status(struct call *call, struct error *err)
{
	call->result = status_object(call->box);
	return call->result ? 0 : call_no_memory(err);
}

int method_node_info(struct call *call, struct error *err)
{
	watch_sample(&call->box->watch);
	call->result = node_info(watch_newest(&call->box->watch, STATUS_TRAIND));
	return call->result ? 0 : call_no_memory(err);
}

int method_stalls(struct call *call, struct error *err)
{
	const struct status *fetchd, *traind;

	watch_sample(&call->box->watch);
	fetchd = watch_newest(&call->box->watch, STATUS_FETCHD);
	traind = watch_newest(&call->box->watch, STATUS_TRAIND);
	if (fetchd && traind && strcmp(fetchd->run_id, traind->run_id) != 0)
		traind = NULL;
	call->result = stalls_object(fetchd, traind);
	return call->result ? 0 : call_no_memory(err);
}

int method_metrics(struct call *call, struct error *err)
{
	CLEANUP(json_free) cJSON *status = status_object(call->box);
	CLEANUP(free_ptr) char *text = status ? metrics_text(status) : NULL;

	call->result = cJSON_CreateObject();
	if (text && cJSON_AddStringToObject(call->result, "content_type", METRICS_CONTENT_TYPE) &&
	    cJSON_AddStringToObject(call->result, "text", text))
		return 0;
	return call_no_memory(err);
}

/* ---- The journal ---- */

/* Puts the request's parameter "event" into the filter. */
static int filter_event(struct call *call, struct journal_filter *filter, struct error *err)
{
	const char *name = control_text(&call->request, "event", NULL);

	if (!name)
		return 0;
	filter->events = true;
	filter->event = event_by_name(name);
	if (filter->event)
		return 0;
	call->code = CONTROL_PARAMS;
	return error_set(err, -EINVAL, "%s: \"event\": there is no event \"%s\"", call->request.method->name,
			 name);
}

int method_log_tail(struct call *call, struct error *err)
{
	struct journal_filter filter = { .unit = control_text(&call->request, "unit", NULL),
					 .events = control_flag(&call->request, "events"),
					 .priority = control_integer(&call->request, "priority", 7) };
	uint64_t lines = control_integer(&call->request, "lines", LINES_DEFAULT);
	cJSON *entries = NULL;
	int r = filter_event(call, &filter, err);

	if (r < 0)
		return r;
	if ((r = entries_tail(&filter, lines, &entries, err)) < 0) {
		call->code = CONTROL_UNAVAILABLE;
		return r;
	}
	call->result = cJSON_CreateObject();
	return cJSON_AddItemToObject(call->result, "entries", entries) ? 0 : call_no_memory(err);
}

/* Opens call->follow; the session sends the events from there once the answer is queued. */
int method_events_subscribe(struct call *call, struct error *err)
{
	struct journal_filter filter = { .events = true, .priority = LOG_DEBUG };
	int r;

	if (call->calls->followers >= CONTROL_SUBSCRIBED_MAX) {
		call->code = CONTROL_LIMIT;
		return error_set(err, -EBUSY, "%u subscribers are there already", CONTROL_SUBSCRIBED_MAX);
	}
	if ((r = filter_event(call, &filter, err)) < 0 || (r = call_result_true(call, "subscribed", err)) < 0)
		return r;
	r = follow_open(control_text(&call->request, "since", NULL), &filter, &call->follow, err);
	if (r < 0)
		call->code = r == -EINVAL ? CONTROL_PARAMS : CONTROL_UNAVAILABLE;
	return r;
}
