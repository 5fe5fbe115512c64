/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the status pages of three daemons: status_pages RUN_ID PHASE [STEPS [DEGRADED]]. Every 100 ms the
 * counters grow by 1 step of 16 records and 4096 bytes, for 2 epochs of 500 steps; they stop after STEPS.
 * Runs until SIGTERM.
 */
#include "core/run/status.h"

#include <math.h>
#include <string.h>
#include <time.h>

static uint64_t wall_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void fill_traind(struct status_traind *page, uint64_t step, uint64_t ticks)
{
	page->epochs = 2;
	page->epoch_steps = 500;
	page->epoch = step / 500;
	page->step = step;
	page->epoch_step = step % 500;
	page->rows = step * 16;
	page->busy_us = ticks * 90000;
	page->waited_us = ticks * 5000;
	page->checkpoint_step = 100;
	page->checkpoint_us = wall_us() - 60000000;
	page->loss = 0.75 / (1 + (double)ticks / 50);
	page->accuracy = 0.5;
	page->validation_loss = page->validation_accuracy = NAN;
	(void)snprintf(page->device, sizeof(page->device), "test device");
}

static void fill(struct status *status, enum status_daemon daemon, uint64_t step, uint64_t ticks)
{
	if (daemon == STATUS_TRAIND)
		fill_traind(&status->traind, step, ticks);
	if (daemon == STATUS_FETCHD)
		status->fetchd = (struct status_fetchd){ .bytes = step * 4096, .skipped = 3, .retries = 7 };
	if (daemon == STATUS_UPLOADD)
		status->uploadd =
			(struct status_uploadd){ .checkpoint_step = 100, .checkpoint_us = wall_us() };
}

int main(int argc, char **argv)
{
	const struct timespec tick = { 0, 100000000 };
	struct status_page *pages[STATUS_DAEMONS] = { NULL };
	uint64_t last = argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
	struct error err = { 0 };

	if (argc < 3)
		return 2;
	status_set_degraded(argc > 4 ? argv[4] : "");
	for (int i = 0; i < STATUS_DAEMONS; i++)
		if (status_open((enum status_daemon)i, &pages[i], &err) < 0)
			return fprintf(stderr, "%s\n", err.text), 1;
	for (uint64_t ticks = 1;; ticks++) {
		for (int i = 0; i < STATUS_DAEMONS; i++) {
			struct status status = { 0 };

			(void)snprintf(status.run_id, sizeof(status.run_id), "%s", argv[1]);
			(void)snprintf(status.phase, sizeof(status.phase), "%s",
				       i == STATUS_TRAIND ? argv[2] : "working");
			(void)snprintf(status.text, sizeof(status.text), "%s says so\033[31m",
				       status_daemon_name((enum status_daemon)i));
			fill(&status, (enum status_daemon)i, 200 + (ticks < last ? ticks : last), ticks);
			status_write(pages[i], &status);
		}
		(void)nanosleep(&tick, NULL);
	}
}
