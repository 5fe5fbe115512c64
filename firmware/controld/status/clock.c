/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the clock is set, for one whose sandbox forbids to ask the kernel (ProtectClock=): where
 * systemd-timesyncd runs there is its folder, and in it a mark once the clock is set; whoever else keeps
 * it, chrony say, leaves none, and systemd-timedated is asked. That one is started for each answer and
 * ends again, which the journal has: a box that idles would write for it all day.
 */
#include "core/base/clock.h"

#include "controld/controld.h"
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
