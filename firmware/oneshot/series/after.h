/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneshot/series: the nights of a series (core/series/series.h). A trial is an ordinary run.
 *
 *     freeze.c        the record of a new series; the configuration of a trial
 *     after.c         a run has ended: notes what the trial did, and says whether another one follows
 *     end.c           the last trial has ended, or the budget is spent: the winner
 *     note.c, spent.c what the record says of a trial, and of the time of work
 *
 * Owners: these files write series.json, as do begin/trial*.c, begin/slots.c and promote/outcome.c, in
 * kiln-oneshot begin, finished and promote. Each slot (core/base/slot.h) has its own begin and finished,
 * which systemd never runs at the same time; those of several slots take turns by series_lock(). One thread.
 *
 * Slots: begin writes into series.json which trial a slot takes before it makes the trial's run, so that no
 * other slot takes it, also after a crash. The slot whose trial ends last ends the series. Where the series
 * is to end earlier (stop_on_failure, the budget), the trials of other slots come to their end first.
 *
 * Crash: harmless at any point. A change of a run's record comes before the note of it in series.json, and
 * each is one rename. The record of a run names its series and its trial, so the next process finds what the
 * one before did not note: it is noted then, and the series goes on from there. No trial runs twice, because
 * a trial whose run exists is continued by this run.
 */
#pragma once

#include "core/config/config.h"
#include "core/series/series.h"

enum after {
	AFTER_NO_SERIES, /* the current run is no trial of an unfinished series */
	AFTER_NEXT,      /* another trial follows in this slot: a new kiln-oneshot begin runs it */
	AFTER_WAIT,      /* nothing to do in this slot, until a trial of another slot ends */
	AFTER_REST,      /* the series waits: stopped, or its night is over, or its run has halted */
	AFTER_OVER,      /* the series has ended: the current run is that of its winner */
	AFTER_GIVEN_UP,  /* the series has ended, because a person gave it up */
};

/* Notes what the current run of this slot, which is at rest, did as a trial of the unfinished series, and
 * decides what follows. May be called again after a crash. Blocks: while the disk is full, or another process
 * holds series_lock(). */
MUST_CHECK int after_run(enum after *ret_after, struct error *err);

/* The same for a record that the caller has loaded under series_lock(). */
MUST_CHECK int after_run_of(cJSON *series, enum after *ret_after, struct error *err);

/* Notes the run of this slot as after_run_of() does, where it is final and a trial of the series, and moves
 * it to the archive. Decides nothing. */
MUST_CHECK int after_final_run(cJSON *series, const struct config *config, struct error *err);

/* A service of the run has ended with an exit code for which a restart does not help. Where the run is an
 * unfinished trial, and the reason lies in its data or its configuration, the run fails, so that the others
 * go on. Returns 1 where it has failed. */
MUST_CHECK int after_failure(int exit_code, const char *reason, struct error *err);

/* The unfinished series, where there is one, waits: a service that a trial needs cannot work, and another
 * trial could not either. The next night, or kiln start, goes on. */
MUST_CHECK int after_halt(struct error *err);
/* The unfinished series, where there is one, waits: its night is over before a trial could begin or go on.
 * The next night goes on. */
MUST_CHECK int after_night(struct error *err);
/* Returns when the present night of the unfinished series was asked for; now, where none is unfinished. */
int64_t after_since(void);

/* Returns 1 where the series of the night that was asked for at `since` has ended, else 0. The last trial may
 * end in another slot at the moment when slot 0 begins its next one. A series that a person gave up, or none
 * of whose trials had begun, does not count: a new one takes its place. */
MUST_CHECK int after_has_ended(int64_t since, struct error *err);

/* Tells whether a series is at work: after a boot it goes on. */
bool after_goes_on(void);
/* Tells whether an unfinished series waits for its next night. Slot 0 may have no run then. */
bool after_rests(void);

/* The verb: notes the trial that has ended, for `kiln run`. Exits with 0 where another trial follows, else
 * with an enum series_exit. Options: --code CODE, the exit code of the daemon that ended. */
int oneshot_trial_ended(int argc, char **argv);
