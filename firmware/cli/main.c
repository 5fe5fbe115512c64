/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kiln`, the command line. Folders and files from the top; each one calls only those below it:
 *
 *     main.c, verb_list.c   the table of verbs; selects the verb and the boxes
 *     verbs/                one file for each verb: the row in the table, and the code of the verb
 *     client/               boxes: the control client (drivers/control), the boxes of --host, calls, results
 *     runs/                 runs as text: the record of a run, its curves, the runs in the store
 *     trained/              a trained model, the records that it reads, and its answers
 *     prep/                 `kiln prep`: labelled texts and images to shards in a store
 *     manual/               kiln(1) and the shell completions, printed from the table of verbs
 *     base/                 table rows, arguments, help, messages, exit codes, number formats
 *
 * One process with one thread, except that prep/ makes shards in several threads, and `--host` with several
 * boxes starts a child process for each box. `kiln` has no state that a crash could lose: requests are
 * carried out by the box, and a `kiln prep` that was killed is simply run again.
 * Owners: the table of verbs is constant; a verb owns what it opens, and closes it before it returns.
 */
#include "cli/base/dispatch.h"
#include "cli/base/help.h"
#include "cli/base/say.h"
#include "cli/client/host.h"
#include "cli/client/hosts.h"
#include "cli/verb_list.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/program.h"

#include <errno.h>
#include <string.h>

/* Prints all verbs only where none is near the word, because a long list hides the sentence above it. */
static int refuse(const char *word)
{
	static const char *const options[] = { "--host", "--help", "--version" };
	struct nearest nearest = { .typed = word };
	char meant[NEAREST_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		nearest_try(&nearest, options[i]);
	for (const struct verb *const *verb = verb_list; *verb; verb++)
		nearest_try(&nearest, (*verb)->name);
	fprintf(stderr, "kiln: there is no %s \"%s\"%s\n", *word == '-' ? "option" : "verb", word,
		nearest_text(&nearest, meant));
	if (!*meant)
		help_print_all(verb_list, stderr);
	return CLI_USAGE;
}

/* Returns whether a verb, or the sub-verb that `word` names, works without a box. */
static bool is_here(const struct verb *verb, const char *word)
{
	const struct verb *sub = word ? verb_sub(verb, word) : NULL;

	return verb->here || (sub && sub->here);
}

static int run(int argc, char **argv);

/* Runs a verb on other boxes: `boxes` is the value of --host, argv[1] the verb. */
static int run_there(const char *boxes, int argc, char **argv)
{
	if (boxes && *boxes && argc > 1)
		return hosts_run(boxes, run, argc, argv);
	fprintf(stderr, "kiln: --host: found no %s, expected --host NAME=ADDRESS[:PORT],... VERB\n",
		boxes && *boxes ? "verb after it" : "box");
	return CLI_USAGE;
}

static int run(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--host") == 0)
		return run_there(argc > 2 ? argv[2] : NULL, argc > 2 ? argc - 2 : 1, argv + 2);
	if (argc > 1 && strncmp(argv[1], "--host=", strlen("--host=")) == 0)
		return run_there(argv[1] + strlen("--host="), argc - 1, argv + 1);
	if (argc < 2) {
		help_print_all(verb_list, stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		help_print_all(verb_list, stdout);
		return CLI_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		program_print_version("kiln");
		return CLI_OK;
	}
	for (const struct verb *const *verb = verb_list; *verb; verb++)
		if (strcmp(argv[1], (*verb)->name) == 0)
			return client_used() && is_here(*verb, argc > 2 ? argv[2] : NULL)
				       ? cli_usage(argv[1], "--host: this verb does not use a box")
				       : dispatch(verb_list, *verb, argc - 1, argv + 1);
	return refuse(argv[1]);
}

/* Fail where the output could not be written, on a full disk for example. */
int main(int argc, char **argv)
{
	int r;

	log_open("kiln");
	r = run(argc, argv);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return r;
	fprintf(stderr, "kiln: standard output: cannot write: %s\n", strerror(errno));
	return CLI_ERROR;
}
