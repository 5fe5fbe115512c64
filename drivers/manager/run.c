/* SPDX-License-Identifier: Apache-2.0 */
/* The units of a run, in each slot. */
#include "core/run/run.h"
#include "core/base/clock.h"
#include "core/base/paths.h"
#include "core/ranks/job.h"
#include "drivers/manager/unit.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define REST_WAIT_MS 10000u /* upper bound of the wait until an ending run has stopped */
#define REST_POLL_MS 50u

/* A unit of a run, as slot_unit() names it in each slot. */
struct run_unit {
	const char *name, *suffix;
};

static const struct run_unit target = { "kiln-run", ".target" }, begin = { "kiln-begin", ".service" },
			     fetchd = { "kiln-fetchd", ".service" }, traind = { "kiln-traind", ".service" },
			     failed = { "kiln-run-failed", ".service" },
			     finished = { "kiln-finished", ".service" };

/* Units that all slots share. */
static const char *const box_units[] = { "kiln-config.service", "run-kiln-huge.mount", "kiln-uploadd.service",
					 "kiln-devices.service", "kiln-slots.service" };

static const char *name_of(struct run_unit unit, char out[static SLOT_UNIT_BYTES])
{
	return slot_unit(unit.name, unit.suffix, out);
}

/* ---- Failures ---- */

/* Returns 1 where the unit has failed, and says how; else 0. */
static int failure_of(struct manager *manager, const char *unit, struct manager_failure *ret_failure,
		      struct error *err)
{
	CLEANUP(free_ptr) char *result = NULL;
	struct manager_failure failure = { 0 };
	int r = unit_state_is(manager, unit, "failed", err);

	if (r <= 0)
		return r;
	if ((r = unit_get(manager, unit, MANAGER_SERVICE ".Service", "Result", 's', &result, err)) < 0 ||
	    (r = unit_get(manager, unit, MANAGER_SERVICE ".Service", "ExecMainStatus", 'i',
			  &failure.exit_status, err)) < 0)
		return r;
	(void)snprintf(failure.unit, sizeof(failure.unit), "%s", unit);
	(void)snprintf(failure.result, sizeof(failure.result), "%s", result);
	*ret_failure = failure;
	return 1;
}

int manager_ended(struct manager *manager, const char *unit, bool *ret_ended, struct manager_failure *ret_how,
		  struct error *err)
{
	struct manager_failure how = { .result = "success" };
	bool busy;
	int r = manager_is_busy(manager, unit, &busy, err);

	if (r < 0 || busy || (r = failure_of(manager, unit, &how, err)) < 0) {
		*ret_ended = false;
		return r;
	}
	(void)snprintf(how.unit, sizeof(how.unit), "%s", unit);
	*ret_ended = true;
	*ret_how = how;
	return 0;
}

int manager_run_failure(struct manager *manager, struct manager_failure *ret_failure, struct error *err)
{
	const struct run_unit units[] = { begin, fetchd, traind };
	char name[SLOT_UNIT_BYTES];
	int r = failure_of(manager, "kiln-config.service", ret_failure, err);

	for (size_t i = 0; r == 0 && i < sizeof(units) / sizeof(units[0]); i++)
		r = failure_of(manager, name_of(units[i], name), ret_failure, err);
	if (r != 0)
		return r < 0 ? r : 0;
	return error_set(err, -ENOENT, "none of the run's services has failed");
}

/* ---- The units of a job of ranks ---- */

/* In the order in which they depend on each other. */
static const char *(*const job_units[])(const char *job, char out[static RANKS_UNIT_BYTES]) = {
	ranks_job_begin_unit, ranks_job_fetchd_unit, ranks_job_unit
};
#define JOB_UNITS (sizeof(job_units) / sizeof(job_units[0]))

int manager_job_failure(struct manager *manager, const char *job, struct manager_failure *ret_failure,
			struct error *err)
{
	char unit[RANKS_UNIT_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < JOB_UNITS; i++)
		r = failure_of(manager, job_units[i](job, unit), ret_failure, err);
	if (r != 0)
		return r < 0 ? r : 0;
	return error_set(err, -ENOENT, "no unit of the job %s has failed", job);
}

int manager_job_reset(struct manager *manager, const char *job, struct error *err)
{
	char unit[RANKS_UNIT_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < JOB_UNITS; i++)
		r = manager_reset_failed(manager, job_units[i](job, unit), err);
	return r;
}

/* ---- The units of a slot ---- */

/* Forgets the failures of the units of this slot. */
static int reset_slot(struct manager *manager, struct error *err)
{
	const struct run_unit units[] = {
		begin,  fetchd,
		traind, { "kiln-hugepages", ".service" },
		target, { "kiln-finished", ".path" },
		failed, finished,
	};
	char name[SLOT_UNIT_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(units) / sizeof(units[0]); i++)
		r = manager_reset_failed(manager, name_of(units[i], name), err);
	return r;
}

