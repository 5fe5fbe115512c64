/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client of an MLflow tracking server and model registry, over REST API 2.0 (mlflow.org/docs, "REST API"), by
 * drivers/http and cJSON.
 *
 *     mlflow.c    open, close          call.c      one request, and what its answer means
 *     runs.c      experiments, runs    models.c    registered models, versions, aliases
 *
 * Threads: one, the owner's. Only mlflow_cancel() may be called from others.
 * Order: mlflow_open -> any calls -> mlflow_close.
 * Owns: the strings of the caller belong to the caller, and must be valid during a call only.
 * Blocks: each call until the server has answered, at most MLFLOW_CALL_S.
 * Crash: nothing is stored here; the server may have done what was asked for, or not.
 *
 * Retries: none. No call is sent twice, because MLflow has no key that makes runs/create idempotent. The
 * caller tries again: at once after no failure, and mlflow_retry_after_s() at the earliest. Which calls may
 * be sent again, and what makes that harmless, is said with each call.
 *
 * Errors, the same for every call, with the method, the URL, the status, MLflow's error code and the
 * beginning of its message in the text:
 *   -EACCES    401, 403: the login is missing, wrong, or not allowed to do this
 *   -ENOENT    the server does not know the experiment, run or model (RESOURCE_DOES_NOT_EXIST)
 *   -EEXIST    RESOURCE_ALREADY_EXISTS
 *   -EINVAL    another 4xx with an error code of MLflow: the server understood the request and refuses it
 *   -EPROTO    a redirection, another 404, or a 4xx without an error code of MLflow: another server, a proxy,
 *              or a wrong path
 *   -EBUSY     408, 429, 503: the server asks for fewer requests, or to send this one again
 *   -EIO       another 5xx
 *   -EBADMSG   the answer is no JSON, lacks a member, or is larger than MLFLOW_REPLY_BYTES
 *   -ECANCELED mlflow_cancel()
 *   -ETIMEDOUT, -ECONNREFUSED, -ENOKEY and the like: no answer
 * After -EACCES, -EINVAL and -EPROTO the same call fails again until a person has changed something.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define MLFLOW_CALL_S      30u
#define MLFLOW_REPLY_BYTES (1u << 20)
#define MLFLOW_ID_BYTES    257u /* ids of experiments and runs, with the NUL */
/* Upper bounds of one call to runs/log-batch, and of texts: mlflow/utils/validation.py, MLflow 2.0 to 3.17.
 * The bound of a parameter's value is that of the oldest of these servers. */
#define MLFLOW_METRICS_MAX     1000u
#define MLFLOW_PARAMS_MAX      100u
#define MLFLOW_TAGS_MAX        100u
#define MLFLOW_PARAM_BYTES     500u
#define MLFLOW_TAG_BYTES       5000u
#define MLFLOW_DOUBLES_MAX     8u
#define MLFLOW_LOGIN_BYTES_MAX 4096u

struct mlflow;

struct mlflow_options {
	const char *url;     /* http[s]://host[:port][/path], without "/api/2.0" */
	const char *login;   /* "USER:PASSWORD", a bearer token, or "" */
	const char *ca_file; /* "" = the certificate authorities of the system */
	/* Called about every second while a call waits for the server; NULL = not. */
	void (*awake)(void *context);
	void *awake_context;
};

/* A parameter or a tag. A value that is too long is cut. */
struct mlflow_text {
	const char *key, *value;
};

struct mlflow_metric {
	const char *key;
	double value;        /* NaN and infinities are allowed */
	int64_t at_ms, step; /* Unix time; a number that charts have as their x axis */
};

enum mlflow_status { MLFLOW_RUNNING, MLFLOW_FINISHED, MLFLOW_FAILED, MLFLOW_KILLED };

/* Connects with the first call. Errors: -EINVAL the url or the login is too long; -ENOMEM. */
MUST_CHECK int mlflow_open(const struct mlflow_options *options, struct mlflow **ret_mlflow,
			   struct error *err);
