/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a run: what kiln.conf wants of the box then, once the store has all of it.
 */
#include "core/clock.h"
#include "core/log.h"
#include "core/night.h"
#include "core/paths.h"
#include "core/status.h"
#include "drivers/manager/manager.h"
#include "oneshot/oneshot.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define POLL_S 1
/* The box wakes this long before the next start: drivers, network and clock come up. */
#define WAKE_EARLY_S 180
#define WAKE_ALARM   "/sys/class/rtc/rtc0/wakealarm"

/* uploadd writes its page after each pass; a pass that began after the run came to rest has seen its last
 * file. Two pages: the first may be of a pass that began before. */
static bool is_uploaded(uint64_t *last_us, unsigned *pages, struct status *status)
{
	if (status_read(STATUS_UPLOADD, status, NULL) < 0)
		return false;
	if (status->updated_us > *last_us)
		++*pages;
	*last_us = status->updated_us;
	return *pages > 2 && strcmp(status->phase, "watching") == 0;
}

static void wait_for_uploads(const char *run_id, uint64_t wait_min)
{
	uint64_t start_us = clock_us(), last_us = 0;
	struct status status = { .text = "it says nothing" };
	unsigned pages = 0;

	while (!is_uploaded(&last_us, &pages, &status)) {
		if (clock_us() - start_us >= wait_min * 60 * 1000000) {
			log_warning("%s: not all of it is in the store after %" PRIu64
				    " minutes (kiln-uploadd: %s); the rest stays in the spool",
				    run_id, wait_min, status.text);
			return;
		}
		(void)sleep(POLL_S);
	}
	log_info("%s: all of it is in the store", run_id);
}

/* rtc(4): a set alarm is cleared before another is taken. */
static int set_alarm(int64_t wake, struct error *err)
{
	char text[32];

	for (int i = 0; i < 2; i++) {
		CLEANUP(close_file) FILE *file = fopen(WAKE_ALARM, "we");

		(void)snprintf(text, sizeof(text), "%" PRId64 "\n", i ? wake : 0);
		if (!file || fputs(text, file) < 0 || fflush(file) != 0)
			return error_set(err, -EIO, WAKE_ALARM ": cannot set it to %s: %s", i ? text : "0",
					 strerror(errno));
	}
	return 0;
}

static int rest(const struct config *config, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	bool off = config->power.when_finished == POWER_OFF;
	int r = off ? 0 : set_alarm(night_next(config, time(NULL)) - WAKE_EARLY_S, err);

	if (r < 0 || (r = manager_open(&manager, err)) < 0)
		return r;
	log_notice("power.when_finished = \"%s\"", off ? "off" : "suspend");
	return manager_start(manager, off ? "poweroff.target" : "suspend.target", err);
}

/* The box's own configuration decides, not what the run was begun with. */
static int finished(struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(run_done) struct run run = { 0 };
	char path[PATH_BYTES];
	int r = run_load(&run, err);

	/* First, for a box that is switched on again must not go straight off once more. */
	if (unlink(path_of(PATH_RUN, RUN_REST_FILE, path)) < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	if (r < 0 || (r = config_load(config_path(0, NULL), &config, err)) < 0)
		return r;
	log_notice("%s: %s", run.id, run_state_name(run.state));
	/* Whoever stopped it is still there. */
	if (config.power.when_finished == POWER_NOTHING || run.state == RUN_STOPPED)
		return 0;
	wait_for_uploads(run.id, config.power.upload_wait_min);
	return rest(&config, err);
}

int oneshot_finished(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	return finished(&err) < 0 ? fatal(&err) : EX_OK;
}
