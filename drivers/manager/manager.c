/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/manager/manager.h"

#include "core/base/clock.h"
#include "drivers/bus/bus.h"
#include "drivers/manager/unit.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define OBJECT   "/org/freedesktop/systemd1"
#define TIMEDATE "org.freedesktop.timedate1"

#define POLL_MS 50u

struct manager {
	sd_bus *bus;
};

int manager_open(struct manager **ret_manager, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = calloc(1, sizeof(*manager));
	int r;

	if (!manager)
		return error_set(err, -ENOMEM, "no memory for a bus connection");
	if ((r = bus_open("systemd", MANAGER_WAIT_S, &manager->bus, err)) < 0)
		return r;
	*ret_manager = TAKE(manager);
	return 0;
}

void manager_closep(struct manager **manager)
{
	if (!*manager)
		return;
	bus_close((*manager)->bus);
	free(*manager);
	*manager = NULL;
}

void manager_set_wait(struct manager *manager, unsigned wait_s)
{
	(void)sd_bus_set_method_call_timeout(manager->bus, (uint64_t)wait_s * 1000000);
}

int manager_call(struct manager *manager, const char *method, const char *unit, const char *mode,
		 struct error *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = mode   ? sd_bus_call_method(manager->bus, MANAGER_SERVICE, OBJECT, MANAGER_INTERFACE, method,
					    &error, NULL, "ss", unit, mode)
		: unit ? sd_bus_call_method(manager->bus, MANAGER_SERVICE, OBJECT, MANAGER_INTERFACE, method,
					    &error, NULL, "s", unit)
		       : sd_bus_call_method(manager->bus, MANAGER_SERVICE, OBJECT, MANAGER_INTERFACE, method,
					    &error, NULL, "");

	if (r < 0)
		(void)error_set(err, r, "%s%s%s: %s", method, unit ? " " : "", unit ? unit : "",
				r == -ETIMEDOUT ? "systemd gave no answer in time; it may still act"
				: error.message ? error.message
						: strerror(-r));
	sd_bus_error_free(&error);
	return r < 0 ? r : 0;
}

int manager_start(struct manager *manager, const char *unit, struct error *err)
{
	return manager_call(manager, "StartUnit", unit, "replace", err);
}

int manager_stop(struct manager *manager, const char *unit, struct error *err)
{
	return manager_call(manager, "StopUnit", unit, "replace", err);
}

int manager_power(struct manager *manager, const char *target, struct error *err)
{
	return manager_call(manager, "StartUnit", target, "replace-irreversibly", err);
}

int manager_reset_failed(struct manager *manager, const char *unit, struct error *err)
{
	int r = manager_call(manager, "ResetFailedUnit", unit, NULL, err);

	/* -ENOENT: systemd does not have this unit (BUS_ERROR_NO_SUCH_UNIT), so there is nothing to reset. */
	return r == -ENOENT ? 0 : r;
}

int manager_reload(struct manager *manager, struct error *err)
{
	return manager_call(manager, "Reload", NULL, NULL, err);
}