void mlflow_close(struct mlflow *mlflow);
void mlflow_closep(struct mlflow **mlflow);
/* Makes the current call and all later ones return -ECANCELED. Any thread may call. */
void mlflow_cancel(struct mlflow *mlflow);
/* Returns for how many seconds the server wants no further request, by the Retry-After of its last answer; 0
 * without one. */
uint64_t mlflow_retry_after_s(const struct mlflow *mlflow);

/* ---- Experiments and runs ---- */

/* Finds the experiment by its name, and makes it where it is missing. May be sent again: the name is unique.
 * Errors: -EINVAL also where an experiment with this name was deleted. */
MUST_CHECK int mlflow_experiment(struct mlflow *mlflow, const char *name, char ret_id[static MLFLOW_ID_BYTES],
				 struct error *err);

/* Finds the runs of an experiment with this tag, at most MLFLOW_DOUBLES_MAX, in the order of their ids.
 * Returns how many there are. `value` must have no quote. */
MUST_CHECK int mlflow_find_runs(struct mlflow *mlflow, const char *experiment_id, const char *tag,
				const char *value, char ret_ids[static MLFLOW_DOUBLES_MAX][MLFLOW_ID_BYTES],
				struct error *err);

/* Makes a run. Must not be sent again before mlflow_find_runs() found no run: after a failure without an
 * answer the server may have made the run, or may make it a little later. */
MUST_CHECK int mlflow_create_run(struct mlflow *mlflow, const char *experiment_id, const char *name,
				 int64_t start_ms, const struct mlflow_text *tags, uint32_t tags_count,
				 char ret_id[static MLFLOW_ID_BYTES], struct error *err);

/* Adds metrics, parameters and tags, each at most as many as stated above. May be sent again: a metric with
 * the same key, value, time and step is one row of the server's database; a parameter may be set to the value
 * that it has, and to no other (-EINVAL); a tag is replaced. */
struct mlflow_batch {
	const struct mlflow_metric *metrics;
	const struct mlflow_text *params, *tags;
	uint32_t metrics_count, params_count, tags_count;
};
MUST_CHECK int mlflow_log(struct mlflow *mlflow, const char *run_id, const struct mlflow_batch *batch,
			  struct error *err);

/* Sets the status of a run; `end_ms`: 0 = it has not ended. May be sent again. */
MUST_CHECK int mlflow_update_run(struct mlflow *mlflow, const char *run_id, enum mlflow_status status,
				 int64_t end_ms, struct error *err);
/* Deletes a run, so that MLflow shows it in its trash only. May be sent again. */
MUST_CHECK int mlflow_delete_run(struct mlflow *mlflow, const char *run_id, struct error *err);

/* ---- The model registry ---- */

/* Makes a registered model where it is missing. May be sent again: the name is unique. */
MUST_CHECK int mlflow_model(struct mlflow *mlflow, const char *name, struct error *err);

#define MLFLOW_VERSION_BYTES 32u
/* Finds the newest version of the model that has this tag. Returns 1 where there is one, else 0. */
MUST_CHECK int mlflow_find_version(struct mlflow *mlflow, const char *name, const struct mlflow_text *tag,
				   char ret_version[static MLFLOW_VERSION_BYTES], struct error *err);
/* Makes a version of the model. `source`: URL of its files. `run_id`: the MLflow run that made it; "" = none.
 * Must not be sent again before mlflow_find_version() found none. */
MUST_CHECK int mlflow_create_version(struct mlflow *mlflow, const char *name, const char *source,
				     const char *run_id, const struct mlflow_text *tags, uint32_t tags_count,
				     char ret_version[static MLFLOW_VERSION_BYTES], struct error *err);
/* Gives the alias to this version, and takes it from the one that had it. May be sent again. */
MUST_CHECK int mlflow_set_alias(struct mlflow *mlflow, const char *name, const char *alias,
				const char *version, struct error *err);
