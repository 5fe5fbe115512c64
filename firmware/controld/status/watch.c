/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/controld.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define STALE_US 15000000u

void watch_sample(struct server *server)
{
	for (int daemon = 0; daemon < STATUS_DAEMONS; daemon++) {
		struct watch *watch = &server->watch[daemon];
		const struct status *last = watch->count ? &watch->sample[watch->count - 1] : NULL;
		struct status now;

		if (status_read((enum status_daemon)daemon, &now, NULL) < 0) {
			watch->count = 0;
			continue;
		}
		if (last && (last->started_us != now.started_us || last->pid != now.pid))
			watch->count = 0;
		else if (last && last->updated_us == now.updated_us)
			continue;
		if (watch->count == WATCH_SAMPLES)
			memmove(&watch->sample[0], &watch->sample[1], --watch->count * sizeof(now));
		watch->sample[watch->count++] = now;
	}
}

const struct status *watch_newest(const struct server *server, enum status_daemon daemon)
{
	const struct watch *watch = &server->watch[daemon];

	return watch->count ? &watch->sample[watch->count - 1] : NULL;
}

bool watch_is_alive(const struct status *status)
{
	return status->pid > 0 && (kill(status->pid, 0) == 0 || errno == EPERM);
}

double watch_rate(const struct server *server, enum status_daemon daemon, size_t offset)
{
	const struct watch *watch = &server->watch[daemon];
	const struct status *first = &watch->sample[0], *last = watch_newest(server, daemon);
	struct timespec now;
	uint64_t from, to;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (!last || watch->count < 2 || !watch_is_alive(last) || last->updated_us <= first->updated_us ||
	    (uint64_t)now.tv_sec * 1000000u > last->updated_us + STALE_US)
		return NAN;
	memcpy(&from, (const char *)first + offset, sizeof(from));
	memcpy(&to, (const char *)last + offset, sizeof(to));
	return to < from ? NAN : (double)(to - from) * 1e6 / (double)(last->updated_us - first->updated_us);
}
