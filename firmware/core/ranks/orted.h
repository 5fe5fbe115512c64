/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of orted, the daemon of Open MPI that starts the ranks of a job on one box. mpirun on the box
 * that leads makes them, and they come to this box over the network. So they are checked against a grammar:
 * exactly what mpirun of Open MPI 4.1 gives orted where core/ranks/launch.h starts it, and nothing that makes
 * orted load or run a file.
 *
 *     vector  = option...                    each name at most once
 *     option  = "-mca" NAME VALUE | "--mca" NAME VALUE
 *
 *     NAME                          VALUE
 *     ess                           env
 *     ess_base_jobid                1 .. 4294967295
 *     ess_base_vpid                 1 .. ess_base_num_procs - 1
 *     ess_base_num_procs            2 .. 1024
 *     orte_hnp_uri                  JOBID.0;tcp://ADDRESS[,ADDRESS...]:PORT, with addresses of ranks.network
 *     orte_node_regex               1 .. 2048 characters of [A-Za-z0-9.,:@()-] and [ ]; may be missing
 *     orte_leave_session_attached   1: orted stays the main process of its unit
 *     plm                           rsh; orted itself starts no other orted, because its unit has no agent
 *
 * Pure functions: any thread may call them.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/cidr.h"

#include <stdint.h>

#define ORTED_ARGUMENTS_MAX 24u   /* words of a vector: 8 options of 3 */
#define ORTED_WORD_MAX      2048u /* longest word in bytes */
#define ORTED_DAEMONS_MAX   1024u /* mpirun, and an orted on each other box */

struct orted_job {
	uint32_t id;    /* ess_base_jobid */
	uint32_t vpid;  /* which of the daemons this orted is; mpirun is 0 */
	uint32_t count; /* ess_base_num_procs: mpirun and the daemons on all boxes */
};

/* Checks a vector, without argv[0]. Errors: -EINVAL; the text says which argument, what was found and what is
 * allowed. */
MUST_CHECK int orted_check(const char *const *arguments, size_t count, const struct cidr *network,
			   struct orted_job *ret_job, struct error *err);
