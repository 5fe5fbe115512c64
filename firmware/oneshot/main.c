/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"
#include "core/version.h"
#include "oneshot/oneshot.h"

#include <string.h>
#include <sysexits.h>

static const struct {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "begin", "make the run record, or adopt the unfinished one  [--config FILE]", oneshot_begin },
	{ "release", "give the ring's hugepages back to the system", oneshot_release },
};

int main(int argc, char **argv)
{
	bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
	FILE *out = help ? stdout : stderr;

	log_open("oneshot");
	for (size_t i = 0; argc >= 2 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	fputs("Usage: kiln-oneshot VERB (kiln " KILN_VERSION ")\n", out);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
	return help ? EX_OK : EX_USAGE;
}
