/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the clock is set, for one whose sandbox forbids to ask the kernel (ProtectClock=):
 * systemd-timesyncd leaves a mark; whoever else keeps the clock, chrony say, leaves none, and
 * systemd-timedated is asked.
 */
#include "core/clock.h"

#include "controld/controld.h"
#include "core/log.h"
#include "drivers/manager/manager.h"

#include <unistd.h>

#define ASK_MS 60000u /* systemd-timedated is started for each answer */

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
	if (access("/run/systemd/timesync/synchronized", F_OK) == 0)
		return true;
	if (asked_ms == 0 || clock_ms() - asked_ms > ASK_MS) {
		answer = ask_systemd();
		asked_ms = clock_ms();
	}
	return answer;
}
