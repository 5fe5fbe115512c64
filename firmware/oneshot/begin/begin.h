/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-oneshot begin: decides which run goes on, or makes a new one, and brings all that it needs to this
 * disk.
 *
 *     begin.c              decides, and makes sure that the run record exists
 *     fit.c                whether the data fit the configuration of a new run
 *     start.c              the weights that a new run starts with
 *     steps.c              the steps that a trial of a series shares with any other run
 *     trial.c              goes on with a series, or makes one (oneshot/series/after.h)
 *     slots.c              how many slots work on it tonight
 *     wait.c               a slot without work waits for the others
 *     overrides.c          the keys that run.start set for a single run
 *     unstarted.c          gives up an unfinished run that never started
 *     repeat.c             begin --from: repeats one run
 *     bring.c, weights.c   files from the store to this disk
 *     claim.c              ensures that no two boxes begin a run with the same id
 *     stored_record.c      the run.json of a run in the store
 *     box_stores.c         the stores of such a run are those of kiln.conf
 *     stored_checkpoint.c  the checkpoints of a run in the store
 *
 * Choice of the run:
 *
 *     record on this disk    store                             begin
 *     ---------------------  --------------------------------  ------------------------------------------
 *     unfinished             not asked                         goes on with this run
 *     unfinished, no plan    not asked                         gives the run up and begins a new one, where
 *       and no checkpoint                                      kiln.conf has changed since; else goes on
 *     final                  not asked                         begins a new run from kiln.conf
 *     none (a new disk)      this box's last run is            brings that run to this disk, goes on with it
 *                            unfinished
 *     none                   it is final, or there is none     begins a new run from kiln.conf
 *     any, except an         kiln start --adopt ID named an    brings that run to this disk, also where it
 *       unfinished run with  unfinished run                    is another machine's, and goes on with it
 *       another id
 *
 * An unfinished series goes before all of this, and a new series takes the place of a new run where kiln.conf
 * has trials (oneshot/series/after.h), unless kiln start asked for other values of a single run.
 *
 * The last run of this box is the newest one in the store whose record names this machine, and the stores of
 * kiln.conf (bring.h).
 *
 * An unfinished run keeps its frozen configuration, its plan and its newest checkpoint, so that it ends with
 * exactly the result that it would have had without the interruption. A new run gets the present kiln.conf.
 *
 * Threads: one.
 * Ownership: only begin makes run records, under the lock of core/run/run.h.
 * Crash: harmless at any point. The record of a new run is written completely under another name, then
 * renamed; the record of a run from the store is written last, after all other files. So the next attempt
 * finds either the old state or the complete record, and repeats the steps after that. From RUN_ASKED_FILE it
 * knows that a run is still to be begun.
 */
#pragma once

/* Prints the id of the run. Options: --config FILE, --from RUN.JSON and, with --from, --adopt;
 * --slots N, for slot 0: the caller can start N slots (core/base/slot.h), without it this one alone;
 * --series ID goes on with this series alone, and begins nothing else; --wait, for systemd: asks for the
 * units of the other slots (oneshot/night/start_slots.h), and where this slot has nothing to do, waits until
 * a trial of another one begins or ends. From slot 1 on it goes on with the unfinished series in this slot,
 * and begins nothing else.
 *
 * After a failure for which another attempt may help, waits and tries again in this process, until the night
 * ends; then exits with EXIT_NIGHT_OVER (oneshot/night/night.h). Exits with SERIES_EXIT_OVER
 * (core/series/series.h) where a series has ended, so that nothing is trained; with SERIES_EXIT_REST where
 * the series waits, for another night, too; and without --wait with SERIES_EXIT_WAIT where this slot has
 * nothing to do until a trial of another one ends. */
int oneshot_begin(int argc, char **argv);
