/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln runs`: this box's runs; with an id, one record. */
#include "cli/client.h"

#include <math.h>
#include <time.h>

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

int cli_runs(int argc, char **argv)
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	const char *method = argc > 1 && argv[1][0] != '-' ? "run.show" : "run.list";
	struct error err = { 0 };
	const cJSON *run;
	bool json = false;
	int r = client_arguments(argc, argv, method, "id", &params, &json);

	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	if (client_ask(method, TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (json)
		return cli_print_json(result);
	run = client_member(result, "run");
	if (run)
		return cli_print_json(run);
	printf("%-40s  %-9s  %6s  %8s  %9s\n", "run", "state", "epochs", "loss", "accuracy");
	cJSON_ArrayForEach(run, client_member(result, "runs"))
		print_run(run);
	return CLI_OK;
}
