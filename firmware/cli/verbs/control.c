/* SPDX-License-Identifier: Apache-2.0 */
#include "core/control/control.h"
#include "cli/base/say.h"
#include "cli/verbs/verbs.h"

#include <string.h>

int cli_control(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		puts("Usage: kiln control reference   every method, its parameters and its result, as "
		     "Markdown");
		return CLI_OK;
	}
	if (argc != 2 || strcmp(argv[1], "reference") != 0)
		return cli_usage("control", "which: reference?");
	control_reference(stdout);
	return CLI_OK;
}
