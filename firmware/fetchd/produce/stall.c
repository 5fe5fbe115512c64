/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/stall.h"

#include "core/base/clock.h"
#include "core/base/log.h"

#include <string.h>

#define SAID_US 100000u /* shorter waits are not in the log line */

/* Charges the wait until now to the stages that `shard`, the last to arrive, went through meanwhile; the
 * rest, or all without a shard, is charged to the last stage. */
static void charge(struct stall *stall, const struct shard *shard, uint64_t now_us)
{
	for (int stage = 0; shard && stage < STALL_GATHER; stage++) {
		uint64_t left_us = atomic_load_explicit(&shard->left_us[stage], memory_order_relaxed);

		if (left_us <= stall->since_us)
			continue;
		left_us = left_us < now_us ? left_us : now_us;
		stall->stalled_us[stage] += left_us - stall->since_us;
		stall->since_us = left_us;
	}
	stall->stalled_us[stall->last] += now_us - stall->since_us;
	stall->since_us = now_us;
}

void stall_look(struct stall *stall, bool waits)
{
	if (waits && !stall->waits)
		stall->since_us = clock_us();
	else if (!waits && stall->waits)
		charge(stall, NULL, clock_us());
	stall->waits = waits;
	stall->lacks = false;
}

void stall_lacks(struct stall *stall, struct stream *stream, struct window_id id)
{
	if (stall->lacks)
		return;
	stall->lacks = stall->lacked = true;
	stall->stream = stream;
	stall->id = id;
}

void stall_has(struct stall *stall, const struct window *window)
{
	if (!stall->lacked || window != stream_window(stall->stream, stall->id))
		return;
	stall->lacked = false;
	if (stall->waits)
		charge(stall, window->last, clock_us());
}

/* Returns the shard in the earliest stage, of those that the window waits for. */
static const struct shard *laggard(const struct window *window, bool has_cache)
{
	const struct shard *found = NULL;

	for (uint64_t k = 0; k < window->group.shards; k++) {
		const struct shard *shard = &window->shard[k];

		if (!atomic_load_explicit(&shard->left_us[STALL_PARSE], memory_order_relaxed) &&
		    (!found || shard_stage(shard, has_cache) < shard_stage(found, has_cache)))
			found = shard;
	}
	return found;
}

void stall_say(const struct stall *stall)
{
	char text[STALL_STAGES * 32] = "";
	uint64_t sum_us = 0;
	size_t used = 0;

	for (int stage = 0; stage < STALL_STAGES; stage++) {
		sum_us += stall->stalled_us[stage];
		if (stall->stalled_us[stage] >= SAID_US)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", %s %.1f s",
						 status_stage_name((enum stall_stage)stage),
						 (double)stall->stalled_us[stage] / 1e6);
	}
	log_info("the reader waited %.1f s for slots%s; the ring was full %.1f s", (double)sum_us / 1e6, text,
		 (double)stall->full_us / 1e6);
}

void stall_show(const struct stall *stall, bool has_cache, struct status_fetchd *status)
{
	const struct window *window = stall->lacked ? stream_window(stall->stream, stall->id) : NULL;
	const struct shard *shard =
		window && window->state == WINDOW_LOADING ? laggard(window, has_cache) : NULL;
	enum stall_stage stage = stall->lacked ? STALL_QUEUE : stall->last;

	if (shard)
		stage = shard_stage(shard, has_cache);
	memcpy(status->stalled_us, stall->stalled_us, sizeof(status->stalled_us));
	status->full_us = stall->full_us;
	status->stalled = stall->waits ? (uint32_t)stage + 1 : 0;
	(void)snprintf(status->stalled_key, sizeof(status->stalled_key), "%.*s",
		       (int)sizeof(status->stalled_key) - 1, stall->waits && shard ? shard->plan.key : "");
	/* A wait that goes on is charged for real when it ends. */
	if (stall->waits)
		status->stalled_us[stage] += clock_us() - stall->since_us;
}
