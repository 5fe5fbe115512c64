/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config.h"
#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"
#include "model/build.h"

#include <string.h>
#include <sysexits.h>

static const char usage[] =
	"Usage: kiln config check [FILE]          every mistake at once: file, line, key, found, allowed; "
	"exit 78\n"
	"       kiln config show [FILE] [--json]  the values in effect, defaults marked\n"
	"       kiln config apply FILE            put it in the place of the box's own\n"
	"       kiln config reference             every key with unit, default, bounds and help\n\n"
	"Without FILE the box's own is taken: KILN_CONFIG, else /etc/kiln/kiln.conf below KILN_ROOT.\n";

static int check(const char *file)
{
	/* Layers, loss and optimizer are the model's tables. */
	if (config_check(file, graph_check, stderr) < 0)
		return EX_CONFIG; /* kiln-config.service's, too: final */
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

#define FILE_MAX 131072u

/* By kiln-controld, which alone may write there. */
static int apply(const char *file)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject(), *result = NULL;
	struct error err = { 0 };
	const cJSON *item;

	if (file_read(file, FILE_MAX, &text, NULL, &err) < 0)
		return cli_error(&err);
	(void)cJSON_AddStringToObject(params, "text", text);
	if (client_ask("config.apply", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	cJSON_ArrayForEach(item, json_member(result, "changed"))
		printf("%s: %s\n", client_text(item, "key"), client_text(item, "applies"));
	if (cJSON_IsFalse(json_member(result, "reloaded"))) {
		fprintf(stderr, "kiln: the file is in its place, its units are as they were: %s\n",
			client_text(result, "reload_error"));
		return CLI_ERROR;
	}
	return CLI_OK;
}

int cli_config(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "", *file = NULL;
	bool json = false, is_check = strcmp(verb, "check") == 0, is_show = strcmp(verb, "show") == 0,
	     is_reference = strcmp(verb, "reference") == 0, is_apply = strcmp(verb, "apply") == 0;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return CLI_OK;
		}
	if (!*verb)
		return cli_usage("config", "which: check, show, apply or reference?");
	if (!is_check && !is_show && !is_reference && !is_apply)
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
	if (is_apply)
		return file ? apply(file) : cli_usage("config", "apply which file?");
	if (!file)
		file = config_path(0, NULL);
	return is_check ? check(file) : show(file, json);
}
