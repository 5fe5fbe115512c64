/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the cursors of ranks: merge_cursors PLAN FROM OUT CURSOR...   FROM "-" = the run's start. */
#include "data/lanes.h"

#include <stdio.h>
#include <string.h>

static int read_cursor(const char *path, struct cursor *cursor)
{
	FILE *file = fopen(path, "re");

	if (!file || fread(cursor, sizeof(*cursor), 1, file) != 1) {
		perror(path);
		return -1;
	}
	(void)fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	struct cursor from = { .version = CURSOR_VERSION }, cursor[CURSOR_PLACES_MAX], merged;
	uint32_t ranks = 0;
	struct plan *plan;
	struct error err;
	FILE *out;

	if (argc < 5 || argc - 4 > (int)CURSOR_PLACES_MAX)
		return 2;
	if (strcmp(argv[2], "-") != 0 && read_cursor(argv[2], &from) < 0)
		return 1;
	for (int i = 4; i < argc; i++)
		if (read_cursor(argv[i], &cursor[ranks++]) < 0)
			return 1;
	if (plan_open(argv[1], &plan, &err) < 0 ||
	    lanes_merge(plan, &from, cursor, ranks, &merged, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	plan_close(plan);
	out = fopen(argv[3], "we");
	return out && fwrite(&merged, sizeof(merged), 1, out) == 1 && fclose(out) == 0 ? 0 : 1;
}
