/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/night/start_slots.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/series/series.h"
#include "drivers/manager/manager.h"
#include "oneshot/night/night.h"

#include <string.h>
#include <sysexits.h>

#define LOOK_S 1 /* between two looks whether a slot works */

/* ---- Each slot but 0 ---- */

typedef int slot_fn(struct manager *manager, bool *ret_busy, struct error *err);

/* Starts the units of a slot where none works. A service that notes the end of a trial goes on first: the
 * start of the target would end it. RUN_REST_FILE of another night is removed: kiln-finished would end the
 * units at once. kiln-begin notes what its run did. */
static int start(struct manager *manager, bool *ret_busy, struct error *err)
{
	char path[PATH_BYTES];
	bool started = false;
	int r;

	while ((r = manager_run_is_started(manager, &started, err)) == 0 && !started &&
	       (r = manager_slot_is_busy(manager, ret_busy, err)) == 0 && *ret_busy)
		(void)sleep(LOOK_S);
	if (r < 0 || started || (r = file_remove_durable(path_of(PATH_RUN, RUN_REST_FILE, path), err)) < 0)
		return r;
	return manager_start_trial(manager, err);
}

/* Calls `act` for the slots 1 .. slots - 1. *ret_busy: one of them is busy. */
static int each_slot(struct manager *manager, unsigned slots, slot_fn *act, bool *ret_busy, struct error *err)
{
	const unsigned mine = slot_now();
	int r = 0;

	*ret_busy = false;
	for (unsigned slot = 1; r == 0 && slot < slots; slot++) {
		bool busy = false;

		(void)slot_use(slot);
		r = act(manager, &busy, err);
		*ret_busy = *ret_busy || (r == 0 && busy);
	}
	(void)slot_use(mine);
	return r;
}

static int any_is_busy(unsigned slots, bool *ret_busy, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	int r = manager_open(&manager, err);

	return r < 0 ? r : each_slot(manager, slots, manager_slot_is_busy, ret_busy, err);
}

void start_slots_wait_rest(void)
{
	const unsigned slots = series_slots_tonight();
	bool busy = slots > 1, said = false, failed = false;

	while (busy) {
		struct error err = { 0 };

		/* systemd answers nobody while it reads its units. */
		if (any_is_busy(slots, &busy, &err) < 0) {
			if (!failed)
				log_warning("%s; asking again", err.text);
			failed = busy = true;
		} else if (busy && !said) {
			log_info("waiting until the trials of other slots rest");
			said = true;
		}
		if (busy)
			(void)sleep(LOOK_S);
	}
}

int oneshot_start_slots(int argc, char **argv)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	struct error err = { 0 };
	char path[PATH_BYTES];
	bool busy;

	(void)argc;
	(void)argv;
	/* First: a request that comes meanwhile starts this program again, and so does a failure. */
	if (file_remove_durable(path_of(PATH_RUNS, SERIES_START_FILE, path), &err) < 0 ||
	    manager_open(&manager, &err) < 0 ||
	    each_slot(manager, series_slots_tonight(), start, &busy, &err) < 0)
		return fatal(&err);
	return EX_OK;
}
