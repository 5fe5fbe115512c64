/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kiln run`: runs in the foreground, without systemd. With --from repeats a run; with --config alone does
 * what a night does, one run or a whole series.
 */
#include "core/run/run.h"
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/foreground/daemons.h"
#include "cli/foreground/night.h"
#include "cli/verbs/verbs.h"

#include <sysexits.h>

static int begin(const struct arguments *arguments, const char *from, struct error *err)
{
	const char *config = arguments_text(arguments, "config");
	const char *words[8] = { "kiln-oneshot", "begin", "--from", from };
	uint32_t count = 4;

	if (config) {
		words[count++] = "--config";
		words[count++] = config;
	}
	if (arguments_have(arguments, "adopt"))
		words[count++] = "--adopt";
	return daemons_run_program(words, err);
}

/* A repeat that did not finish is not the box's current run: makes the run before it the current run again.
 */
static void give_back(int code)
{
	struct error err;
	char reason[128];

	if (daemons_are_stopped())
		(void)snprintf(reason, sizeof(reason), "kiln run --from was stopped");
	else
		(void)snprintf(reason, sizeof(reason), "a program of kiln run --from ended with exit code %d",
			       code < 0 ? EX_OSERR : code);
	if (run_give_back(reason, &err) < 0)
		(void)cli_error(&err);
}

static int repeat(const struct arguments *arguments, const char *from)
{
	struct error err;
	int r = begin(arguments, from, &err);

	if (r != EX_OK) /* where it ran, kiln-oneshot has already printed the reason */
		return r < 0 ? cli_error(&err) : CLI_ERROR;
	daemons_catch_signals();
	r = daemons_train(true, &err);
	if (r < 0)
		(void)cli_error(&err);
	if (r == EX_OK && !daemons_are_stopped())
		return CLI_OK;
	give_back(r);
	return CLI_ERROR;
}

static int run(const struct arguments *arguments)
{
	const char *from = arguments_text(arguments, "from"), *config = arguments_text(arguments, "config");
	struct error err;
	int r;

	if (from)
		return repeat(arguments, from);
	if (!config || arguments_have(arguments, "adopt"))
		return cli_usage(arguments->name, "expected --from RUN.JSON, or --config FILE alone");
	r = night_run(config, &err);
	return r < 0 ? cli_error(&err) : r == EX_OK ? CLI_OK : CLI_ERROR;
}

static const struct verb_option options[] = {
	{ .name = "from", .value = VERB_FILE, .argument = "RUN.JSON", .help = "record of the run to repeat" },
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "without --from: the kiln.conf of the night; with it: the kiln.conf whose `sources` and "
		  "`sink` the record must name, default: the box's" },
	{ .name = "adopt",
	  .help = "repeat a run whose record names other stores, with the stores of kiln.conf" },
	{ 0 },
};

const struct verb verb_run = {
	.name = "run",
	.summary = "do a night, or repeat a run from its run.json, in the foreground",
	.synopsis = "run --config FILE | --from RUN.JSON [--config FILE] [--adopt]",
	.about = "With --config alone it does what a night does, without systemd: one run or, where the "
		 "file has experiments or vary, a whole series. It ends when the outputs are in the "
		 "store, or when one of its programs fails ten times in a row. A run or a series that was "
		 "interrupted goes on.\nWith --from it repeats a run "
		 "with the same configuration, seed and plan, and with the checkpoint that the run "
		 "started from. The verb reads them from the record and from the store. The record must "
		 "name the stores of kiln.conf, or folders of this machine where there is no kiln.conf, "
		 "because a record alone does not decide to whom this machine sends signed requests. On "
		 "the same device, with the same build, the new run ends with the same bits. A repeat "
		 "that fails or is stopped does not become the box's current run.",
	.options = { options },
	.here = true,
	.run = run,
};
