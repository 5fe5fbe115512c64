/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-oneshot begin: decides which run goes on or is made, and brings all that this run needs to this disk.
 *
 *     begin.c              decides, and makes the run record
 *     start.c              the weights that a new run starts with
 *     overrides.c          the keys that run.start changes for one run only
 *     unstarted.c          gives up an unfinished run that never started
 *     repeat.c             begin --from: repeats a run
 *     bring.c, weights.c   files from the store to this disk
 *     claim.c              makes sure that no two boxes begin a run with the same id
 *     stored_record.c      the run.json of a run in the store
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
 *     none (a new disk)      newest run of run.name is         brings that run back and goes on with it
 *                            unfinished and this box's
 *     none                   newest one is unfinished and      leaves it alone, looks at the run before it
 *                            another machine's
 *     none                   final, or no run at all           begins a new run from kiln.conf
 *     any but an unfinished  kiln start --adopt ID named an    brings that run back, whichever box began it
 *       run of another id    unfinished run
 *
 * An unfinished run keeps its frozen configuration, its plan and its newest checkpoint, so that it ends with
 * the very result that it would have had without the interruption. A new run is made from the current
 * kiln.conf.
 *
 * Threads: one. Ownership: begin alone makes run records, under the lock of core/run/run.h.
 * Crash: at any point. The record of a new run is made whole beside the current one and renamed into its
 * place; a run that comes from the store gets its record last, after all its files. So the next attempt finds
 * either the state before or the finished record, and does the rest again. RUN_ASKED_FILE tells the next
 * attempt that a run is still to be begun.
 */
#pragma once

/* Prints the id of the run. Options: --config FILE or --from RUN.JSON. Waits and tries again, in this
 * process, for as long as a failure may pass and the night lasts. Exits with EXIT_NIGHT_OVER
 * (oneshot/night/expire.h) where the night ended first. */
int oneshot_begin(int argc, char **argv);
