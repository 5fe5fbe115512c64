/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator wants of the run (core/run/run.h, struct run_want), and when the night of the run is
 * over: the reasons for which the main thread stops training. A request that cannot be read changes nothing.
 * Main thread only.
 */
#pragma once

#include "core/run/run.h"
#include "traind/stages.h"

struct train;

struct want {
	uint64_t looked_us;      /* when the request was read last; 0: read it again at once */
	uint64_t checkpoint_seq; /* number of the last checkpoint request that was obeyed */
	bool unreadable;         /* the request cannot be read, and that is logged already */
	/* the state of the run after -ECANCELED; RUN_RUNNING: the next start goes on with the run */
	enum run_state rest;
	bool pause;        /* the run is paused */
	enum stage before; /* the stage before the pause */
	bool rung;         /* `rest` is RUN_STOPPED because a rung has ended: nobody asked for it */
};

/* Reads the request for the first time. A checkpoint that was requested from an earlier process is not due
 * again. */
void want_open(struct train *train);
/* Reads the request. False: it cannot be read. */
bool want_look(struct train *train, struct run_want *ret_want);
/* Returns -ECANCELED, by want_leave(), if the run must stop, or if its night ends before another checkpoint
 * could be written. */
MUST_CHECK int want_check(struct train *train, const struct run_want *want, struct error *err);
/* Calls want_look() and want_check() before there is anything to write into a checkpoint. */
MUST_CHECK int want_check_early(struct train *train, struct error *err);
/* Calls want_look() and want_check() during a wait. *ret_more: the operator requests a pause or a checkpoint,
 * which obey() must carry out. */
MUST_CHECK int want_check_in_wait(struct train *train, bool *ret_more, struct error *err);
/* Returns -ECANCELED with the text `why`; the run gets the state `rest`. */
MUST_CHECK int want_leave(struct train *train, enum run_state rest, const char *why, struct error *err);
