/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config.h"
#include "cli/cli.h"

#include <string.h>

static const char usage[] =
	"Usage: kiln config check FILE          every mistake at once: file, line, key, found, allowed\n"
	"       kiln config show [FILE] [--json]  the values in effect, defaults marked\n"
	"       kiln config reference            every key with unit, default, bounds and help\n\n"
	"Without FILE the box's own is taken: KILN_CONFIG, else /etc/kiln/kiln.conf below KILN_ROOT.\n";

static int check(const char *file)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	if (config_load(file, &config, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return CLI_ERROR;
	}
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
	const char *file = config_path(0, NULL);
	bool json = false;

	if (argc < 2)
		return cli_usage("config", "which: check, show or reference?");
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return CLI_OK;
		}
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (i >= 2)
			file = argv[i];
	}
	if (strcmp(argv[1], "check") == 0)
		return check(file);
	if (strcmp(argv[1], "show") == 0)
		return show(file, json);
	if (strcmp(argv[1], "reference") == 0)
		return reference();
	return cli_usage("config", "there is no \"%s\"", argv[1]);
}
