/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/watch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define STALE_US 15000000u

void watch_sample(struct watch *watch)
{
	for (int daemon = 0; daemon < STATUS_DAEMONS; daemon++) {
		struct watched *of = &watch->of[daemon];
		const struct status *last = of->count ? &of->sample[of->count - 1] : NULL;
		struct status now;

		if (status_read((enum status_daemon)daemon, &now, NULL) < 0) {
			of->count = 0;
			continue;
		}
		if (last && (last->started_us != now.started_us || last->pid != now.pid))
			of->count = 0;
		else if (last && last->updated_us == now.updated_us)
			continue;
		if (of->count == WATCH_SAMPLES)
			memmove(&of->sample[0], &of->sample[1], --of->count * sizeof(now));
		of->sample[of->count++] = now;
	}
}

const struct status *watch_newest(const struct watch *watch, enum status_daemon daemon)
{
	const struct watched *of = &watch->of[daemon];

	return of->count ? &of->sample[of->count - 1] : NULL;
}

const struct status *watch_oldest(const struct watch *watch, enum status_daemon daemon)
{
	const struct watched *of = &watch->of[daemon];

	return of->count > 1 ? &of->sample[0] : NULL;
}

bool watch_is_alive(const struct status *status)
{
	return status->pid > 0 && (kill(status->pid, 0) == 0 || errno == EPERM);
}

double watch_rate(const struct watch *watch, enum status_daemon daemon, size_t offset)
{
	const struct watched *of = &watch->of[daemon];
	const struct status *first = &of->sample[0], *last = watch_newest(watch, daemon);
	struct timespec now;
	uint64_t from, to;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (!last || of->count < 2 || !watch_is_alive(last) || last->updated_us <= first->updated_us ||
	    (uint64_t)now.tv_sec * 1000000u > last->updated_us + STALE_US)
		return NAN;
	memcpy(&from, (const char *)first + offset, sizeof(from));
	memcpy(&to, (const char *)last + offset, sizeof(to));
	return to < from ? NAN : (double)(to - from) * 1e6 / (double)(last->updated_us - first->updated_us);
}
