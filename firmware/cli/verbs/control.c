/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln control`: prints the reference of the control protocol. */
#include "core/control/control.h"

#include "cli/base/arguments.h"
#include "cli/base/exit.h"
#include "cli/verbs/verbs.h"

static int reference(const struct arguments *arguments)
{
	(void)arguments;
	control_reference(stdout);
	return CLI_OK;
}

static const struct verb control_reference_row = {
	.name = "reference",
	.summary = "print every method, its parameters and its result, as Markdown",
	.run = reference,
};

static const struct verb *const subs[] = { &control_reference_row, NULL };

const struct verb verb_control = {
	.name = "control",
	.summary = "print the control protocol's reference",
	.subs = subs,
	.here = true,
};
