/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: the ranks of one run on several boxes, which mpirun on the leading box starts. On each other box the
 * job is kiln-rank@NAME.service, with one orted and the ranks below it, and kiln-rank-fetchd@NAME.service,
 * which fetches the records of these ranks. Files of the job NAME:
 *
 *     /run/kiln/ranks/NAME.json   {"run", "plan", "arguments"}, the parameters of rank.start; mode 0600:
 *                                 kiln-controld writes it, systemd hands it to the units as a credential
 *     /run/kiln/job-NAME          record, plan and status pages of the run, as kiln-rank-begin@NAME.service
 *                                 gets them from the store; its units see them in the usual places
 *     /run/kiln/rank-NAME         temporary folder of orted or mpirun and of the ranks; systemd makes and
 *                                 removes it with the unit
 *
 * Crash: a file that is left belongs to a job that nobody owns any more; kiln-controld stops that job when it
 * starts.
 */
#pragma once

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/control/control.h"
#include "core/run/run.h"

#define RANKS_JOB_BYTES      (RANKS_JOB_MAX + 1)
#define RANKS_UNIT_BYTES     64u
#define RANKS_CREDENTIAL     "job" /* name of the units' credential */
#define RANKS_JOB_ALLOWED    "1 .. 32 characters of [A-Za-z0-9_-], the first a letter or a digit"
#define RANKS_JOB_FILE_BYTES (128u << 10)

/* Tells whether a text can be the name of a job. */
bool ranks_job_is_name(const char *text);
/* Writes the name of the job's unit. Returns out. */
const char *ranks_job_unit(const char *name, char out[static RANKS_UNIT_BYTES]);
/* The same of the unit with which all others of the job but the first end, and of its kiln-fetchd's. */
const char *ranks_job_begin_unit(const char *name, char out[static RANKS_UNIT_BYTES]);
const char *ranks_job_fetchd_unit(const char *name, char out[static RANKS_UNIT_BYTES]);
/* Writes the path of the job's temporary folder. Returns out. */
const char *ranks_job_folder(const char *name, char out[static PATH_BYTES]);

/* Writes the file of a new job, with checked parameters of rank.start. Errors: -EEXIST the box has a job of
 * this name. */
MUST_CHECK int ranks_job_write(const char *name, const cJSON *params, struct error *err);
/* Removes the file. A missing file is no error. */
void ranks_job_remove(const char *name);
/* Calls see() with the name of each file that is there. */
void ranks_job_each(void (*see)(void *context, const char *name), void *context);

/* The arguments of a job. */
struct ranks_arguments {
	cJSON *json;
	const char **words; /* NULL at the end; they belong to `json` */
	size_t count;
};
/* Makes the words of an array of strings, of which it keeps a copy. Errors: -EBADMSG it is none; -ENOMEM. */
MUST_CHECK int ranks_arguments_of(const cJSON *array, struct ranks_arguments *ret, struct error *err);
void ranks_arguments_done(struct ranks_arguments *arguments);

/* The credential that each unit of a job reads. */
struct ranks_job {
	struct ranks_arguments arguments; /* of orted */
	char run[RUN_ID_BYTES];           /* id of the run */
	char plan_sha256[65];
};
/* Errors: -EINVAL systemd did not start this process; -EBADMSG the file is damaged. */
MUST_CHECK int ranks_job_read(struct ranks_job *ret_job, struct error *err);
void ranks_job_done(struct ranks_job *job);
