/* SPDX-License-Identifier: Apache-2.0 */
/*
 * note_champion CONF RUN SOURCE NUMBER: notes for the tracking server that this run's model is the champion.
 */
#include "core/run/tracking.h"

int main(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	int r = argc == 5 ? config_load(argv[1], &config, &err) : error_set(&err, -EINVAL, "four arguments");

	if (r == 0) {
		const struct tracking_champion champion = { .model = config.run.name,
							    .run_id = argv[2],
							    .source = argv[3],
							    .number = strtoull(argv[4], NULL, 10) };

		r = tracking_champion(&config, &champion, &err);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	return r < 0;
}
