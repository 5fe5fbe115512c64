/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs of `kiln`, one file each. A verb gets its own name in argv[0] and returns the exit code.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <cjson/cJSON.h>

/* Exit codes of the command line; those of the daemons are sysexits (core/base/error.h). */
enum cli_exit {
	CLI_OK = 0,
	CLI_ERROR = 1,
	CLI_USAGE = 2,
	CLI_SOME_HOSTS = 3,
	CLI_NO_HOST = 4,
	CLI_DEGRADED = 5,
	CLI_FAILED = 6,
	CLI_IDLE = 7,
};

int cli_config(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_prep(int argc, char **argv);
int cli_predict(int argc, char **argv);
int cli_model(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_evaluate(int argc, char **argv);
int cli_status(int argc, char **argv);
int cli_watch(int argc, char **argv);
int cli_start(int argc, char **argv);
int cli_stop(int argc, char **argv);
int cli_pause(int argc, char **argv);
int cli_resume(int argc, char **argv);
int cli_checkpoint(int argc, char **argv);
int cli_update(int argc, char **argv);
int cli_factory_reset(int argc, char **argv);
int cli_power(int argc, char **argv);
int cli_runs(int argc, char **argv);
int cli_log(int argc, char **argv);
int cli_node(int argc, char **argv);
int cli_stalls(int argc, char **argv);
int cli_metrics(int argc, char **argv);
int cli_support(int argc, char **argv);
int cli_control(int argc, char **argv);
int cli_pki(int argc, char **argv);
int cli_cache(int argc, char **argv);

/* `kiln --host NAME=ADDRESS[:PORT],... VERB`: the verb for each of them at a time; gives the exit code. */
int cli_hosts(const char *list, int (*run)(int argc, char **argv), int argc, char **argv);

/* Print the error's sentence and give CLI_ERROR. */
int cli_error(const struct error *err);
/* To standard output: indented, or where many boxes are asked, one line. */
int cli_print_json(const cJSON *json);
/* "kiln VERB: TEXT" and where help is; gives CLI_USAGE. */
int cli_usage(const char *verb, const char *format, ...) PRINTF(2, 3);
/* An empty file "kiln-NAME-XXXXXX" in TMPDIR, or /tmp without, for the caller to remove; `path` has
 * PATH_BYTES. */
MUST_CHECK int cli_temporary(const char *name, char *path, struct error *err);
/* The store that options name, the rest of it from a configuration: an option wins. */
void cli_store_merge(struct config_store *options, const struct config_store *config);
