/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd restarts a daemon at once and without limit. systemd 252 has no pause between attempts that grows,
 * so the program itself waits. The count of forgiven restarts is a file in the folder of the status page,
 * which survives the process, but not a stop of the service (RuntimeDirectoryPreserve=restart). The last
 * words (the error with which a daemon ended) are a file in PATH_SLOT, which survives both.
 */
#include "drivers/notify/back_off.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "drivers/manager/manager.h"
#include "drivers/notify/alive.h"

#include <inttypes.h>
#include <string.h>
#include <systemd/sd-daemon.h>

/* has the number of restarts (of systemd's NRestarts=) that are forgiven */
#define FORGIVEN_FILE    "restarts"
#define REASON_BYTES_MAX 8192u
/* EXTEND_TIMEOUT_USEC= replaces TimeoutStartSec=, so grant the longest one, that of kiln-traind */
#define START_S        300u
#define UNKNOWN_WAIT_S 5u /* the wait where systemd cannot be asked for the number of restarts */

static enum status_daemon our_daemon = STATUS_DAEMONS;
/* systemd's NRestarts=, and how many of these restarts are not forgiven */
static uint32_t our_restarts, our_failures;

unsigned alive_back_off_s(uint32_t failures)
{
	if (failures == 0)
		return 0;
	return failures <= 9 ? 1u << (failures - 1) : ALIVE_BACK_OFF_MAX;
}

static bool is_supervised(void)
{
	return getenv("NOTIFY_SOCKET") && getenv("INVOCATION_ID");
}

/* Reads NRestarts= of kiln-NAME.service. The caller gives the name, because sd_pid_get_unit(3) does not work
 * under ProtectProc=. */
static bool restarts(const char *name, uint32_t *ret_count)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	struct error err;
	char service[32], unit[SLOT_UNIT_BYTES];

	if (!is_supervised())
		return false;
	(void)snprintf(service, sizeof(service), "kiln-%s", name);
	(void)slot_unit(service, ".service", unit);
	if (manager_open(&manager, &err) < 0 || manager_restarts(manager, unit, ret_count, &err) < 0) {
		log_warning("%s; the number of failures is not known, waiting %u s", err.text,
			    UNKNOWN_WAIT_S);
		(void)sleep(UNKNOWN_WAIT_S);
		return false;
	}
	return true;
}

static uint32_t forgiven(enum status_daemon daemon)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];

	if (file_read(status_path(daemon, FORGIVEN_FILE, path), 32, &text, NULL, NULL) < 0)
		return 0;
	return (uint32_t)strtoul(text, NULL, 10);
}

void back_off_forget(void)
{
	char path[PATH_BYTES], text[32];
	int bytes = snprintf(text, sizeof(text), "%" PRIu32 "\n", our_restarts);
	struct error err;

	status_set_degraded("");
	if (our_daemon != STATUS_DAEMONS && our_restarts > 0 &&
	    file_write_durable(status_path(our_daemon, FORGIVEN_FILE, path), text, (uint64_t)bytes, &err) < 0)
		log_warning("%s", err.text);
	if (our_failures > 0)
		event_send(&(struct event){ .id = EVENT_SERVICE_RECOVERED, .failures = our_failures },
			   "running well again after %" PRIu32 " failures", our_failures);
}

/* The path of the file that says why the daemon's last process ended, for instance "PATH_SLOT/reason-traind".
 */
static char *reason_of(enum status_daemon daemon, char out[static PATH_BYTES])
{
	char tail[64];

	(void)snprintf(tail, sizeof(tail), "reason-%s", status_daemon_name(daemon));
	return path_of(PATH_SLOT, tail, out);
}

bool alive_last_words(enum status_daemon daemon, char *out, size_t size)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];

	if (file_read(reason_of(daemon, path), REASON_BYTES_MAX, &text, NULL, NULL) < 0)
		return false;
	(void)snprintf(out, size, "%s", text);
	return true;
}

