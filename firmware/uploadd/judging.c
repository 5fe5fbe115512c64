/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/judging.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/run/unjudged.h"

#include <string.h>

#define PAUSE_US     (60 * UINT64_C(1000000))
#define PAUSE_MAX_US (30 * PAUSE_US)

void judging_ask(struct judging *judging, const char *run_id)
{
	const uint64_t now = clock_us();
	struct error err;

	if (strcmp(judging->run_id, run_id) != 0) {
		*judging = (struct judging){ .pause_us = PAUSE_US };
		(void)snprintf(judging->run_id, sizeof(judging->run_id), "%s", run_id);
	}
	if (now < judging->at_us)
		return;
	judging->at_us = now + judging->pause_us;
	if (judging->pause_us < PAUSE_MAX_US)
		judging->pause_us *= 2;
	log_info("%s: its model can be judged", run_id);
	if (unjudged_ask(&err) < 0)
		log_warning("%s; the model is judged after the next boot", err.text);
}