int unit_get(struct manager *manager, const char *unit, const char *interface, const char *name, char type,
	     void *ret, struct error *err)
{
	CLEANUP(free_ptr) char *path = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = sd_bus_path_encode(OBJECT "/unit", unit, &path);

	if (r >= 0 && type == 's')
		r = sd_bus_get_property_string(manager->bus, MANAGER_SERVICE, path, interface, name, &error,
					       ret);
	else if (r >= 0)
		r = sd_bus_get_property_trivial(manager->bus, MANAGER_SERVICE, path, interface, name, &error,
						type, ret);
	if (r < 0)
		(void)error_set(err, r, "%s: cannot read %s: %s", unit, name,
				error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	return r < 0 ? r : 0;
}

/* Queues a job, by StartUnit or StopUnit. *ret_job is its path on the bus, where it exists until the job is
 * done. */
static int queue_job(struct manager *manager, const char *method, const char *unit, char *ret_job,
		     size_t size, struct error *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *answer = NULL;
	const char *job;
	int r = sd_bus_call_method(manager->bus, MANAGER_SERVICE, OBJECT, MANAGER_INTERFACE, method, &error,
				   &answer, "ss", unit, "replace");

	if (r >= 0)
		r = sd_bus_message_read(answer, "o", &job);
	if (r < 0)
		(void)error_set(err, r, "%s %s: %s", method, unit,
				error.message ? error.message : strerror(-r));
	else
		(void)snprintf(ret_job, size, "%s", job);
	sd_bus_message_unref(answer);
	sd_bus_error_free(&error);
	return r < 0 ? r : 0;
}

static int run_job(struct manager *manager, const char *method, const char *unit, uint64_t wait_s,
		   struct error *err)
{
	const struct timespec nap = { .tv_nsec = POLL_MS * 1000000L };
	uint64_t since_ms = clock_ms();
	char job[128];
	int r = queue_job(manager, method, unit, job, sizeof(job), err);

	while (r == 0) {
		CLEANUP(free_ptr) char *state = NULL;

		if (sd_bus_get_property_string(manager->bus, MANAGER_SERVICE, job, MANAGER_SERVICE ".Job",
					       "State", NULL, &state) < 0)
			return 0;
		if (clock_ms() - since_ms >= wait_s * 1000)
			r = error_set(err, -ETIMEDOUT, "%s: not done after %" PRIu64 " s", unit, wait_s);
		(void)nanosleep(&nap, NULL);
	}
	return r;
}

int manager_run(struct manager *manager, const char *unit, uint64_t wait_s, struct error *err)
{
	return run_job(manager, "StartUnit", unit, wait_s, err);
}

int manager_end(struct manager *manager, const char *unit, uint64_t wait_s, struct error *err)
{
	return run_job(manager, "StopUnit", unit, wait_s, err);
}

int manager_restarts(struct manager *manager, const char *unit, uint32_t *ret_restarts, struct error *err)
{
	return unit_get(manager, unit, MANAGER_SERVICE ".Service", "NRestarts", 'u', ret_restarts, err);
}

int unit_state_is(struct manager *manager, const char *unit, const char *state, struct error *err)
{
	CLEANUP(free_ptr) char *found = NULL;
	int r = unit_get(manager, unit, MANAGER_SERVICE ".Unit", "ActiveState", 's', &found, err);

	return r < 0 ? r : strcmp(found, state) == 0;
}

int unit_has_job(struct manager *manager, const char *unit, struct error *err)
{
	CLEANUP(free_ptr) char *path = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *answer = NULL;
	uint32_t job = 0;
	int r = sd_bus_path_encode(OBJECT "/unit", unit, &path);

	if (r >= 0)
		r = sd_bus_get_property(manager->bus, MANAGER_SERVICE, path, MANAGER_SERVICE ".Unit", "Job",
					&error, &answer, "(uo)");
	if (r >= 0)
		r = sd_bus_message_read(answer, "(uo)", &job, NULL);
	if (r < 0)
		(void)error_set(err, r, "%s: cannot read Job: %s", unit,
				error.message ? error.message : strerror(-r));
	sd_bus_message_unref(answer);
	sd_bus_error_free(&error);
	return r < 0 ? r : job != 0;
}

int manager_is_busy(struct manager *manager, const char *unit, bool *ret_busy, struct error *err)
{
	static const char *const busy[] = { "active", "activating", "deactivating", "reloading" };
	CLEANUP(free_ptr) char *found = NULL;
	int r = unit_get(manager, unit, MANAGER_SERVICE ".Unit", "ActiveState", 's', &found, err);

	if (r < 0)
		return r;
	*ret_busy = false;
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++)
		*ret_busy = *ret_busy || strcmp(found, busy[i]) == 0;
	if (!*ret_busy && (r = unit_has_job(manager, unit, err)) >= 0)
		*ret_busy = r > 0;
	return r < 0 ? r : 0;
}

int manager_update_is_busy(struct manager *manager, bool *ret_busy, struct error *err)
{
	int r = manager_is_busy(manager, "kiln-update-fetch.service", ret_busy, err);

	return r < 0 || *ret_busy ? r : manager_is_busy(manager, "kiln-update.service", ret_busy, err);
}

int manager_clock_is_set(struct manager *manager, bool *ret_set, struct error *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int set = 0, r = sd_bus_get_property_trivial(manager->bus, TIMEDATE, "/org/freedesktop/timedate1",
						     TIMEDATE, "NTPSynchronized", &error, 'b', &set);

	if (r < 0)
		(void)error_set(err, r, "systemd-timedated: cannot read NTPSynchronized: %s",
				error.message ? error.message : strerror(-r));
	else
		*ret_set = set != 0;
	sd_bus_error_free(&error);
	return r < 0 ? r : 0;
}
