/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/base/program.h"
#include "oneshot/begin/begin.h"
#include "oneshot/boot/boot.h"
#include "oneshot/night/night.h"
#include "oneshot/preload/preload.h"
#include "oneshot/promote/promote.h"
#include "oneshot/ranks/ranks.h"
#include "oneshot/report/heartbeat.h"
#include "oneshot/report/report.h"
#include "oneshot/series/after.h"
#include "oneshot/update/update.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *summary, *arguments; /* core/base/program.h */
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "begin", "make the run record, or continue the unfinished run",
	  "[--config FILE] [--slots N] [--series ID] [--wait] [--from RUN.JSON] [--adopt]", oneshot_begin },
	{ "unfinished", "exit 0 if the current run is unfinished", "", oneshot_unfinished },
	{ "new", "exit 0 if the next run is a new run, 1 if an unfinished run continues", "", oneshot_new },
	{ "hugepages", "set hugepages aside for the current run's ring", "", oneshot_hugepages },
	{ "boot-pages", "request pages of 1 GiB for the next boot, and use those of this boot", "",
	  oneshot_boot_pages },
	{ "route", "note the network interface by which the current run's shards come", "", oneshot_route },
	{ "interrupts", "move the network interface's interrupts and queues to the current run's cores", "",
	  oneshot_interrupts },
	{ "clock", "wait until the clock is set, for a bounded time", "[--wait-s SECONDS]", oneshot_clock },
	{ "clock-servers", "write clock.ntp_servers to the configuration of systemd-timesyncd", "",
	  oneshot_clock_servers },
	{ "network", "write the network between boxes, ranks.network, for systemd-networkd", "",
	  oneshot_network },
	{ "nightly", "start a run when the timer elapses, unless it is too late", "[--clock-wait-s SECONDS]",
	  oneshot_nightly },
	{ "resume", "after a boot, continue the run that was running", "[--clock-wait-s SECONDS]",
	  oneshot_resume },
	{ "start-slots", "start the units of the slots in which trials train beside those of slot 0", "",
	  oneshot_start_slots },
	{ "finished", "after a run, wait for its uploads, then do what power.when_finished says", "",
	  oneshot_finished },
	{ "trial-ended", "note the trial that has ended; exit 0 if another one follows", "[--code CODE]",
	  oneshot_trial_ended },
	{ "run-failed", "say why a service of the run failed and is not restarted", "", oneshot_failed },
	{ "report", "after a night, make its report, then post and upload the report", "", oneshot_report },
	{ "heartbeat", "in the night, say that the box is alive, and tell people what is wrong", "",
	  oneshot_heartbeat },
	{ "provision", "bind the folders of /data to the paths that programs use", "", oneshot_provision },
	{ "configure", "check and store the files of the ESP's folder config", "", oneshot_configure },
	{ "keep-config", "save a copy of a good kiln.conf", "[--config FILE]", oneshot_keep_config },
	{ "preload", "fill the cache with the shards that the next run reads", "[--config FILE]",
	  oneshot_preload },
	{ "promote", "judge the model of a night against the champion, and promote it",
	  "[--series ID] [--trial NAME] [--force] [--rollback]", oneshot_promote },
	{ "update-fetch", "download the bundle of the requested update", "[--config FILE]",
	  oneshot_update_fetch },
	{ "update", "install the bundle and restart the box", "", oneshot_update },
	{ "update-failed", "say that a service of the update failed", "", oneshot_update_failed },
	{ "check-store", "exit 0 if the sink answers", "[--config FILE]", oneshot_check_store },
	{ "slot", "send the event about a slot", "good|bad|back SLOT", oneshot_slot },
	{ "floor", "compare a bundle's version with the newest that was good here, or remember this one",
	  "check|raise [VERSION]", oneshot_floor },
	{ "ranks-agent", "for mpirun, in the place of ssh: start orted on another box",
	  "HOST COMMAND [ARGUMENT...]", oneshot_ranks_agent },
	{ "lead", "become mpirun, which trains the current run on the boxes of ranks.boxes", "",
	  oneshot_lead },
	{ "rank-begin", "bring record and plan of the run of a job that another box leads", "JOB",
	  oneshot_rank_begin },
	{ "rank", "become orted for a job that another box leads", "JOB", oneshot_rank },
	{ "release", "give the ring's hugepages back to the system", "", oneshot_release },
};

static int help(FILE *out)
{
	fputs("Usage: kiln-oneshot VERB [ARGUMENT...]\n", out);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-13s %s%s%s\n", verbs[i].name, verbs[i].summary,
			*verbs[i].arguments ? "  " : "", verbs[i].arguments);
	return out == stdout ? EX_OK : EX_USAGE;
}

static int run(size_t verb, int argc, char **argv)
{
	char name[64];
	const struct program program = { name, verbs[verb].arguments, verbs[verb].summary };
	int r;

	(void)snprintf(name, sizeof(name), "kiln-oneshot %s", verbs[verb].name);
	r = program_begin(&program, argc, argv);
	if (r != PROGRAM_GOES_ON)
		return r;
	log_open(verbs[verb].name);
	return verbs[verb].run(argc, argv);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(word, verbs[i].name) == 0)
			return run(i, argc - 1, argv + 1);
	if (strcmp(word, "--version") == 0) {
		program_print_version("kiln-oneshot");
		return EX_OK;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help(stdout);
	if (*word)
		fprintf(stderr, "kiln-oneshot: there is no verb %s\n", word);
	return help(stderr);
}
