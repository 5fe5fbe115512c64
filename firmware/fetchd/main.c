/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/limits.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "fetchd/plan/make_plan.h"
#include "fetchd/run.h"
#include "fetchd/setup.h"

#include <getopt.h>
#include <string.h>
#include <sysexits.h>

/* --rank R --world N: several trainers share the run's lanes; this is the fetchd of the R-th (0 ..) of N. */
static bool parse(int argc, char **argv, struct fetch *fetch)
{
	static const struct option options[] = { { "rank", required_argument, NULL, 'r' },
						 { "world", required_argument, NULL, 'w' },
						 { 0 } };
	int option;

	fetch->world = 1;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = "?";
		unsigned long value = option == '?' ? 0 : strtoul(optarg, &end, 10);

		if (*end || value > CURSOR_PLACES_MAX)
			return false;
		*(option == 'r' ? &fetch->rank : &fetch->world) = (uint32_t)value;
	}
	return optind == argc && fetch->rank < fetch->world;
}

int main(int argc, char **argv)
{
	static struct fetch fetch = { .lock = PTHREAD_MUTEX_INITIALIZER,
				      .progress = PTHREAD_COND_INITIALIZER };
	struct error err = { 0 };

	if (!parse(argc, argv, &fetch)) {
		fputs("Usage: kiln-fetchd [--rank R --world N]\n", stderr);
		return EX_USAGE;
	}
	log_open("fetchd");
	limits_raise_files();
	alive_back_off(STATUS_FETCHD);
	if (run_load(&fetch.run, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	const struct config *config = &fetch.run.config;
	uint64_t listed_us = clock_us();

	if (nic_cores_find("", config->fetch.nic, config->fetch.cores, &fetch.cores, &err) < 0 ||
	    fetch_plan(&fetch.run, &fetch.plan, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	listed_us = clock_us() - listed_us;
	if (fetch_setup(&fetch, &err) < 0 || fetch_start_threads(&fetch, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	alive_open();
	notify_ready("fetching %s", config->source[0].store.url);
	if (fetch_run(&fetch, listed_us, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	return 0;
}
