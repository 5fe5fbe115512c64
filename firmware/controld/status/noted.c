/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/noted.h"

#include "controld/status/status.h"
#include "core/base/log.h"
#include "core/box/box_health.h"

void noted_sweep(struct box *box, uint64_t now_ms)
{
	CLEANUP(json_free) cJSON *status = NULL;
	const char *state;
	struct error err;

	if (box->noted_ms && now_ms - box->noted_ms < BOX_HEALTH_EVERY_S * 1000u)
		return;
	box->noted_ms = now_ms;
	status = status_object(box);
	state = cJSON_GetStringValue(json_member(status, "state"));
	if (state && box_health_write(state, cJSON_GetStringValue(json_member(status, "why")), &err) < 0)
		log_warning("%s; nobody is told of what is wrong in a night", err.text);
}
