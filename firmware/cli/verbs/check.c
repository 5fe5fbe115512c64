/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln check`: looks at everything that a night needs, before the night. */
#include "cli/base/arguments.h"
#include "cli/base/cache.h"
#include "cli/base/say.h"
#include "cli/verbs/check_table.h"
#include "cli/verbs/verbs.h"
#include "core/series/trials.h"
#include "model/build.h"
#include "preflight/preflight.h"

#include <sysexits.h>
#include <unistd.h>

/* The device comes last: the folder of compiled kernels may be the user's own, which moves all other paths.
 */
static void look_at_device(struct preflight *preflight)
{
	cache_find();
	preflight_device(preflight);
}

static const struct look {
	const char *what; /* for a user who waits */
	void (*look)(struct preflight *preflight);
	bool notifies;
} looks[] = {
	{ "the sources", preflight_sources, false },
	{ "the weights that a run starts with", preflight_start, false },
	{ "the series", preflight_series, false },
	{ "the sink", preflight_sink, false },
	{ "the addresses of notify", preflight_notify, true },
	{ "the network between boxes", preflight_network, false },
	{ "the other boxes", preflight_others, false },
	{ "the box", preflight_box, false },
	{ "the device, which may compile the kernels of the network", look_at_device, false },
};

static void look_at_all(struct preflight *preflight, bool quiet)
{
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		if (quiet && looks[i].notifies)
			continue;
		if (isatty(STDERR_FILENO))
			(void)fprintf(stderr, "kiln: looking at %s\n", looks[i].what);
		looks[i].look(preflight);
	}
}

static int check(const struct arguments *arguments)
{
	const char *operand = arguments_operand(arguments, 0),
		   *file = operand ? operand : config_path(0, NULL);
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(preflight_done) struct preflight preflight = { 0 };
	struct error err = { 0 };

	if (trials_check(file, graph_check, stderr) < 0)
		return EX_CONFIG;
	if (config_load(file, &config, &err) < 0)
		return cli_error(&err);
	preflight_open(&config, &preflight);
	look_at_all(&preflight, arguments_have(arguments, "no-notify"));
	return check_print(&preflight, arguments_have(arguments, "json"));
}

static const struct verb_operand optional_file[] = {
	{ .name = "FILE", .value = VERB_FILE, .optional = true },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "no-notify", .help = "send nothing to the people and the monitor that `notify` names" },
	{ .name = "json", .help = "print one JSON object: part, result, text and todo of each row" },
	{ 0 },
};

static const struct verb_exit exits[] = { { EX_CONFIG, "the file has mistakes" }, { 0 } };

const struct verb verb_check = {
	.name = "check",
	.summary = "look at everything that a night with a configuration needs, and say what is missing",
	.about = "Opens each source and the sink with their credentials. Lists the shards of each split, "
		 "compares dataset.json and the first records with the schema, the filter and the network. "
		 "Compares the weights that the run starts with, where there are such, with the layers. "
		 "Says where the trials of a series read more than their disk cache has room for, and "
		 "where a promotion is set up that never happens. Writes an object into the sink and deletes "
		 "it. Sends a test message to notify.url, a test "
		 "mail to notify.mail_to, and a line for the log of notify.heartbeat_url (URL/log, which "
		 "changes nothing there). Asks each box of ranks.boxes whether this one may lead it, and "
		 "compares build, "
		 "device and clock. Builds the network on the device with its memory. Looks at disk, "
		 "clock, hugepages and the alarm that wakes the box.\n\n"
		 "Each row of the table is ok, warning, failed or not seen, with what to do. \"not seen\" "
		 "means that the network or the machine did not answer. The exit status is 1 if a row "
		 "failed.\n\n"
		 "Without FILE the verb reads the box's own configuration: the file that KILN_CONFIG names, "
		 "or else /etc/kiln/kiln.conf below the folder KILN_ROOT.",
	.operands = optional_file,
	.options = { options },
	.exits = exits,
	.here = true,
	.run = check,
};
