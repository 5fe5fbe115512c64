/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/asking.h"
#include "core/base/log.h"
#include "core/run/later.h"

#include <string.h>

#define PAUSE_US     (60 * UINT64_C(1000000))
#define PAUSE_MAX_US (30 * PAUSE_US)

void asking_judgement(struct asking *asking, const char *run_id)
{
	struct error err;

	if (strcmp(asking->run_id, run_id) != 0) {
		*asking = (struct asking){ 0 };
		(void)snprintf(asking->run_id, sizeof(asking->run_id), "%s", run_id);
	}
	if (!pause_is_over(&asking->pause, PAUSE_US, PAUSE_MAX_US))
		return;
	log_info("%s: its model can be judged", run_id);
	if (later_ask(LATER_JUDGE, &err) < 0)
		log_warning("%s; the model is judged after the next boot", err.text);
}

void asking_report(struct pause *pause)
{
	struct error err;

	if (!later_is_noted(LATER_REPORT) || !pause_is_over(pause, PAUSE_US, PAUSE_MAX_US))
		return;
	if (later_ask(LATER_REPORT, &err) < 0)
		log_warning("%s; the report goes with the next one", err.text);
}
