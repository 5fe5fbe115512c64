/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config.h"
#include "cli/cli.h"
#include "model/graph.h"

#include <string.h>

static const char usage[] =
	"Usage: kiln config check [FILE]          every mistake at once: file, line, key, found, allowed\n"
	"       kiln config show [FILE] [--json]  the values in effect, defaults marked\n"
	"       kiln config reference             every key with unit, default, bounds and help\n\n"
	"Without FILE the box's own is taken: KILN_CONFIG, else /etc/kiln/kiln.conf below KILN_ROOT.\n";

static int check(const char *file)
{
	/* Layers, loss and optimizer are the model's tables. */
	if (config_check(file, graph_check, stderr) < 0)
		return CLI_ERROR;
	printf("%s: good\n", file);
	return CLI_OK;
}

static int show(const char *file, bool json)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	if ((json ? config_show_json(file, &text, &err) : config_show(file, stdout, &err)) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return CLI_ERROR;
	}
	if (json)
		puts(text);
	return CLI_OK;
}

static int reference(void)
{
	struct error err = { 0 };

	return config_reference(stdout, &err) < 0 ? cli_error(&err) : CLI_OK;
}

int cli_config(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "", *file = NULL;
	bool json = false, is_check = strcmp(verb, "check") == 0, is_show = strcmp(verb, "show") == 0,
	     is_reference = strcmp(verb, "reference") == 0;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return CLI_OK;
		}
	if (!*verb)
		return cli_usage("config", "which: check, show or reference?");
	if (!is_check && !is_show && !is_reference)
		return cli_usage("config", "there is no \"%s\"", verb);
	for (int i = 2; i < argc; i++) {
		if (is_show && strcmp(argv[i], "--json") == 0)
			json = true;
		else if (*argv[i] == '-' || file || is_reference)
			return cli_usage("config", "%s does not take \"%s\"", verb, argv[i]);
		else
			file = argv[i];
	}
	if (is_reference)
		return reference();
	if (!file)
		file = config_path(0, NULL);
	return is_check ? check(file) : show(file, json);
}
