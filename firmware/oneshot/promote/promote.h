/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promotion: after a night the model of its run, or the winner of its series, is judged against the champion,
 * and takes its place where it is better and not by chance.
 *
 *     promote.c    the verb: who is judged, against whom, what follows
 *     winner.c     finds the model
 *     judge.c      both models on the same records of the test split
 *     paired.c     whether a gain holds: pure
 *     champion.c   champion.json and its history
 *     install.c    the model takes the champion's place
 *     merge.c      commits, merges and tags it, in a sink with branches (with merge_kept.c, merge_commit.c)
 *     copies.c     copies the files of a model to the folders of a champion
 *     outcome.c    events, and notes in run.json and series.json
 *     request.c    what a person requests
 *     rollback.c   the former champion comes back
 *     ask.c        starts kiln-promote.service after a night
 *
 * One process of one thread, which systemd starts (kiln-promote.service), or a person. A lock keeps a second
 * one out. Crash: harmless at any point. Every step may be done again and then does the same: the test is the
 * same for the same records, the copies go below a number that nobody reads before champion.json names it,
 * and a model that is the champion already is not promoted a second time.
 */
#pragma once

/* Judges a model, and promotes it or not; or brings the former champion back: what the arguments or
 * PATH_RUNS/promote.json request (core/series/promote_request.h). Then, and without a request, judges the
 * model of the current run or series, where it has ended and is in the store, promote.against asks for it and
 * its record has no outcome yet.
 * [--series ID] [--trial NAME] [--force] [--rollback]
 * Exit codes, of the request where there is one: 0 promoted, brought back, kept, or nothing to do; 65
 * refused; those of an error. */
int oneshot_promote(int argc, char **argv);
