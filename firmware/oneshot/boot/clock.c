/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits, for a bounded time, until the clock is set: S3 refuses a signed request whose time is wrong by
 * minutes (SigV4). The wait is short where a hardware clock kept the time while the box was off. Without such
 * a clock the system's clock starts with the time at which the box went down. The verb clock-servers writes
 * the time servers that systemd-timesyncd asks.
 */
#include "core/base/clock.h"
#include "core/run/run.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/clock/rtc.h"
#include "oneshot/boot/boot.h"
#include "oneshot/boot/last_good.h"
#include "oneshot/boot/wait_option.h"

#include <string.h>
#include <sysexits.h>

#define WAIT_S        15u  /* where a hardware clock kept the time; a time server usually answers sooner */
#define WAIT_NO_RTC_S 120u /* where none did, so that the time is wrong until a time server answers */

/* ---- Wait ---- */

static bool is_signed(const struct config_store *store)
{
	return strncmp(store->url, "file://", 7) != 0;
}

/* Returns whether the unfinished run or, where there is none, the next run uses a store whose requests are
 * signed. */
static bool signs_requests(void)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(run_done) struct run run = { 0 };
	const struct config *used = &run.config;
	bool any;

	if (run_load(&run, NULL) < 0 || run_state_is_final(run.state)) {
		if (config_load(config_path(0, NULL), &config, NULL) < 0)
			return false;
		used = &config;
	}
	any = is_signed(&used->sink);
	for (uint32_t i = 0; i < used->sources; i++)
		any = any || is_signed(&used->source[i].store);
	return any;
}

/* Waits until the clock is set, and returns the seconds waited. Does not wait where clock_synced() < 0: this
 * process may not ask the kernel, as in a container, where the host sets the clock. */
static unsigned wait_at_most(unsigned wait_s)
{
	unsigned waited = 0;

	for (; clock_synced() == 0 && waited < wait_s; waited++)
		(void)sleep(1);
	return waited;
}

static void wait_for_clock(unsigned wait_s, unsigned wait_no_rtc_s)
{
	const bool rtc_good = rtc_check(NULL) == 0;
	const unsigned most_s = rtc_good ? wait_s : wait_no_rtc_s;
	struct error why = { 0 };
	unsigned waited;

	if (clock_synced() != 0 || !signs_requests())
		return;
	if (!rtc_good && rtc_check(&why) < 0)
		event_send(&(struct event){ .id = EVENT_CLOCK_LOST },
			   "%s: until a server sets the clock, it goes on from the time at which the box "
			   "went down",
			   why.text);
	log_info("waiting at most %u s for the clock to be set", most_s);
	waited = wait_at_most(most_s);
	if (clock_synced() > 0)
		log_info("the clock is set, after %u s", waited);
	else
		event_send(&(struct event){ .id = EVENT_CLOCK_UNSET, .seconds = waited },
			   "the clock is not set after %u s, going on %s", waited,
			   rtc_good ? "by the box's hardware clock (RTC)"
				    : "from the time at which the box went down");
}

int oneshot_clock(int argc, char **argv)
{
	unsigned wait_s = UINT32_MAX;

	if (!wait_option(argc, argv, "--wait-s", &wait_s))
		return EX_USAGE;
	if (wait_s == UINT32_MAX)
		wait_for_clock(WAIT_S, WAIT_NO_RTC_S);
	else
		wait_for_clock(wait_s, wait_s);
	return EX_OK;
}

/* ---- Servers ---- */

int oneshot_clock_servers(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	char path[PATH_BYTES], folder[PATH_BYTES], text[CONFIG_HOSTS_MAX + 64];
	struct error err = { 0 };
	int r;

	(void)argc;
	(void)argv;
	/* No error here for a kiln.conf with mistakes: kiln-config.service reports them. */
	if (last_good_load(&config, &err) < 0 || !*config.clock.ntp_servers)
		return EX_OK;
	/* No escaping needed: core/config/config_forms.c accepts only characters of host names. */
	(void)snprintf(text, sizeof(text), "[Time]\nNTP=%s\n", config.clock.ntp_servers);
	if ((r = path_make(path_of(PATH_TIMESYNCD, NULL, folder), &err)) == 0)
		r = file_write_durable(path_of(PATH_TIMESYNCD, "50-kiln.conf", path), text, strlen(text),
				       &err);
	return r < 0 ? fatal(&err) : EX_OK;
}
