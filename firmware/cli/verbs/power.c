/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln power off`: switches a box off. */
#include "cli/verbs/act.h"
#include "cli/verbs/verbs.h"

static int off(const struct arguments *arguments)
{
	static const struct act act = { .method = "power.off",
					.danger = "the box switches itself off",
					.done = "the box is being switched off" };

	return act_run(arguments, &act, NULL);
}

static const struct verb power_off = {
	.name = "off",
	.about = "The verb asks for confirmation, unless --yes is given.",
	.methods = { "power.off" },
	.options = { act_options, call_options },
	.run = off,
};

static const struct verb *const subs[] = { &power_off, NULL };

const struct verb verb_power = {
	.name = "power",
	.summary = "switch the box off",
	.subs = subs,
};
