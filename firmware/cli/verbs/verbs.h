/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `kiln`. A verb gets its own name in argv[0] and returns the exit code. */
#pragma once

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
