/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln import`: starts kiln-import, which makes a configuration and weights from a network of another
 * program.
 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/foreground/daemons.h"
#include "cli/verbs/verbs.h"

#include <sysexits.h>

static int import(const struct arguments *arguments)
{
	const char *output = arguments_text(arguments, "output");
	const char *const program[] = { "kiln-import", arguments_operand(arguments, 0), output, NULL };
	struct error err = { 0 };
	int r;

	if (!output)
		return cli_usage(arguments->name, "--output is missing: the folder to write to");
	r = daemons_run_program(program, &err);
	return r < 0 ? cli_error(&err) : r;
}

static const struct verb_operand operands[] = {
	{ .name = "FILE", .value = VERB_FILE },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "output",
	  .value = VERB_FOLDER,
	  .argument = "DIR",
	  .help = "folder to write kiln.conf and weights.safetensors to, which is made; must be given" },
	{ 0 },
};

static const struct verb_exit exits[] = { { EX_CONFIG, "Kiln lacks parts of the network" }, { 0 } };

const struct verb verb_import = {
	.name = "import",
	.summary = "make a kiln.conf and weights from a .keras file",
	.synopsis = "import FILE --output DIR",
	.about =
		"Reads FILE, a .keras file of Keras 3 with a Sequential or Functional model. Writes "
		"DIR/kiln.conf, a configuration with the layers of the model, its inputs as features of the "
		"schema, and its loss and optimizer where Kiln has them; and DIR/weights.safetensors, with "
		"which a run starts, and which kiln predict, kiln evaluate and kiln export read. A kiln.conf "
		"that is there is not changed.\n\n"
		"The verb names every layer, attribute and value that Kiln does not have, with the place of "
		"the layer, and then writes nothing. What compile() was given and Kiln lacks is named in a "
		"line, and left out.",
	.operands = operands,
	.options = { options },
	.exits = exits,
	.here = true,
	.run = import,
};
