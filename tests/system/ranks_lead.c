/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leading box of tests/system/ranks_boxes.sh: becomes mpirun, with words and environment of
 * core/ranks/launch.h.
 *
 * Usage: ranks_lead JOB NETWORK ONESHOT PKI BOX,BOX... PROGRAM ARGUMENT...     a rank on each box
 */
#include "core/ranks/job.h"
#include "core/ranks/launch.h"

#include <string.h>

#define BOXES_MAX 8u

int main(int argc, char **argv)
{
	CLEANUP(ranks_texts_done) struct ranks_texts words = { .count = 0 }, environment = { .count = 0 };
	struct ranks_box boxes[BOXES_MAX];
	struct ranks_launch launch = { .boxes = boxes };
	char *variables[RANKS_LISTED_MAX + 4], folder[PATH_BYTES], *rest, *host;
	/* The test runs as root, which mpirun refuses. */
	char as_root[] = "OMPI_ALLOW_RUN_AS_ROOT=1", really[] = "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
	char root[PATH_BYTES];
	struct error err = { 0 };

	if (argc < 7)
		return 2;
	launch.job = (struct ranks_job_wish){ argv[1], argv[2], argv[3] };
	launch.pki = argv[4];
	launch.program = (const char *const *)argv + 6;
	for (rest = argv[5]; (host = strsep(&rest, ",")) && launch.count < BOXES_MAX;)
		boxes[launch.count++] = (struct ranks_box){ host, 1 };
	if (path_make(ranks_job_folder(argv[1], folder), &err) < 0 ||
	    ranks_mpirun(&launch, &words, &environment, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	memcpy(variables, environment.text, environment.count * sizeof(*variables));
	variables[environment.count] = as_root;
	variables[environment.count + 1] = really;
	(void)snprintf(root, sizeof(root), "KILN_ROOT=%.4000s",
		       getenv("KILN_ROOT") ? getenv("KILN_ROOT") : "");
	variables[environment.count + 2] = root;
	variables[environment.count + 3] = NULL;
	(void)execve(RANKS_MPIRUN, words.text, variables);
	perror(RANKS_MPIRUN);
	return 1;
}
