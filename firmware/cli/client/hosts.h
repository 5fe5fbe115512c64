/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one verb for several boxes. Each box gets a child process, so that all boxes are called at the same
 * time and a slow box does not delay the others. A child writes its output to a memory file. The parent
 * prints the files in the order of the list, with the box's name before each line.
 */
#pragma once

/* Runs `kiln --host LIST VERB`: calls run(argc, argv) once for each box of the list. argv[1] is the verb.
 * Returns the exit code of the verb for one box, hosts_sum_up() of all exit codes for several boxes. */
int hosts_run(const char *list, int (*run)(int argc, char **argv), int argc, char **argv);

/* Combines the exit codes of several boxes into one. Where some boxes did not answer: CLI_SOME_HOSTS, or
 * CLI_NO_HOST where no box answered. Otherwise CLI_ERROR or CLI_USAGE where a box has it. Otherwise the
 * largest code, but CLI_IDLE only where all boxes are idle. */
int hosts_sum_up(const int *codes, int count);
