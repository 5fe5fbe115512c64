/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a job on several boxes (core/ranks/job.h, core/ranks/launch.h):
 *
 *     leading box                                     other box
 *     kiln-traind -> kiln-oneshot lead ->
 *     mpirun -> kiln-oneshot ranks-agent --mutual TLS--> kiln-controld -> kiln-rank@JOB.service:
 *                                                        kiln-oneshot rank -> orted -> ranks
 *                                                        kiln-rank-begin@JOB.service: kiln-oneshot rank-begin
 *                                                        kiln-rank-fetchd@JOB.service: kiln-fetchd
 *
 * Each verb is one process of one thread. Crash: a killed agent ends the connection, so the other box stops
 * its unit. A killed mpirun ends its agents.
 */
#pragma once

/* kiln-traind becomes this verb where other boxes train with this one. The verb finds out which of
 * ranks.boxes are there, notes them (core/ranks/members.h), and becomes mpirun. */
int oneshot_lead(int argc, char **argv);
/* Called by mpirun in the place of ssh. Has the box HOST start orted, and ends when orted has ended there,
 * with its exit code. */
int oneshot_ranks_agent(int argc, char **argv);
/* Main program of kiln-rank-begin@JOB.service: brings record and plan of the run from the store. */
int oneshot_rank_begin(int argc, char **argv);
/* Main program of kiln-rank@JOB.service: becomes orted, with the arguments of the unit's credential. */
int oneshot_rank(int argc, char **argv);
