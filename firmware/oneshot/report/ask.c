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

/* Starts the service instead of making the report here: the callers are root, and do not talk to the network.
 */
static int ask(bool wait, uint64_t wait_min, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	const uint64_t wait_s = (2 * wait_min + 2) * 60; /* posting, then uploading, and the work itself */
	int r = manager_open(&manager, err);

	if (r < 0)
		return r;
	if (!wait)
		return manager_start(manager, UNIT, err);
	r = manager_run(manager, UNIT, wait_s, err);
	/* Where the service was just ending, it had looked for nights before ours was over: run it once more.
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
	/* Look whether the night began before this boot: the timer may have begun another one since. */
	if (at_boot && tonight_get(&night, NULL) == 0 && night.before_boot)
		report_ask(&night, NULL);
	else if (any_has("night") || any_has("pending"))
		report_ask(NULL, NULL);
}