static void pop_reason(enum status_daemon daemon, char *out, size_t size)
{
	char path[PATH_BYTES];

	if (!alive_last_words(daemon, out, size))
		(void)snprintf(out, size, "killed, or crashed");
	(void)unlink(reason_of(daemon, path));
}

/* Writes the id of the current run into the page: kiln status shows only pages with this id. */
static void name_run(struct status *status)
{
	CLEANUP(run_done) struct run run = { 0 };

	if (run_load(&run, NULL) == 0)
		(void)snprintf(status->run_id, sizeof(status->run_id), "%s", run.id);
}

static void say_wait(uint32_t failures, const char *reason, char *out, size_t size)
{
	(void)snprintf(out, size, "failed %" PRIu32 " times, trying again in %u s: %.180s", failures,
		       alive_back_off_s(failures), reason);
}

/* Fills the status page with the reason of the wait, and sets the "degraded" text, which stays after the
 * wait. */
static void explain(uint32_t failures, const char *reason, struct status *status)
{
	char text[sizeof(status->text)];
	bool degraded = failures >= ALIVE_DEGRADED_AT;

	name_run(status);
	(void)snprintf(status->phase, sizeof(status->phase), "%s", degraded ? "degraded" : "waiting");
	say_wait(failures, reason, status->text, sizeof(status->text));
	(void)snprintf(text, sizeof(text), "failed %" PRIu32 " times, the last time: %.180s", failures,
		       reason);
	status_set_degraded(degraded ? text : "");
}

static void tell(uint32_t failures, const char *phase, const char *text)
{
	unsigned wait_s = alive_back_off_s(failures);

	event_send(&(struct event){ .id = failures >= ALIVE_DEGRADED_AT ? EVENT_SERVICE_DEGRADED
									: EVENT_SERVICE_RESTARTED,
				    .failures = failures,
				    .seconds = wait_s },
		   "%s", text);
	(void)sd_notifyf(0, "STATUS=%s: %s\nEXTEND_TIMEOUT_USEC=%" PRIu64, phase, text,
			 ((uint64_t)wait_s + START_S) * 1000000);
}

static void wait_with(enum status_daemon daemon, uint32_t failures, const char *reason)
{
	struct status status = { 0 };
	struct status_page *page = NULL;

	explain(failures, reason, &status);
	tell(failures, status.phase, status.text);
	if (status_open(daemon, &page, NULL) == 0)
		status_write(page, &status);
	status_closep(&page);
	(void)sleep(alive_back_off_s(failures));
}

void alive_back_off(enum status_daemon daemon)
{
	char reason[256], path[PATH_BYTES];
	uint32_t old = forgiven(daemon);

	our_daemon = daemon;
	pop_reason(daemon, reason, sizeof(reason));
	/* There are fewer restarts than were forgiven: somebody started or reset the service, and so systemd
	 * counts NRestarts= from 0 again. */
	if (restarts(status_daemon_name(daemon), &our_restarts) && our_restarts < old) {
		(void)unlink(status_path(daemon, FORGIVEN_FILE, path));
		old = 0;
	}
	our_failures = our_restarts > old ? our_restarts - old : 0;
	if (our_failures)
		wait_with(daemon, our_failures, reason);
}

uint32_t alive_failures(void)
{
	return our_failures;
}

bool alive_back_off_oneshot(const char *name, uint32_t failures, const char *reason)
{
	char text[256];
	uint32_t before = 0;

	if (restarts(name, &before))
		failures += before;
	if (failures > 0 && is_supervised()) {
		say_wait(failures, reason, text, sizeof(text));
		tell(failures, failures >= ALIVE_DEGRADED_AT ? "degraded" : "waiting", text);
		(void)sleep(alive_back_off_s(failures));
	}
	return is_supervised();
}

int alive_fatal(enum status_daemon daemon, const struct error *err)
{
	char path[PATH_BYTES];

	if (file_write_durable(reason_of(daemon, path), err->text, strlen(err->text), NULL) < 0)
		log_debug("%s: cannot write it", path);
	return fatal(err);
}
