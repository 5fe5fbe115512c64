/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/night/due.h"
#include "core/box/night.h"

/* Where the timer elapses more than this after run.at, the start was missed: the box was off, or its clock
 * was wrong. */
#define LATE_S (15 * 60)

/* Returns whether the start is earlier than the configuration. A start in the same minute in which the
 * configuration was written is not earlier: run.at has whole minutes. A time of writing in the future is
 * ignored: it was noted while the clock was wrong. */
static bool is_before(int64_t start_s, const struct due_facts *facts)
{
	return facts->written_s >= 0 && start_s + 60 <= facts->written_s && facts->written_s <= facts->now_s;
}

enum due due_decide(const struct config *config, const struct due_facts *facts, int64_t *ret_late_s)
{
	const int64_t start_s = night_start(config, facts->now_s), late_s = facts->now_s - start_s;

	*ret_late_s = late_s;
	if (is_before(start_s, facts))
		return DUE_BEFORE;
	if (!night_is(config, facts->now_s))
		return DUE_OVER;
	if ((late_s > LATE_S || late_s > facts->uptime_s) && !config->run.catch_up)
		return DUE_MISSED;
	return DUE_NOW;
}
