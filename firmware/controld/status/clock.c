/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controld's unit has ProtectClock=, which forbids to ask the kernel whether the clock is set.
 * systemd-timesyncd has a folder in /run, and makes a file in it once the clock is set. Other programs
 * (chrony, for example) make no such file: then ask systemd-timedated. systemd starts timedated for each
 * question and logs the start, so the answer is used for a minute. Otherwise an idle box would fill its
 * journal.
 */
#include "controld/status/clock.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/manager/manager.h"

#include <unistd.h>

#define ASK_MS    60000u
#define TIMESYNCD "/run/systemd/timesync"

static bool ask_systemd(void)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	struct error err = { 0 };
	bool set = false;

	if (manager_open(&manager, &err) < 0 || manager_clock_is_set(manager, &set, &err) < 0)
		log_debug("%s; taking the clock as not set", err.text);
	return set;
}

bool clock_is_set(void)
{
	static uint64_t asked_ms;
	static bool answer;
	int synced = clock_synced();

	if (synced >= 0)
		return synced > 0;
	if (access(TIMESYNCD, F_OK) == 0)
		return access(TIMESYNCD "/synchronized", F_OK) == 0;
	if (asked_ms == 0 || clock_ms() - asked_ms > ASK_MS) {
		answer = ask_systemd();
		asked_ms = clock_ms();
	}
	return answer;
}
