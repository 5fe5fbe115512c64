/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets RAUC install the bundle at PATH_BUNDLE into the other slot, and restarts the box into that slot.
 * update.h explains why a power cut does no harm.
 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/box/floor.h"
#include "core/box/update.h"
#include "core/run/run.h"
#include "core/run/status.h"
#include "drivers/control/client.h"
#include "drivers/manager/manager.h"
#include "drivers/notify/notify.h"
#include "drivers/rauc/rauc.h"
#include "oneshot/update/failed.h"
#include "oneshot/update/update.h"

#include <string.h>
#include <sysexits.h>
#include <time.h>

#define POLL_MS          500u
#define COMMAND_LINE_MAX 4096u
/* upper bound of the wait for a checkpoint: a trainer that hangs must not block the update, which may correct
 * it */
#define CHECKPOINT_WAIT_S 900u

static void nap(void)
{
	const struct timespec time = { .tv_nsec = POLL_MS * 1000000L };

	(void)nanosleep(&time, NULL);
}

static void note(struct update *update, enum update_state state, const char *text)
{
	struct error err;

	update->state = state;
	(void)snprintf(update->text, sizeof(update->text), "%s", text);
	notify_status("%s%s%s", update_state_name(state), *text ? ": " : "", text);
	if (update_save(update, &err) < 0)
		log_warning("%s", err.text);
}

/* ---- Before: this slot is good, and a run has its checkpoint ---- */

/* Refuses the update while this slot is on trial: the other slot must not be overwritten, because the box may
 * have to return to it. */
static int refuse_on_trial(struct error *err)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/cmdline", "re");
	char line[COMMAND_LINE_MAX], path[PATH_BYTES], tail[16];
	const char *slot;
	int r;

	if (!file || !fgets(line, sizeof(line), file))
		return error_set(err, -EIO, "/proc/cmdline: cannot read it");
	if (!(slot = strstr(line, "rauc.slot=")) || !slot[strlen("rauc.slot=")])
		return 0;
	(void)snprintf(tail, sizeof(tail), "%c/trial", slot[strlen("rauc.slot=")]);
	if ((r = file_exists(path_of(PATH_ESP_SLOTS, tail, path), err)) <= 0)
		return r;
	return error_set(
		err, -EBUSY,
		"slot %c is on trial after its update: the next update has to wait until the slot is "
		"good",
		*tail);
}

/* Asks for a checkpoint through kiln-controld, because only kiln-controld may write struct run_want
 * (core/run/run.h). */
static int ask_checkpoint(struct error *err)
{
	CLEANUP(client_closep) struct client *client = NULL;
	CLEANUP(json_free) cJSON *result = NULL;
	int r = client_open_box(NULL, &client, err);

	return r < 0 ? r : client_call(client, "checkpoint.now", NULL, &result, err);
}

/* Returns whether systemd has started the run. A run that halted after an error is unfinished, but not
 * started, and the update may correct the error. Returns true where systemd does not answer. */
static bool run_is_started(struct manager *manager)
{
	struct error err;
	bool started;

	return !manager || manager_run_is_started(manager, &started, &err) < 0 || started;
}

/* Returns whether the run of this slot may still write a checkpoint. A paused run has written one already; a
 * run that is stopping writes its last one. */
static bool is_training(struct manager *manager)
{
	enum run_state state;

	return run_state_get(&state, NULL) == 0 && (state == RUN_RUNNING || state == RUN_STOPPING) &&
	       run_is_started(manager);
}

static uint64_t checkpoint_us(void)
{
	struct status status;

	return status_read(STATUS_TRAIND, &status, NULL) == 0 ? status.traind.checkpoint_us : 0;
}

static void note_checkpoints(uint64_t ret_us[static SLOTS_MAX])
{
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		ret_us[slot] = checkpoint_us();
	}
	(void)slot_use(0);
}

/* Returns whether a run may still write a checkpoint that is newer than the one noted. */
static bool is_awaited(struct manager *manager, const uint64_t before_us[static SLOTS_MAX])
{
	bool awaited = false;

	for (unsigned slot = 0; slot < SLOTS_MAX && !awaited; slot++) {
		(void)slot_use(slot);
		awaited = is_training(manager) && checkpoint_us() <= before_us[slot];
	}
	(void)slot_use(0);
	return awaited;
}

