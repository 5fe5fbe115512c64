/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/say.h"
#include "cli/client/host.h"
#include "cli/client/hosts.h"
#include "cli/verbs/verbs.h"
#include "core/base/log.h"
#include "core/base/version.h"
#include "core/control/control.h"

#include <errno.h>
#include <string.h>

static const struct verb {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
	const char *method; /* its row of the control protocol has the summary */
	bool here;          /* asks no box */
} verbs[] = {
	{ "status", NULL, cli_status, "status", false },
	{ "watch", "the same, live", cli_watch, NULL, false },
	{ "start", NULL, cli_start, "run.start", false },
	{ "stop", NULL, cli_stop, "run.stop", false },
	{ "pause", NULL, cli_pause, "run.pause", false },
	{ "resume", NULL, cli_resume, "run.resume", false },
	{ "checkpoint", "list the checkpoints, or write one now", cli_checkpoint, NULL, false },
	{ "runs", NULL, cli_runs, "run.list", false },
	{ "log", NULL, cli_log, "log.tail", false },
	{ "node", NULL, cli_node, "node.info", false },
	{ "stalls", NULL, cli_stalls, "stalls", false },
	{ "metrics", NULL, cli_metrics, "metrics", false },
	{ "cache", "what the cache of shards holds; preload, pin, drop", cli_cache, NULL, false },
	{ "update", NULL, cli_update, "update.install", false },
	{ "factory-reset", NULL, cli_factory_reset, "factory.reset", false },
	{ "power", "power off: stop everything and switch the box off", cli_power, NULL, false },
	{ "support", "one redacted archive for whoever helps", cli_support, NULL, false },
	{ "pki", "a certificate authority for --host", cli_pki, NULL, true },
	{ "control", "the control protocol's reference", cli_control, NULL, true },
	{ "config", "check, show, apply or document the configuration", cli_config, NULL, false },
	{ "run", "repeat the run of a run.json, in the foreground", cli_run, NULL, true },
	{ "report", "what a run, or the last night, came to", cli_report, NULL, true },
	{ "prep", "raw texts to shards in the store", cli_prep, NULL, true },
	{ "model", "a network's layers, shapes and parameters", cli_model, NULL, true },
	{ "predict", "what a trained network makes of texts", cli_predict, NULL, true },
	{ "evaluate", "what a trained network is worth on a split", cli_evaluate, NULL, true },
	{ "export", "a trained network as ONNX and as TensorFlow's SavedModel", cli_export, NULL, true },
};

static void help(FILE *out)
{
	fputs("Usage: kiln [--host NAME=ADDRESS[:PORT],...] VERB [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-14s %s\n", verbs[i].name,
			verbs[i].method ? control_method_find(verbs[i].method)->help : verbs[i].summary);
	fputs("\n--host asks other boxes by mutual TLS: ca.crt, client.crt and client.key lie in KILN_PKI, "
	      "else "
	      "~/.kiln.\nkiln VERB --help tells more; kiln --version gives the version.\n"
	      "Exit codes: 0 done, 1 error, 2 wrong usage; 3 some hosts did not answer, 4 none; of status "
	      "and watch: 5 degraded, 6 the run "
	      "failed, 7 "
	      "idle.\n",
	      out);
}

static int run(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "--host") == 0)
		return hosts_run(argv[2], run, argc - 2, argv + 2);
	if (argc < 2) {
		help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		help(stdout);
		return CLI_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("kiln " KILN_VERSION);
		return CLI_OK;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].here && client_used() ? cli_usage(argv[1], "--host: it asks no box")
							      : verbs[i].run(argc - 1, argv + 1);
	fprintf(stderr, "kiln: there is no verb \"%s\"\n", argv[1]);
	help(stderr);
	return CLI_USAGE;
}

/* Output that was lost, on a full disk say, is no success. */
int main(int argc, char **argv)
{
	int code;

	log_open("kiln");
	code = run(argc, argv);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "kiln: standard output: cannot write: %s\n", strerror(errno));
	return CLI_ERROR;
}
