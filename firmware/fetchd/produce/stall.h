/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader waits for, by stage: the account behind "the reader waited 3.1 s for slots, transfer 2.0
 * s".
 *
 * How: while the reader waits for a slot, the producer notes which window it lacks. When that window is
 * there, the time of the wait is charged to stages by the notes of the shard that arrived last, as that shard
 * held the window up: from each of its notes (shard_leaves) to the next. What is left after its last note is
 * charged to gathering.
 *
 * The producer calls, with fetch->lock held.
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/windows/stream.h"

struct stall {
	bool waits;         /* the reader, at the last look */
	bool lacks, lacked; /* a window: at this step; since some step before */
	uint64_t since_us;  /* the wait that is not charged yet */
	struct stream *stream;
	struct window_id id; /* of the lacking window */
	uint64_t stalled_us[STALL_STAGES];
	uint64_t full_us; /* that the ring was full, and fetchd waited for the reader */
};

/* At each step of the producer, before it: whether the reader waits for a slot now. */
void stall_look(struct stall *stall, bool waits);

/* The step lacks a window; the first one of a step counts. */
void stall_lacks(struct stall *stall, struct stream *stream, struct window_id id);
/* The step uses a window: was it the one that lacked? */
void stall_has(struct stall *stall, const struct window *window);

/* One line into the log, at the end. */
void stall_say(const struct stall *stall);

/* The account, with the wait that goes on now, and the shard that it is for. */
void stall_show(const struct stall *stall, bool has_cache, struct status_fetchd *status);
