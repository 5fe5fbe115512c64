/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How Open MPI is started: the words and the environment of mpirun on the box that leads a job, and the
 * environment of orted on the other boxes. mpirun calls `kiln-oneshot ranks-agent BOX orted ...` for each
 * other box, and the agent has the box's kiln-controld start kiln-rank@JOB.service. Ranks of one box alone
 * need none of this: mpirun starts them as its children.
 *
 * Open MPI takes its parameters from the environment, OMPI_MCA_*, and from nowhere else: HOME is `folder`,
 * so there are no files of a user. Parameters in the words of mpirun would go on to orted's
 * words, which core/ranks/orted.h keeps as few as possible; so each box sets its own from its own kiln.conf.
 *
 * Pure functions: they start nothing. Any thread may call them.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define RANKS_MPIRUN     "/usr/bin/mpirun"
#define RANKS_ORTED      "/usr/bin/orted"
#define RANKS_JOB_NAME   "KILN_JOB"     /* variable by which the agent knows the job */
#define RANKS_FOLLOWS    "KILN_FOLLOWS" /* variable of the ranks that another box leads */
#define RANKS_LISTED_MAX 48u

/* Texts for execve(2), NULL at the end. */
struct ranks_texts {
	char *text[RANKS_LISTED_MAX + 1];
	size_t count;
};
void ranks_texts_done(struct ranks_texts *texts);

/* What both sides need. */
struct ranks_job_wish {
	const char *name;    /* of the job, core/ranks/job.h */
	const char *folder;  /* for temporary files of Open MPI, and memory that the ranks of the box share */
	const char *network; /* ranks.network: the only network that Open MPI uses */
	const char *oneshot; /* path of kiln-oneshot */
};

/* Makes the environment of orted on a box that another box leads. Errors: -ENOMEM. */
MUST_CHECK int ranks_orted_environment(const struct ranks_job_wish *job, struct ranks_texts *ret_environment,
				       struct error *err);

struct ranks_box {
	const char *host; /* of this box: its own host name; of another: the name in its certificate */
	uint32_t ranks;   /* how many of the job's ranks run there, 1 .. */
};

struct ranks_launch {
	struct ranks_job_wish job;
	const char *pki;               /* folder with ca.crt, client.crt and client.key of the role ranks */
	const struct ranks_box *boxes; /* this box first: the ranks count from 0 in this order */
	size_t count;
	const char *const *program; /* path and arguments of each rank, NULL at the end */
};

/* Makes the words of RANKS_MPIRUN, and the variables that are set beside those that the process has. The
 * first word is no path: with a path mpirun would put commands of a shell before orted, which set PATH.
 * Errors: -EINVAL no box, or a box without ranks, or too many words; -ENOMEM. */
MUST_CHECK int ranks_mpirun(const struct ranks_launch *launch, struct ranks_texts *ret_words,
			    struct ranks_texts *ret_environment, struct error *err);

/* Several ranks of this box, without other boxes. */
struct ranks_alone {
	uint32_t ranks;
	const char *folder;         /* for temporary files of Open MPI, and memory that the ranks share */
	const char *const *program; /* path and arguments of each rank, NULL at the end */
};

/* Makes the words of RANKS_MPIRUN, and the variables that are set beside those that the process has: the
 * ranks need the paths of OpenCL drivers and of Kiln. Errors: -EINVAL too many words; -ENOMEM. */
MUST_CHECK int ranks_mpirun_alone(const struct ranks_alone *alone, struct ranks_texts *ret_words,
				  struct ranks_texts *ret_environment, struct error *err);
