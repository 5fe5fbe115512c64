/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln manual` and `kiln completion`: print the files in rootfs/man and rootfs/completions. */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/manual/completion.h"
#include "cli/manual/pages.h"
#include "cli/verbs/verbs.h"

#include <string.h>

static int print_page(const struct arguments *arguments)
{
	static const struct {
		const char *name;
		void (*print)(FILE *out);
	} pages[] = { { "kiln.conf.5", page_config },
		      { "kiln-control.7", page_control },
		      { "kiln-events.7", page_events } };
	const char *name = arguments_operand(arguments, 0);

	if (strcmp(name, "kiln.1") == 0) {
		page_kiln(arguments->verbs, stdout);
		return CLI_OK;
	}
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (strcmp(name, pages[i].name) == 0) {
			pages[i].print(stdout);
			return CLI_OK;
		}
	return cli_usage(arguments->name,
			 "found \"%s\", expected kiln.1, kiln.conf.5, kiln-control.7 or kiln-events.7", name);
}

static int print_completion(const struct arguments *arguments)
{
	const char *shell = arguments_operand(arguments, 0);

	if (completion_print(shell, arguments->verbs, stdout))
		return CLI_OK;
	return cli_usage(arguments->name, "found \"%s\", expected bash, zsh or fish", shell);
}

const struct verb verb_manual = {
	.name = "manual",
	.summary = "print a manual page",
	.about = "PAGE is kiln.1, kiln.conf.5, kiln-control.7 or kiln-events.7. Read one with `kiln manual "
		 "kiln.conf.5 | man -l -`. An installed Kiln has these pages: `man kiln`.",
	.operands = (const struct verb_operand[]){ { "PAGE", VERB_TEXT, false, false }, { 0 } },
	.here = true,
	.run = print_page,
};

const struct verb verb_completion = {
	.name = "completion",
	.summary = "print the completions of a shell",
	.about = "SHELL is bash, zsh or fish. `source <(kiln completion bash)` adds the completions to a "
		 "running bash. An installed Kiln has the completions of all three shells.",
	.operands = (const struct verb_operand[]){ { "SHELL", VERB_TEXT, false, false }, { 0 } },
	.here = true,
	.run = print_completion,
};
