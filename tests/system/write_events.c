/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_events FOLDER SEGMENT_BYTES POINTS: writes event files into the folder. For each line on standard
 * input it appends POINTS records and prints the number of bytes appended so far.
 */
#include "core/base/cleanup.h"
#include "model/formats/tfevents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int write_points(struct tfevents *events, uint64_t from, uint64_t count, struct error *err)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = tfevents_scalars(events, from + i,
				     (const struct tfevents_scalar[]){ { "batch_loss", 0.5f },
								       { "batch_accuracy", 0.5f },
								       { "records_per_second", 1.0f } },
				     3, err);
	return r == 0 ? tfevents_sync(events, err) : r;
}

int main(int argc, char **argv)
{
	CLEANUP(tfevents_closep) struct tfevents *events = NULL;
	struct error err = { 0 };
	uint64_t step = 0;
	char line[16];

	if (argc != 4 || tfevents_open(argv[1], strtoull(argv[2], NULL, 10), &events, &err) < 0 ||
	    tfevents_session_start(events, 0, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		const uint64_t count = strtoull(argv[3], NULL, 10);

		if (write_points(events, step, count, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		step += count;
		printf("%" PRIu64 "\n", step);
		(void)fflush(stdout);
	}
	return 0;
}
