/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln update`: installs a signed bundle. */
#include "cli/base/say.h"
#include "cli/client/host.h"
#include "cli/verbs/act.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"

#include <string.h>

/* Makes the URL of a bundle from a path on the box that installs the bundle. On this box the path may be
 * relative. With --host the path must be absolute, because it is a path on the other box. */
static int url_of_path(const struct arguments *arguments, const char *given, char url[static PATH_BYTES])
{
	char path[PATH_BYTES];

	if (!client_used() && !realpath(given, path)) {
		fprintf(stderr, "kiln update: %s: %s\n", given, strerror(errno));
		return CLI_ERROR;
	}
	if (client_used() && *given != '/')
		return cli_usage(arguments->name,
				 "%s: with --host a bundle is a URL that the box reaches, s3://BUCKET/KEY, "
				 "or /PATH on the box",
				 given);
	if ((size_t)snprintf(url, PATH_BYTES, "file://%s", client_used() ? given : path) >= PATH_BYTES)
		return cli_usage(arguments->name, "%s: the path is too long", given);
	return CLI_OK;
}

static int update(const struct arguments *arguments)
{
	static const struct act act = {
		.method = "update.install",
		.danger = "the update installs another version and restarts the box as soon as no run is in "
			  "progress",
		.done = "the update is being fetched; kiln status shows the progress",
	};
	const char *given = arguments_operand(arguments, 0);
	char url[PATH_BYTES];
	int r;

	if (!given || !*given || strstr(given, "://"))
		return act_run(arguments, &act, NULL);
	r = url_of_path(arguments, given, url);
	return r == CLI_OK ? act_run(arguments, &act, url) : r;
}

static const struct verb_operand operands[] = {
	{ .name = "BUNDLE", .value = VERB_LOCATION, .optional = true },
	{ 0 },
};

const struct verb verb_update = {
	.name = "update",
	.synopsis = "update BUNDLE [OPTION...]",
	.about = "BUNDLE is s3://BUCKET/KEY in a store of kiln.conf, file:///PATH on the box, or a path: "
		 "without --host a path on this box, with --host /PATH on the other box. The verb asks for "
		 "confirmation, unless --yes is given. kiln status shows the progress.",
	.methods = { "update.install" },
	.positional = "url",
	.operands = operands,
	.options = { act_options, call_options },
	.run = update,
};