static void wait_for_checkpoint(struct update *update)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	uint64_t before_us[SLOTS_MAX], since_ms = clock_ms();
	struct error err;

	if (manager_open(&manager, &err) < 0)
		log_debug("%s", err.text);
	note_checkpoints(before_us);
	if (!is_awaited(manager, before_us))
		return;
	note(update, UPDATE_WAITING, "for the run's next checkpoint");
	if (ask_checkpoint(&err) < 0)
		log_warning("%s; waiting for the checkpoint that the run writes by itself", err.text);
	while (is_awaited(manager, before_us)) {
		if (clock_ms() - since_ms > CHECKPOINT_WAIT_S * 1000u) {
			log_warning("no checkpoint for %u s, installing without one", CHECKPOINT_WAIT_S);
			return;
		}
		nap();
	}
}

/* ---- RAUC ---- */

/* Refuses a version older than the floor, with a sentence. The handler check-version of RAUC refuses it, too,
 * because the bundle can be replaced until RAUC opens it; but RAUC does not pass on why. */
static int refuse_older(const struct update *update, struct error *err)
{
	int r = floor_check(update->version, err);

	if (r == 0 || !floor_is_open())
		return r;
	event_send(&(struct event){ .id = EVENT_UPDATE_DOWNGRADE, .url = update->url }, "%s", err->text);
	return 0;
}

/* Reads the version of the bundle, and compares it. A bundle that RAUC does not accept has no version; then
 * rauc_install() reports what is wrong with it. */
static int look_at_bundle(struct rauc *rauc, const char *path, struct update *update, struct error *err)
{
	if (rauc_version(rauc, path, update->version, sizeof(update->version), err) == 0)
		return refuse_older(update, err);
	log_debug("%s", err->text);
	return 0;
}

static int install(struct update *update, struct error *err)
{
	CLEANUP(rauc_closep) struct rauc *rauc = NULL;
	struct rauc_progress progress = { .busy = true };
	char path[PATH_BYTES], text[1024];
	int r = rauc_open(&rauc, err);

	if (r < 0 || (r = look_at_bundle(rauc, path_of(PATH_BUNDLE, NULL, path), update, err)) < 0)
		return r;
	note(update, UPDATE_INSTALLING, "");
	if ((r = rauc_install(rauc, path, err)) < 0)
		return r;
	while (r == 0 && progress.busy) {
		nap();
		r = rauc_look(rauc, &progress, err);
		notify_status("installing: %u %%, %s", progress.percent, progress.text);
	}
	if (r == -EPIPE)
		return error_set(err, r, "RAUC ended in the middle of the installation");
	if (r < 0 || (r = rauc_last_error(rauc, text, sizeof(text), err)) < 0)
		return r;
	return *text ? error_set(err, -EBADMSG, "RAUC: %s", text) : 0;
}

/* ---- After: the box restarts ---- */

static bool is_busy(struct manager *manager)
{
	enum run_state state;
	struct error err;
	bool active = false;
	int64_t since;

	if (((run_state_get(&state, NULL) == 0 && state < RUN_STOPPED) || run_asked_get(&since, NULL) == 0) &&
	    run_is_started(manager))
		return true;
	/* Wait for kiln-finished, too: it waits for the uploads, and may switch the box off. */
	if (manager_is_busy(manager, "kiln-finished.service", &active, &err) < 0)
		log_debug("%s", err.text);
	return active;
}

static int restart(struct update *update, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	bool goes_off;
	int r = manager_open(&manager, err);

	if (r < 0)
		return r;
	if (!update->restart && is_busy(manager)) {
		note(update, UPDATE_INSTALLED, "the box restarts into it when the run has ended");
		while (is_busy(manager))
			nap();
	}
	/* Where the box is being switched off anyway, after a night or by a person, no restart is needed: it
	 * boots the other slot when it is switched on again. */
	if ((r = manager_is_busy(manager, "poweroff.target", &goes_off, err)) < 0 || goes_off)
		return r;
	note(update, UPDATE_RESTARTING, "");
	event_send(&(struct event){ .id = EVENT_UPDATE_RESTARTS, .url = update->url },
		   "restarting into the other slot");
	return manager_power(manager, "reboot.target", err);
}

int oneshot_update(int argc, char **argv)
{
	static struct update update;
	struct error err = { 0 };
	int r = update_load(&update, &err);

	(void)argc;
	(void)argv;
	if (r < 0)
		return fatal(&err);
	if (refuse_on_trial(&err) < 0)
		return update_failed(&update, &err);
	wait_for_checkpoint(&update);
	if (install(&update, &err) < 0)
		return update_failed(&update, &err);
	update_discard();
	event_send(&(struct event){ .id = EVENT_UPDATE_INSTALLED, .url = update.url },
		   "%s is in the other slot, which boots next", update.url);
	return restart(&update, &err) < 0 ? update_failed(&update, &err) : EX_OK;
}
