/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a verb for several boxes, with a child process for each box: all boxes are asked at the same time, and
 * a slow box delays no other. A child writes to a file in memory; the parent prints each file with the box's
 * name in front of each line, in the order of the list.
 */
#pragma once

/* Runs `kiln --host LIST VERB`: calls run(argc, argv) once a box of the list, argv[1] is the verb. Returns
 * the exit code: the verb's own for one box, the sum of all for several. */
int hosts_run(const char *list, int (*run)(int argc, char **argv), int argc, char **argv);

/* Sums up the exit codes of several boxes. Boxes without an answer count first: CLI_SOME_HOSTS, or
 * CLI_NO_HOST where all of them gave none. Then a refusal, CLI_ERROR or CLI_USAGE. Then the largest code,
 * where CLI_IDLE counts only if all boxes are idle. */
int hosts_sum_up(const int *codes, int count);
