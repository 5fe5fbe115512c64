/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln start`, `stop`, `pause`, `resume` and `abandon`: control the run of a box. */
#include "cli/verbs/act.h"
#include "cli/verbs/verbs.h"

static int start(const struct arguments *arguments)
{
	return act_run(arguments, &(struct act){ .method = "run.start", .done = "started" }, NULL);
}

const struct verb verb_start = {
	.name = "start",
	.methods = { "run.start" },
	.options = { call_options },
	.run = start,
};

static int stop(const struct arguments *arguments)
{
	const struct act act = { .method = "run.stop",
				 .done = "the run stops after this step and its checkpoint" };

	return act_run(arguments, &act, NULL);
}

const struct verb verb_stop = {
	.name = "stop",
	.methods = { "run.stop" },
	.options = { call_options },
	.run = stop,
};

static int pause_run(const struct arguments *arguments)
{
	const struct act act = { .method = "run.pause", .done = "the run pauses after this step" };

	return act_run(arguments, &act, NULL);
}

const struct verb verb_pause = {
	.name = "pause",
	.methods = { "run.pause" },
	.options = { call_options },
	.run = pause_run,
};

static int resume(const struct arguments *arguments)
{
	return act_run(arguments, &(struct act){ .method = "run.resume", .done = "the run continues" }, NULL);
}

const struct verb verb_resume = {
	.name = "resume",
	.methods = { "run.resume" },
	.options = { call_options },
	.run = resume,
};

static int abandon(const struct arguments *arguments)
{
	const struct act act = { .method = "run.abandon",
				 .done = "the run is given up; the next start begins a new run",
				 .danger = "the unfinished run ends for good: no start goes on with it" };

	return act_run(arguments, &act, NULL);
}

const struct verb verb_abandon = {
	.name = "abandon",
	.about = "The run becomes a failed run. Its checkpoints in the store stay: run.start_from = "
		 "\"latest\" and "
		 "model.weights can use them. Stop a run that trains first, with kiln stop.",
	.methods = { "run.abandon" },
	.options = { act_options, call_options },
	.run = abandon,
};
