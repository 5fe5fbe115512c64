/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader waits for, by stage: the account of "the reader waited 3.1 s for slots, transfer 2.0 s".
 *
 * How: while the reader waits for a slot, the producer notes which window it lacks. When that window is
 * there, the wait is charged to the stages of the shard that arrived last, as that shard held the window up.
 * The shard has a note of when it left each stage (shard_leaves); the time between two notes belongs to the
 * later one's stage. The time after the last note is charged to gathering; where records have pictures, whose
 * decoding takes nearly all of that time, to decoding.
 *
 * The producer calls, with fetch->lock held.
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/windows/stream.h"

struct stall {
	enum stall_stage last; /* STALL_GATHER or STALL_DECODE: what fills the slots */
	bool waits;            /* the reader waited at the last look */
	bool lacks, lacked;    /* the producer lacks a window: at this step; since some step before */
	uint64_t since_us;     /* start of the part of the wait that is not charged yet */
	struct stream *stream; /* stream and id of the window that is lacking */
	struct window_id id;
	uint64_t stalled_us[STALL_STAGES];
	uint64_t full_us; /* time that the ring was full, and fetchd waited for the reader */
};

/* Call before each step of the producer; `waits`: the reader waits for a slot now. */
void stall_look(struct stall *stall, bool waits);

/* The step lacks a window; the first call of a step counts. */
void stall_lacks(struct stall *stall, struct stream *stream, struct window_id id);
/* The step uses a window: if it is the window that was lacking, charges the wait. */
void stall_has(struct stall *stall, const struct window *window);

/* Writes the account into the log, at the end of the run. */
void stall_say(const struct stall *stall);

/* Writes the account into the status, with the wait that goes on now and the shard that the reader waits for.
 */
void stall_show(const struct stall *stall, bool has_cache, struct status_fetchd *status);
