/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/ask.h"
#include "core/base/log.h"
#include "drivers/manager/manager.h"

#define UNIT "kiln-report.service"

static bool any_has(const char *form)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	uint32_t count = 0;

	return report_list(form, &ids, &count, NULL) == 0 && count > 0;
}

/* Starts the service that makes the report. The report is not made here, because the calling programs run as
 * root and must not use the network.
 */
static int ask(bool wait, uint64_t wait_min, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	/* wait_min for the post, wait_min for the upload, and 2 minutes for the work itself */
	const uint64_t wait_s = (2 * wait_min + 2) * 60;
	int r = manager_open(&manager, err);

	if (r < 0)
		return r;
	if (!wait)
		return manager_start(manager, UNIT, err);
	r = manager_run(manager, UNIT, wait_s, err);
	/* The service may already have been running, and have looked for nights before ours ended: run it
	 * again.
	 */
	return r == 0 && any_has("night") ? manager_run(manager, UNIT, wait_s, err) : r;
}

void report_ask(const struct tonight *night, const struct config *wait)
{
	struct error err = { 0 };

	if (night && tonight_end(night->from_s, &err) < 0)
		log_warning("%s", err.text);
	if (ask(wait != NULL, wait ? wait->notify.wait_min : 0, &err) < 0)
		log_warning("%s; going on without the report of this night", err.text);
}

void report_ask_due(bool at_boot)
{
	struct tonight night;
	struct error err = { 0 };

	if (tonight_settle(&err) < 0)
		log_warning("%s", err.text);
	/* End only a night that began before this boot: the timer may have begun another one meanwhile. */
	if (at_boot && tonight_get(&night, NULL) == 0 && night.before_boot)
		report_ask(&night, NULL);
	else if (any_has("night") || any_has("pending"))
		report_ask(NULL, NULL);
}
