/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln runs`: lists the runs of a box or, with the id of a run, prints the record of this run. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"

#include <math.h>

static void print_run(const cJSON *run)
{
	double loss = client_number(run, "loss"), accuracy = client_number(run, "accuracy");

	printf("%-40s  %-9s  %6.0f  ", client_text(run, "id"), client_text(run, "state"),
	       fmax(0, client_number(run, "epochs")));
	if (isnan(loss))
		printf("%8s  ", "-");
	else
		printf("%8.4f  ", loss);
	if (isnan(accuracy))
		printf("%9s\n", "-");
	else
		printf("%7.2f %%\n", 100 * accuracy);
}

static int print_runs(const cJSON *result)
{
	const cJSON *run = json_member(result, "run");

	if (run)
		return client_print_json(run);
	printf("%-40s  %-9s  %6s  %8s  %9s\n", "run", "state", "epochs", "loss", "accuracy");
	cJSON_ArrayForEach(run, json_member(result, "runs"))
		print_run(run);
	return CLI_OK;
}

static int runs(const struct arguments *arguments)
{
	const bool one = arguments->operands > 0 || arguments_have(arguments, "id");

	return call_run(arguments, one ? "run.show" : "run.list", print_runs);
}

static const struct verb_operand operands[] = {
	{ .name = "ID", .value = VERB_NAME, .optional = true },
	{ 0 },
};

const struct verb verb_runs = {
	.name = "runs",
	.about = "With ID the verb prints the record of that run, as JSON.",
	.methods = { "run.list", "run.show" },
	.positional = "id",
	.operands = operands,
	.options = { call_options },
	.run = runs,
};
