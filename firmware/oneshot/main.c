/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/base/version.h"
#include "oneshot/begin/begin.h"
#include "oneshot/boot/boot.h"
#include "oneshot/night/night.h"
#include "oneshot/preload/preload.h"
#include "oneshot/report/report.h"
#include "oneshot/update/update.h"

#include <stdio.h>

#include <string.h>
#include <sysexits.h>

static const struct {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "begin", "make the run record, or go on with the unfinished run  [--config FILE | --from RUN.JSON]",
	  oneshot_begin },
	{ "unfinished", "exit 0 while the current run goes on", oneshot_unfinished },
	{ "new", "exit 0 when the next run is a new one, 1 when an unfinished run goes on", oneshot_new },
	{ "hugepages", "set hugepages aside for the current run's ring", oneshot_hugepages },
	{ "boot-pages", "ask for pages of 1 GiB at the next boot, and use those of this boot",
	  oneshot_boot_pages },
	{ "interrupts", "put the network interface's interrupts on the current run's cores",
	  oneshot_interrupts },
	{ "clock", "wait, for a bounded time, until the clock is set  [--wait-s N]", oneshot_clock },
	{ "clock-servers", "write clock.ntp_servers for systemd-timesyncd", oneshot_clock_servers },
	{ "nightly", "the timer elapsed: start a run, unless it is too late  [--clock-wait-s N]",
	  oneshot_nightly },
	{ "resume", "after a boot: go on with a run that was running  [--clock-wait-s N]", oneshot_resume },
	{ "finished", "a run has ended: wait for its uploads, then do what power.when_finished says",
	  oneshot_finished },
	{ "run-failed", "a service of the run failed and is not restarted: say why", oneshot_failed },
	{ "report", "a night is over: make its report, post and upload it", oneshot_report },
	{ "provision", "bind the folders of /data to where programs look for them", oneshot_provision },
	{ "configure", "check and store the files of the ESP's folder config", oneshot_configure },
	{ "keep-config", "save a copy of a good kiln.conf  [--config FILE]", oneshot_keep_config },
	{ "preload", "fill the cache with what the next run reads  [--config FILE]", oneshot_preload },
	{ "update-fetch", "fetch the bundle of the update that was asked for  [--config FILE]",
	  oneshot_update_fetch },
	{ "update", "install the bundle and restart the box", oneshot_update },
	{ "update-failed", "a service of the update failed: say so", oneshot_update_failed },
	{ "check-store", "exit 0 when the sink answers  [--config FILE]", oneshot_check_store },
	{ "slot", "send the event about a slot  good|bad|back SLOT", oneshot_slot },
	{ "release", "give the ring's hugepages back to the system", oneshot_release },
};

int main(int argc, char **argv)
{
	bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
	FILE *out = help ? stdout : stderr;

	for (size_t i = 0; argc >= 2 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0) {
			log_open(verbs[i].name);
			return verbs[i].run(argc - 1, argv + 1);
		}
	fputs("Usage: kiln-oneshot VERB (kiln " KILN_VERSION ")\n", out);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-13s %s\n", verbs[i].name, verbs[i].summary);
	return help ? EX_OK : EX_USAGE;
}
