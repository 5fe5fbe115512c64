/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/manager/manager.h"

#include <stdarg.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define SERVICE   "org.freedesktop.systemd1"
#define OBJECT    "/org/freedesktop/systemd1"
#define INTERFACE "org.freedesktop.systemd1.Manager"

struct manager {
	sd_bus *bus;
};

static const char *const run_units[] = {
	"kiln-config.service", "kiln-begin.service",      "kiln-hugepages.service", "run-kiln-huge.mount",
	"kiln-fetchd.service", "kiln-traind.service",     MANAGER_RUN_UNIT,         "kiln-uploadd.service",
	"kiln-finished.path",  "kiln-run-failed.service", "kiln-finished.service",
};

int manager_open(struct manager **ret_manager, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = calloc(1, sizeof(*manager));
	int r;

	if (!manager)
		return error_set(err, -ENOMEM, "no memory for a bus connection");
	r = sd_bus_open_system(&manager->bus);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(manager->bus, (uint64_t)MANAGER_WAIT_S * 1000000);
	if (r < 0)
		return error_set(err, r, "cannot reach systemd over D-Bus: %s", strerror(-r));
	*ret_manager = TAKE(manager);
	return 0;
}

void manager_closep(struct manager **manager)
{
	if (!*manager)
		return;
	sd_bus_flush_close_unref((*manager)->bus);
	free(*manager);
	*manager = NULL;
}

/* `mode` may be NULL for a method that takes the unit alone, both for one that takes nothing. */
static int call(struct manager *manager, const char *method, const char *unit, const char *mode,
		struct error *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = mode   ? sd_bus_call_method(manager->bus, SERVICE, OBJECT, INTERFACE, method, &error, NULL,
					    "ss", unit, mode)
		: unit ? sd_bus_call_method(manager->bus, SERVICE, OBJECT, INTERFACE, method, &error, NULL,
					    "s", unit)
		       : sd_bus_call_method(manager->bus, SERVICE, OBJECT, INTERFACE, method, &error, NULL,
					    "");

	if (r < 0)
		(void)error_set(err, r, "%s%s%s: %s", method, unit ? " " : "", unit ? unit : "",
				error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	return r < 0 ? r : 0;
}

int manager_start(struct manager *manager, const char *unit, struct error *err)
{
	return call(manager, "StartUnit", unit, "replace", err);
}

int manager_stop(struct manager *manager, const char *unit, struct error *err)
{
	return call(manager, "StopUnit", unit, "replace", err);
}

int manager_reset_failed(struct manager *manager, const char *unit, struct error *err)
{
	int r = call(manager, "ResetFailedUnit", unit, NULL, err);

	/* BUS_ERROR_NO_SUCH_UNIT */
	return r == -ENOENT ? 0 : r;
}

int manager_reload(struct manager *manager, struct error *err)
{
	return call(manager, "Reload", NULL, NULL, err);
}

int manager_restarts(struct manager *manager, const char *unit, uint32_t *ret_restarts, struct error *err)
{
	CLEANUP(free_ptr) char *path = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = sd_bus_path_encode(OBJECT "/unit", unit, &path);

	if (r >= 0)
		r = sd_bus_get_property_trivial(manager->bus, SERVICE, path, SERVICE ".Service", "NRestarts",
						&error, 'u', ret_restarts);
	if (r < 0)
		(void)error_set(err, r, "%s: cannot read NRestarts: %s", unit,
				error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	return r < 0 ? r : 0;
}

int manager_reset_run(struct manager *manager, struct error *err)
{
	for (size_t i = 0; i < sizeof(run_units) / sizeof(run_units[0]); i++) {
		int r = manager_reset_failed(manager, run_units[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

int manager_start_run(struct manager *manager, struct error *err)
{
	int r = manager_reset_run(manager, err);

	return r < 0 ? r : manager_start(manager, MANAGER_RUN_UNIT, err);
}
