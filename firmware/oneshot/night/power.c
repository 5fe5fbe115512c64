/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/night/power.h"
#include "core/base/events.h"
#include "core/base/paths.h"
#include "core/box/night.h"
#include "core/box/update.h"
#include "drivers/clock/alarm.h"
#include "drivers/manager/manager.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <utmp.h>

/* Least time until the next start for which the box is switched off. An alarm during the shutdown would have
 * no effect, and the box would stay off. */
#define DOWN_S (5 * 60)

/* Returns whether an entry of utmp(5) is a person who is logged in. After a session that was cut off the
 * entry stays, but its process does not exist any more. */
static bool is_there(const struct utmp *entry)
{
	return entry->ut_type == USER_PROCESS && (kill(entry->ut_pid, 0) == 0 || errno == EPERM);
}

static bool somebody_is_there(char *out, size_t size)
{
	CLEANUP(close_file) FILE *file = NULL;
	char path[PATH_BYTES];
	struct utmp entry;

	file = fopen(path_of(PATH_UTMP, NULL, path), "re");
	while (file && fread(&entry, sizeof(entry), 1, file) == 1)
		if (is_there(&entry)) {
			(void)snprintf(out, size, "%.*s is logged in", (int)sizeof(entry.ut_user),
				       entry.ut_user);
			return true;
		}
	return false;
}

/* Checks the reasons to leave the box on for which systemd need not be asked. Where there is none, sets the
 * alarm that wakes the box. */
static int check_box(const struct config *config, int64_t now, int64_t wake, struct error *why)
{
	const bool off = config->power.when_finished == POWER_OFF;
	char who[64];

	if (somebody_is_there(who, sizeof(who)))
		return error_set(why, -EBUSY, "%s", who);
	if (wake <= now)
		return error_set(why, -EBUSY, "the next night begins within power.wake_early_min");
	if (wake - now < DOWN_S)
		return error_set(why, -EBUSY, "the box would wake in %" PRId64 " s for the next night",
				 wake - now);
	return off && config->power.wake_by == WAKE_BY_OTHER ? 0 : alarm_set(wake, why);
}

static bool waits_for_its_restart(void)
{
	struct update update;

	return update_load(&update, NULL) == 0 && update.state == UPDATE_INSTALLED;
}

/* Returns 1 where an update is being fetched or installed. An update that is installed and only waits for the
 * restart is no reason to leave the box on: at the next start the box boots the new slot. */
static int check_updates(const struct config *config, struct manager *manager, struct error *why,
			 struct error *err)
{
	bool busy;
	int r = manager_update_is_busy(manager, &busy, err);

	if (r < 0 || !busy || (config->power.when_finished == POWER_OFF && waits_for_its_restart()))
		return r;
	(void)error_set(why, -EBUSY, "an update is on its way");
	return 1;
}

static void say_held(const char *run_id, const struct error *why)
{
	event_send(&(struct event){ .id = EVENT_POWER_HELD, .run_id = run_id },
		   "power.when_finished: the box stays on: %s", why->text);
}

static void say_power(const struct config *config, const char *run_id, int64_t wake)
{
	const bool off = config->power.when_finished == POWER_OFF;
	const time_t time = wake;
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&time, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm);
	event_send(&(struct event){ .id = off ? EVENT_POWER_OFF : EVENT_POWER_SUSPEND, .run_id = run_id },
		   "power.when_finished = \"%s\", until %s", off ? "off" : "suspend", text);
}

int power_rest(const struct config *config, const char *run_id, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	const int64_t now = time(NULL), next = night_next(config, now),
		      wake = next - (int64_t)config->power.wake_early_min * 60;
	struct error why;
	int r;

	if (config->power.when_finished == POWER_NOTHING || next == 0)
		return 0;
	if (check_box(config, now, wake, &why) < 0) {
		say_held(run_id, &why);
		return 0;
	}
	if ((r = manager_open(&manager, err)) < 0 || (r = check_updates(config, manager, &why, err)) < 0)
		return r;
	if (r > 0) {
		say_held(run_id, &why);
		return 0;
	}
	say_power(config, run_id, wake);
	return manager_power(manager,
			     config->power.when_finished == POWER_OFF ? "poweroff.target" : "suspend.target",
			     err);
}