int manager_reset_run(struct manager *manager, struct error *err)
{
	int r = reset_slot(manager, err);

	for (size_t i = 0; r == 0 && i < sizeof(box_units) / sizeof(box_units[0]); i++)
		r = manager_reset_failed(manager, box_units[i], err);
	return r;
}

/* ---- Start a run ---- */

int manager_run_is_started(struct manager *manager, bool *ret_started, struct error *err)
{
	/* While kiln-begin is still trying, the target is not active yet, but its start is a queued job. */
	char unit[SLOT_UNIT_BYTES];
	int r = unit_state_is(manager, name_of(target, unit), "active", err);

	if (r == 0)
		r = unit_has_job(manager, unit, err);
	*ret_started = r > 0;
	return r < 0 ? r : 0;
}

int manager_slot_is_busy(struct manager *manager, bool *ret_busy, struct error *err)
{
	const struct run_unit units[] = { target, finished, failed };
	char name[SLOT_UNIT_BYTES];
	int r = 0;

	*ret_busy = false;
	for (size_t i = 0; r == 0 && !*ret_busy && i < sizeof(units) / sizeof(units[0]); i++)
		r = manager_is_busy(manager, name_of(units[i], name), ret_busy, err);
	return r;
}

static bool is_marked(void)
{
	char path[PATH_BYTES];

	return access(path_of(PATH_RUN, RUN_REST_FILE, path), F_OK) == 0;
}

/* Returns 1 where the run's trainer has ended while the run's target is still active. Returns 0 for a trainer
 * that crashed: it will be restarted, so its state is "activating".
 */
static int is_resting(struct manager *manager, struct error *err)
{
	char unit[SLOT_UNIT_BYTES];
	int r = unit_state_is(manager, name_of(target, unit), "active", err);

	if (r > 0)
		r = unit_state_is(manager, name_of(traind, unit), "inactive", err);
	return r;
}

/* Stops the target of a run that is ending, and waits until it has stopped. Without that a start of the
 * target would do nothing, because it is still active; then kiln-finished.service, which Conflicts= with the
 * target, would stop the new run. kiln-finished removes the file RUN_REST_FILE (the mark) once everything has
 * stopped. */
static int end_resting(struct manager *manager, struct error *err)
{
	const struct timespec nap = { .tv_nsec = REST_POLL_MS * 1000000L };
	uint64_t since_ms = clock_ms();
	char unit[SLOT_UNIT_BYTES];
	int r = is_marked() ? 1 : is_resting(manager, err);

	if (r <= 0 || (r = manager_stop(manager, name_of(target, unit), err)) < 0)
		return r;
	while ((r = unit_state_is(manager, unit, "inactive", err)) >= 0 && (r == 0 || is_marked()) &&
	       clock_ms() - since_ms < REST_WAIT_MS)
		(void)nanosleep(&nap, NULL);
	return r < 0 ? r : 0;
}

static int restart(struct manager *manager, const char *unit, struct error *err)
{
	return manager_call(manager, "RestartUnit", unit, "replace", err);
}

int manager_start_run(struct manager *manager, struct error *err)
{
	bool started = false;
	int r = end_resting(manager, err);

	if (r < 0 || (r = manager_reset_run(manager, err)) < 0 ||
	    (r = restart(manager, "kiln-uploadd.service", err)) < 0 ||
	    (r = manager_run_is_started(manager, &started, err)) < 0 ||
	    (!started && (r = restart(manager, "kiln-devices.service", err)) < 0))
		return r;
	return manager_start_trial(manager, err);
}

int manager_start_trial(struct manager *manager, struct error *err)
{
	char unit[SLOT_UNIT_BYTES];
	/* The units of slot 0 keep their failures until the next night, for kiln status. */
	const int r = slot_now() > 0 ? reset_slot(manager, err) : 0;

	return r < 0 ? r : manager_start(manager, name_of(target, unit), err);
}

int manager_stop_trial(struct manager *manager, struct error *err)
{
	char unit[SLOT_UNIT_BYTES];

	return manager_stop(manager, name_of(target, unit), err);
}

static int stop_from(struct manager *manager, unsigned first, struct error *err)
{
	const unsigned mine = slot_now();
	int r = 0;

	for (unsigned slot = first; r == 0 && slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		r = manager_stop_trial(manager, err);
	}
	(void)slot_use(mine);
	return r;
}

int manager_stop_run(struct manager *manager, struct error *err)
{
	return stop_from(manager, 0, err);
}

int manager_stop_beside(struct manager *manager, struct error *err)
{
	return stop_from(manager, 1, err);
}
