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
	char folder[PATH_BYTES], *rest, *host;
	struct error err = { 0 };

	if (argc < 7)
		return 2;
	launch.job = (struct ranks_job_wish){ argv[1], ranks_job_folder(argv[1], folder), argv[2], argv[3] };
	launch.pki = argv[4];
	launch.program = (const char *const *)argv + 6;
	for (rest = argv[5]; (host = strsep(&rest, ",")) && launch.count < BOXES_MAX;)
		boxes[launch.count++] = (struct ranks_box){ host, 1 };
	if (path_make(folder, &err) < 0 || ranks_mpirun(&launch, &words, &environment, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < environment.count; i++)
		(void)putenv(environment.text[i]);
	(void)execv(RANKS_MPIRUN, words.text);
	perror(RANKS_MPIRUN);
	return 1;
}
