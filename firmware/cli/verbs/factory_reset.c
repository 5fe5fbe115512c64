/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln factory-reset`: erases all data of a box. */
#include "cli/verbs/act.h"
#include "cli/verbs/verbs.h"

static int factory_reset(const struct arguments *arguments)
{
	static const struct act act = { .method = "factory.reset",
					.danger = "all data on the box is erased",
					.done = "the box is being reset" };

	return act_run(arguments, &act, NULL);
}

const struct verb verb_factory_reset = {
	.name = "factory-reset",
	.about = "The verb asks for confirmation, unless --yes is given.",
	.methods = { "factory.reset" },
	.options = { act_options, call_options },
	.run = factory_reset,
};
