/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln config`: checks, shows, applies or documents a configuration. */
#include "core/config/config.h"

#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/host.h"
#include "cli/client/result.h"
#include "cli/verbs/check_table.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"
#include "core/config/config_held.h"
#include "core/series/trials.h"
#include "model/build.h"
#include "preflight/preflight.h"

#include <string.h>
#include <sysexits.h>

#define FILE_MAX 131072u /* bytes of a configuration; the control protocol takes no more */

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

/* Lets the box of --host check its own configuration or, where the user names a file, the text of this file.
 */
static int check_there(const char *file)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject(), *result = NULL;
	struct error err = { 0 };

	if (file && file_read(file, FILE_MAX, &text, NULL, &err) < 0)
		return cli_error(&err);
	if (text)
		(void)cJSON_AddItemToObject(params, "text", json_string(text));
	if (client_ask("config.check", TAKE(params), &result, &err) == 0) {
		printf("%s: good\n", file ? file : "the box's own kiln.conf");
		return CLI_OK;
	}
	if (err.code != -EINVAL)
		return client_error(&err);
	fprintf(stderr, "%s\n", err.text);
	return EX_CONFIG;
}

static int check(const struct arguments *arguments)
{
	const char *file = file_of(arguments);

	if (client_used() && arguments_have(arguments, "data"))
		return cli_usage(arguments->name,
				 "--data looks from this machine: --host is not expected here");
	if (client_used())
		return check_there(arguments_operand(arguments, 0));
	/* Pass graph_check() for the checks of layers, loss and optimizer. */
	if (trials_check(file, graph_check, stderr) < 0)
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
	.about = ABOUT_FILE "\n\n"
			    "With --host the box checks its own configuration, or the text of FILE.",
	.operands = optional_file,
	.options = { check_options },
	.exits = check_exits,
	.run = check,
};

/* ---- show ---- */

/* Prints the configuration of the box of --host as if its file were on this machine. */
static int show_text(const char *text)
{
	struct error err = { 0 };
	char path[CONFIG_HELD_BYTES];
	CLEANUP(close_fd) int fd = config_hold(text, path, &err);

	return fd < 0 || config_show(path, stdout, &err) < 0 ? cli_error(&err) : CLI_OK;
}

static int show_there(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject(), *result = NULL;
	const char *file = arguments_operand(arguments, 0);
	struct error err = { 0 };

	if (file)
		return cli_usage(arguments->name,
				 "%s is a file of this machine; --host shows the box's own configuration",
				 file);
	(void)cJSON_AddTrueToObject(params, "text");
	if (client_ask("config.show", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	return arguments_have(arguments, "json") ? client_print_json(json_member(result, "config"))
						 : show_text(client_text(result, "text"));
}

static int show(const struct arguments *arguments)
{
	const bool json = arguments_have(arguments, "json");
	const char *file = file_of(arguments);
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	if (client_used())
		return show_there(arguments);
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
	.about = ABOUT_FILE " With --host the verb prints that box's own configuration.",
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
	.here = true,
	.run = reference,
};

/* ---- apply ---- */

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
	json_visible(result);
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
