/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/refusals.h"
#include "core/base/events.h"

void refusals_begin(struct refusals *refusals)
{
	if (!refusals->told)
		refusals->told = cJSON_CreateObject();
	refusals->first.code = 0;
}

void refusals_done(struct refusals *refusals)
{
	cJSON_Delete(TAKE(refusals->told));
}

static void note(struct refusals *refusals, const struct error *err)
{
	if (!refusals->first.code)
		refusals->first = *err;
}

void refusals_of_run(struct refusals *refusals, const char *id, const struct error *err)
{
	note(refusals, err);
	if (cJSON_GetObjectItemCaseSensitive(refusals->told, id))
		return;
	(void)cJSON_AddTrueToObject(refusals->told, id);
	event_send(&(struct event){ .id = EVENT_TRACKING_REFUSED, .run_id = id }, "%s: %s, leaving it out",
		   id, err->text);
}

void refusals_of_champion(struct refusals *refusals, const char *run, const struct error *err)
{
	note(refusals, err);
	event_send(&(struct event){ .id = EVENT_TRACKING_REFUSED, .run_id = run },
		   "champion %s: %s, leaving it out", run, err->text);
}
