/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln config`: checks, shows, applies or documents a configuration. */
#include "core/config/config.h"

#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/result.h"
#include "cli/verbs/check_table.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"
#include "model/build.h"
#include "preflight/preflight.h"

#include <string.h>
#include <sysexits.h>

#define ABOUT_FILE                                                                                           \
	"Without FILE the verb reads the box's own configuration: the file that KILN_CONFIG names, or else " \
	"/etc/kiln/kiln.conf below the folder KILN_ROOT."

static const struct verb_operand optional_file[] = {
	{ .name = "FILE", .value = VERB_FILE, .optional = true },
	{ 0 },
};
static const struct verb_operand one_file[] = { { .name = "FILE", .value = VERB_FILE }, { 0 } };
static const struct verb_exit check_exits[] = { { EX_CONFIG, "the file has mistakes" }, { 0 } };

/* Returns the operand FILE or, where it was not given, the path of this machine's configuration. */
static const char *file_of(const struct arguments *arguments)
{
	const char *file = arguments_operand(arguments, 0);

	return file ? file : config_path(0, NULL);
}

/* ---- check ---- */

static int check_data(const char *file)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(preflight_done) struct preflight preflight = { 0 };
	struct error err = { 0 };

	if (config_load(file, &config, &err) < 0)
		return cli_error(&err);
	preflight_open(&config, &preflight);
	preflight_sources(&preflight);
	return check_print(&preflight, false);
}

static int check(const struct arguments *arguments)
{
	const char *file = file_of(arguments);

	/* Pass graph_check() for the checks of layers, loss and optimizer. */
	if (config_check(file, graph_check, stderr) < 0)
		return EX_CONFIG; /* kiln-config.service runs this check, and systemd does not restart a
				     service that exits with this code */
	if (arguments_have(arguments, "data"))
		return check_data(file);
	printf("%s: good\n", file);
	return CLI_OK;
}

static const struct verb_option check_options[] = {
	{ .name = "data",
	  .help = "look at the sources, too: shards, dataset.json, the first records; `kiln check` looks at "
		  "all that "
		  "a night needs" },
	{ 0 },
};

static const struct verb config_check_row = {
	.name = "check",
	.summary =
		"check a file and print all its mistakes: file, line, key, what was found, what is allowed",
	.about = ABOUT_FILE,
	.operands = optional_file,
	.options = { check_options },
	.exits = check_exits,
	.run = check,
};

/* ---- show ---- */

static int show(const struct arguments *arguments)
{
	const bool json = arguments_have(arguments, "json");
	const char *file = file_of(arguments);
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

static const struct verb_option show_options[] = {
	{ .name = "json",
	  .help = "print one JSON object: the value of each key, and whether it is the default" },
	{ 0 },
};

static const struct verb config_show_row = {
	.name = "show",
	.summary = "print the values in effect, with a mark at defaults",
	.about = ABOUT_FILE,
	.operands = optional_file,
	.options = { show_options },
	.run = show,
};

/* ---- reference ---- */

static int reference(const struct arguments *arguments)
{
	struct error err = { 0 };

	(void)arguments;
	return config_reference(stdout, &err) < 0 ? cli_error(&err) : CLI_OK;
}

static const struct verb config_reference_row = {
	.name = "reference",
	.summary = "print every key with unit, default, bounds and help",
	.run = reference,
};

/* ---- apply ---- */

#define FILE_MAX 131072u

/* Sends the file to kiln-controld, because only kiln-controld may write the configuration. */
static int apply(const struct arguments *arguments)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject(), *result = NULL;
	struct error err = { 0 };
	const cJSON *item;

	if (file_read(arguments_operand(arguments, 0), FILE_MAX, &text, NULL, &err) < 0)
		return cli_error(&err);
	(void)cJSON_AddStringToObject(params, "text", text);
	if (client_ask("config.apply", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	cJSON_ArrayForEach(item, json_member(result, "changed"))
		printf("%s: %s\n", client_text(item, "key"), client_text(item, "applies"));
	if (cJSON_IsFalse(json_member(result, "reloaded"))) {
		fprintf(stderr, "kiln: the new file is in place, but systemd did not reload the units: %s\n",
			client_text(result, "reload_error"));
		return CLI_ERROR;
	}
	return CLI_OK;
}

static const struct verb config_apply_row = {
	.name = "apply",
	.summary = "replace the box's own configuration with FILE",
	.operands = one_file,
	.methods = { "config.apply" },
	.parameters_not_options = true,
	.run = apply,
};

static const struct verb *const subs[] = { &config_check_row, &config_show_row, &config_apply_row,
					   &config_reference_row, NULL };

const struct verb verb_config = {
	.name = "config",
	.summary = "check, show, apply or document the configuration",
	.about = ABOUT_FILE,
	.subs = subs,
};
