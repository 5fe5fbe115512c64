/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "fetchd/produce/produce.h"

#include <string.h>

#define SAID_US 100000u

/* ---- A shard's notes ---- */

void shard_leaves(struct shard *shard, enum stall_stage stage)
{
	atomic_store_explicit(&shard->left_us[stage], clock_us(), memory_order_relaxed);
}

void shard_forgets(struct shard *shard)
{
	for (int i = 0; i < STALL_STAGES; i++)
		atomic_store_explicit(&shard->left_us[i], 0, memory_order_relaxed);
}

void shard_notes_request(struct shard *shard, const struct http_times *times)
{
	/* A failed attempt before the newest one, or none. */
	const uint64_t retried_us = times->sent_us > times->first_us ? times->sent_us : 0;

	atomic_store_explicit(&shard->left_us[STALL_QUEUE], times->first_us, memory_order_relaxed);
	atomic_store_explicit(&shard->left_us[STALL_RETRY], retried_us, memory_order_relaxed);
	atomic_store_explicit(&shard->left_us[STALL_CONNECT], times->connected_us, memory_order_relaxed);
	atomic_store_explicit(&shard->left_us[STALL_FIRST_BYTE], times->answered_us, memory_order_relaxed);
}

/* The stage behind the last one that it has left. */
static enum stall_stage stage_of(const struct shard *shard)
{
	int stage = STALL_STAGES - 1;

	while (stage > 0 && !atomic_load_explicit(&shard->left_us[stage - 1], memory_order_relaxed))
		stage--;
	if (stage == 0)
		return shard->source->fetch->cache ? STALL_CACHE : STALL_QUEUE;
	return stage == STALL_RETRY ? STALL_CONNECT : (enum stall_stage)stage;
}

/* ---- The reader's waits ---- */

/* What is left of the wait after a shard's last note is the gathering's. */
static void charge(struct producer *producer, const struct shard *shard)
{
	uint64_t *stalled_us = producer->status.fetchd.stalled_us, now_us = clock_us();
	struct stall *stall = &producer->stall;

	for (int stage = 0; shard && stage < STALL_GATHER; stage++) {
		uint64_t left_us = atomic_load_explicit(&shard->left_us[stage], memory_order_relaxed);

		if (left_us <= stall->since_us)
			continue;
		left_us = left_us < now_us ? left_us : now_us;
		stalled_us[stage] += left_us - stall->since_us;
		stall->since_us = left_us;
	}
	stalled_us[STALL_GATHER] += now_us - stall->since_us;
	stall->since_us = now_us;
}

void stall_look(struct producer *producer)
{
	struct stall *stall = &producer->stall;
	bool waits = !producer->closed && ring_reader_waits(producer->fetch->ring);

	if (waits && !stall->waits)
		stall->since_us = clock_us();
	else if (!waits && stall->waits)
		charge(producer, NULL);
	stall->waits = waits;
	stall->lacks = false;
}

void stall_lacks(struct producer *producer, struct stream *stream, struct place place)
{
	struct stall *stall = &producer->stall;

	if (stall->lacks)
		return;
	stall->lacks = stall->lacked = true;
	stall->stream = stream;
	stall->place = place;
}

void stall_has(struct producer *producer, const struct window *window)
{
	struct stall *stall = &producer->stall;

	if (!stall->lacked || window != stream_window(stall->stream, stall->place))
		return;
	stall->lacked = false;
	if (stall->waits)
		charge(producer, window->last);
}

/* Of the shards that the window still waits for, the one that is least far. */
static const struct shard *laggard(const struct window *window)
{
	const struct shard *found = NULL;

	for (uint64_t k = 0; k < window->shards; k++) {
		const struct shard *shard = &window->shard[k];

		if (!atomic_load_explicit(&shard->left_us[STALL_PARSE], memory_order_relaxed) &&
		    (!found || stage_of(shard) < stage_of(found)))
			found = shard;
	}
	return found;
}

void stall_say(const struct producer *producer)
{
	const struct status_fetchd *status = &producer->status.fetchd;
	char text[STALL_STAGES * 32] = "";
	uint64_t sum_us = 0;
	size_t used = 0;

	for (int stage = 0; stage < STALL_STAGES; stage++) {
		sum_us += status->stalled_us[stage];
		if (status->stalled_us[stage] >= SAID_US)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", %s %.1f s",
						 status_stage_name((enum stall_stage)stage),
						 (double)status->stalled_us[stage] / 1e6);
	}
	log_info("the reader waited %.1f s for slots%s; the ring was full %.1f s", (double)sum_us / 1e6, text,
		 (double)status->full_us / 1e6);
}

void stall_show(const struct producer *producer, struct status_fetchd *status)
{
	const struct stall *stall = &producer->stall;
	const struct window *window = stall->lacked ? stream_window(stall->stream, stall->place) : NULL;
	const struct shard *shard = window && window->state == WINDOW_LOADING ? laggard(window) : NULL;
	enum stall_stage stage = shard ? stage_of(shard) : stall->lacked ? STALL_QUEUE : STALL_GATHER;

	status->stalled = stall->waits ? (uint32_t)stage + 1 : 0;
	(void)snprintf(status->stalled_key, sizeof(status->stalled_key), "%.*s",
		       (int)sizeof(status->stalled_key) - 1, stall->waits && shard ? shard->plan.key : "");
	/* As far as it goes: the rest is charged when it ends. */
	if (stall->waits)
		status->stalled_us[stage] += clock_us() - stall->since_us;
}
