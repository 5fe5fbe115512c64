/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/want.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "traind/train.h"

#include <time.h>

bool want_look(struct train *train, struct run_want *ret_want)
{
	struct want *want = &train->want;
	struct error err;

	want->looked_us = clock_us();
	if (run_want_get(ret_want, &err) == 0) {
		want->unreadable = false;
		return true;
	}
	if (!want->unreadable)
		log_warning("%s; going on", err.text);
	want->unreadable = true;
	return false;
}

void want_open(struct train *train)
{
	struct run_want now = { 0 };

	(void)want_look(train, &now);
	train->want.checkpoint_seq = now.checkpoint_seq;
	train->want.looked_us = 0;
	train->want.rest = RUN_RUNNING;
}

int want_leave(struct train *train, enum run_state rest, const char *why, struct error *err)
{
	struct error state_err;

	train->want.rest = rest;
	if (rest == RUN_STOPPED && world_leads(&train->world) && run_state_set(RUN_STOPPING, &state_err) < 0)
		log_warning("%s", state_err.text);
	return error_set(err, -ECANCELED, "%s", why);
}

/* Returns why the run must leave now to write another checkpoint before the night is over, or the budget is
 * spent: that needs twice the time of the last checkpoint, plus a second. NULL: it need not. A jump of the
 * time of day moves the night, but not the budget. */
static const char *find_over(struct train *train)
{
	const uint64_t reserve_us = 2 * writer_took_us(&train->writer) + 1000000;
	const int64_t reserve_s = (int64_t)(reserve_us / 1000000);
	const struct run *run = &train->run;

	if (run->budget_ends_s && (int64_t)clock_boot_s() + reserve_s >= run->budget_ends_s)
		return "the budget of the series is spent";
	return run->ends_s && time(NULL) + reserve_s >= run->ends_s ? "the night is over" : NULL;
}

int want_check(struct train *train, const struct run_want *want, struct error *err)
{
	const char *over;

	if (want->state == RUN_STOPPED)
		return want_leave(train, RUN_STOPPED, "asked to stop", err);
	over = find_over(train);
	return over ? want_leave(train, RUN_EXPIRED, over, err) : 0;
}

int want_check_early(struct train *train, struct error *err)
{
	struct run_want want;
	const bool known = want_look(train, &want);

	train->want.looked_us = 0; /* read the request again before the first step */
	return known ? want_check(train, &want, err) : 0;
}

int want_check_in_wait(struct train *train, bool *ret_more, struct error *err)
{
	struct run_want want;

	*ret_more = false;
	if (!want_look(train, &want))
		return 0;
	train->want.looked_us = 0; /* obey() reads the request again at once */
	*ret_more = want.state == RUN_PAUSED || want.checkpoint_seq != train->want.checkpoint_seq;
	return want_check(train, &want, err);
}
