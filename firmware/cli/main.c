/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kiln`, the command line. From the top:
 *
 *     main.c, verb_list.c   the table of verbs; which verb, which boxes
 *     verbs/                one file a verb: its row of the table, and what the verb does
 *     client/               boxes: the client of drivers/control for those of --host, calls, results
 *     trained/              a trained model, records for it, and its answers
 *     prep/                 `kiln prep`: labelled texts and images to shards in a store
 *     manual/               kiln(1) and the completions of shells, made from the table of verbs
 *     base/                 rows, arguments, help, messages, exit codes, formats
 *
 * Each folder calls only those below it. One process, one thread, but for prep/
 * (threads that make shards) and `--host` with several boxes (a child process each). Nothing here holds state
 * that a crash could lose: a box does its own work, and `kiln prep` that was killed is run again.
 */
#include "cli/base/dispatch.h"
#include "cli/base/help.h"
#include "cli/base/say.h"
#include "cli/client/host.h"
#include "cli/client/hosts.h"
#include "cli/verb_list.h"
#include "core/base/log.h"
#include "core/base/version.h"

#include <errno.h>
#include <string.h>

static int run(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "--host") == 0)
		return hosts_run(argv[2], run, argc - 2, argv + 2);
	if (argc < 2) {
		help_print_all(verb_list, stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		help_print_all(verb_list, stdout);
		return CLI_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("kiln " KILN_VERSION);
		return CLI_OK;
	}
	for (const struct verb *const *verb = verb_list; *verb; verb++)
		if (strcmp(argv[1], (*verb)->name) == 0)
			return (*verb)->here && client_used()
				       ? cli_usage(argv[1], "--host: this verb asks no box")
				       : dispatch(verb_list, *verb, argc - 1, argv + 1);
	fprintf(stderr, "kiln: there is no verb \"%s\"\n", argv[1]);
	help_print_all(verb_list, stderr);
	return CLI_USAGE;
}

/* Output that was lost, on a full disk for example, is an error. */
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
