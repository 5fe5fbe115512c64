/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/ranks/faults.h"
#include "core/ranks/job.h"
#include "core/ranks/members.h"
#include "core/ring/cursor.h"
#include "core/run/spool.h"
#include "drivers/control/other.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "drivers/ranks/mpirun.h"
#include "oneshot/ranks/ranks.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define BOXES_MAX    CURSOR_PLACES_MAX /* a box has one lane at least */
#define PLAN_POLL_MS 50u
#define BOX_POLL_S   2u
#define BUSY_WAIT_S  20u /* a box still ends its part of the last job: the run waits so long at least */
/* systemd starts this program again at once; only rank 0 waits as a daemon does after failures. */
#define FAILURE_WAIT_S 10u
#define LONGEST_S      300u /* longer than one look at all boxes, none of which answers */

struct other {
	char name[RANKS_BOX_BYTES];
	bool here;        /* the box is ready to train */
	bool given_up;    /* the run has gone on without the box before: nobody waits for the box */
	bool failing;     /* the part of the box in the run fails each time: the box is not asked */
	bool lasting;     /* with `failing`: none of the failures passes by itself */
	struct error why; /* why the box is not here */
};

struct lead {
	struct run run; /* its configuration counts: a mistake in kiln.conf does not end a run */
	struct other other[BOXES_MAX];
	uint32_t others;
};

/* ---- Signals ---- */

static const int stop_signals[] = { SIGUSR2, SIGTERM, SIGINT }; /* the same that end a trainer */
static atomic_bool stop_asked;

static void ask_stop(int signal_number)
{
	(void)signal_number;
	atomic_store(&stop_asked, true);
}

/* A signal also ends a wait for a box that does not answer: without SA_RESTART. */
static void handle_signals(void (*handler)(int signal_number))
{
	const struct sigaction action = { .sa_handler = handler };

	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(stop_signals[0]); i++)
		(void)sigaction(stop_signals[i], &action, NULL);
}

/* 0 where the run has no checkpoint, or the spool cannot be read. */
static uint64_t newest_step(const struct run *run)
{
	int64_t step = 0;
	struct error err;

	if (spool_find_step(run->id, &step, &err) < 0)
		log_warning("%s", err.text);
	return step < 0 ? 0 : (uint64_t)step;
}

/* Ends the unit before a trainer has started. Where the operator stops the run, no other process would write
 * that. */
static int leave(const struct run *run, struct error *err)
{
	int r;

	log_info("asked to stop, no rank has started");
	if (!run_want_is_stop())
		return 0;
	if ((r = run_state_set(RUN_STOPPED, err)) < 0 || (r = run_rest(err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_RUN_STOPPED, .run_id = run->id, .step = newest_step(run) },
		   "%s: stopped before its ranks have started", run->id);
	return 0;
}

/* ---- The wait ---- */

/* Tells whether the run is to stop: then the trainer, which obeys, must start soon, or this process leaves.
 */
static bool is_to_stop(const struct run *run)
{
	return atomic_load(&stop_asked) || run_want_is_stop() ||
	       (run->ends_s > 0 && (int64_t)time(NULL) >= run->ends_s) ||
	       (run->budget_ends_s > 0 && (int64_t)clock_boot_s() >= run->budget_ends_s);
}

/* Waits for the plan, which kiln-fetchd makes: the other boxes get it from the store. */
static int wait_for_plan(struct run *run, struct error *err)
{
	int r;

	while ((r = run_load(run, err)) == 0 && !*run->plan_sha256 && !is_to_stop(run)) {
		run_done(run);
		notify_extend(LONGEST_S);
		notify_status("waiting for the plan of kiln-fetchd");
		(void)usleep(PLAN_POLL_MS * 1000);
	}
	return r;
}

static void look_at(struct other *other, const struct config *config)
{
	CLEANUP(client_closep) struct client *client = NULL;
	struct error err = { 0 };

	if (other_open(other->name, config, NULL, &client, &err) == 0) {
		other->here = true;
		log_info("box %s is ready", other->name);
		return;
	}
	if (atomic_load(&stop_asked)) /* a signal has ended the connection, too */
		return;
	if (strcmp(err.text, other->why.text) != 0)
		log_warning("box %s: %s", other->name, err.text);
	other->why = err;
}

/* Looks at the boxes that are not here. Returns whether one is missing for which the run waits. */
static bool look(struct lead *lead)
{
	bool missing = false;

	for (uint32_t i = 0; i < lead->others && !is_to_stop(&lead->run); i++) {
		struct other *other = &lead->other[i];

		if (other->here || other->failing)
			continue;
		notify_extend(LONGEST_S);
		notify_status("looking for box %s", other->name);
		look_at(other, &lead->run.config);
		missing |= !other->here && !other->given_up;
	}
	return missing;
}

static bool is_one_busy(const struct lead *lead)
{
	for (uint32_t i = 0; i < lead->others; i++)
		if (!lead->other[i].here && lead->other[i].why.code == -EBUSY)
			return true;
	return false;
}

static void gather(struct lead *lead)
{
	const uint64_t since_us = clock_us(), wait_s = lead->run.config.ranks.wait_s;

	while (!is_to_stop(&lead->run) && look(lead)) {
		const uint64_t least_s = is_one_busy(lead) ? BUSY_WAIT_S : 0;

		if (clock_us() - since_us >= (wait_s > least_s ? wait_s : least_s) * UINT64_C(1000000))
			break;
		(void)sleep(BOX_POLL_S);
	}
}

/* ---- Who trains ---- */

/* Leaves a box alone whose part of the run fails each time. After the next checkpoint it is tried again. */
static void read_faults(const struct lead *lead, struct other *other)
{
	struct ranks_fault fault;

	ranks_fault_read(lead->run.id, other->name, &fault);
	if (fault.faults < RANKS_FAULTS_MAX)
		return;
	other->failing = other->given_up = true;
	other->lasting = fault.lasting;
	(void)error_set(&other->why, -EREMOTEIO,
			"its part of the run has failed %" PRIu32 " times since %s, the last time: %s",
			fault.faults, fault.step < 0 ? "the begin" : "the newest checkpoint", fault.why);
}

static int list_others(struct lead *lead, struct error *err)
{
	const char *name = lead->run.config.ranks.boxes;

	for (size_t bytes; (bytes = config_next_name(&name)) > 0; name += bytes) {
		struct other *other = &lead->other[lead->others];

		if (lead->others == BOXES_MAX - 1)
			return error_set(err, -EINVAL, "ranks.boxes: found more than %u names, allowed: %u",
					 BOXES_MAX - 1, BOXES_MAX - 1);
		(void)snprintf(other->name, sizeof(other->name), "%.*s", (int)bytes, name);
		other->given_up = ranks_members_has_lost(other->name);
		read_faults(lead, other);
		lead->others++;
	}
	return 0;
}

static bool is_here(const struct lead *lead, const struct other *other)
{
	(void)lead;
	return other->here;
}

/* Tells whether the run goes on without the box. A wait that a stop has cut short says nothing about it. */
static bool is_lost(const struct lead *lead, const struct other *other)
{
	return !other->here && (other->given_up || !is_to_stop(&lead->run));
}

/* Returns a list of names of boxes. NULL: no memory. */
static cJSON *list_names(const struct lead *lead, const char *first,
			 bool (*which)(const struct lead *lead, const struct other *other))
{
	CLEANUP(json_free) cJSON *list = cJSON_CreateArray();

	if (first && !cJSON_AddItemToArray(list, json_string(first)))
		return NULL;
	for (uint32_t i = 0; i < lead->others; i++)
		if (which(lead, &lead->other[i]) &&
		    !cJSON_AddItemToArray(list, json_string(lead->other[i].name)))
			return NULL;
	return TAKE(list);
}

static uint32_t count_here(const struct lead *lead)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < lead->others; i++)
		count += lead->other[i].here;
	return count;
}

static uint32_t count_lasting(const struct lead *lead)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < lead->others; i++)
		count += lead->other[i].lasting;
	return count;
}

/* Finds a box that is missing, first one that fails each time for a reason that does not pass, then one that
 * fails each time. NULL: all are here. */
static const struct other *find_missing(const struct lead *lead)
{
	const struct other *missing = NULL;

	for (uint32_t i = 0; i < lead->others; i++) {
		const struct other *other = &lead->other[i];

		if (!other->here &&
		    (!missing || other->failing + other->lasting > missing->failing + missing->lasting))
			missing = other;
	}
	return missing;
}

/* Ends the run for good, with the reason. Returns the error with which this process ends. */
static int fail_run(const struct run *run, struct error *err)
{
	const uint64_t step = newest_step(run);
	struct error note_err;

	if (run_reason_set(err->text, &note_err) < 0 || run_state_set(RUN_FAILED, &note_err) < 0 ||
	    run_rest(&note_err) < 0)
		log_warning("%s", note_err.text);
	event_send(&(struct event){ .id = EVENT_RUN_FAILED, .run_id = run->id, .step = step },
		   "%s: failed at step %" PRIu64 ": %s", run->id, step, err->text);
	return err->code;
}

/* The causes may have passed when the run starts again: it tries the boxes anew. */
static void forget_passing(const struct lead *lead)
{
	for (uint32_t i = 0; i < lead->others; i++) {
		const struct other *other = &lead->other[i];
		struct error err = { 0 };

		if (other->failing && !other->lasting && ranks_fault_forget(other->name, &err) < 0)
			log_warning("box %s: %s", other->name, err.text);
	}
}

/* Too few boxes are here. The run ends for good only where all others together would be too few. */
static int refuse(const struct lead *lead, uint32_t here, const struct other *missing, struct error *err)
{
	const uint64_t least = lead->run.config.ranks.boxes_min;
	const bool for_good = lead->others + 1 - count_lasting(lead) < least;

	(void)error_set(err, for_good ? -EBADMSG : -EHOSTUNREACH,
			"found %" PRIu32 " boxes that can train, expected at least %" PRIu64
			" by ranks.boxes_min; box %s: %s",
			here, least, missing->name, missing->why.text);
	if (for_good)
		return fail_run(&lead->run, err);
	forget_passing(lead);
	return err->code;
}

/* Says without which boxes the run goes on; or ends it, where they are too many. */
static int judge(const struct lead *lead, struct error *err)
{
	const uint32_t here = count_here(lead);
	const struct other *missing = find_missing(lead);

	if (!missing || is_to_stop(&lead->run))
		return 0;
	if (here < lead->run.config.ranks.boxes_min)
		return refuse(lead, here, missing, err);
	event_send(&(struct event){ .id = EVENT_BOXES_LOST,
				    .run_id = lead->run.id,
				    .count = lead->others + 1 - here },
		   "the run goes on with %" PRIu32 " of %" PRIu32 " boxes; box %s: %s", here,
		   lead->others + 1, missing->name, missing->why.text);
	return 0;
}

/* ---- mpirun ---- */

/* Writes a name that no other job has: those of the last start may still be stopping. */
static void make_job_name(char out[static RANKS_JOB_BYTES])
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)snprintf(out, RANKS_JOB_BYTES, "%" PRIx64 "-%" PRIx64, (uint64_t)now.tv_sec,
		       (uint64_t)now.tv_nsec / 1000);
}

/* Where the certificate of the role ranks is, as client_open_box() looks for it. */
static const char *find_pki(char out[static PATH_BYTES])
{
	const char *pki = getenv("KILN_PKI"), *home = getenv("HOME");

	(void)snprintf(out, PATH_BYTES, pki ? "%.4000s" : "%.4000s/.kiln", pki ? pki : home ? home : "");
	return out;
}

static int become(const struct lead *lead, const char *self, struct error *err)
{
	CLEANUP(ranks_texts_done) struct ranks_texts words = { .count = 0 };
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	const uint32_t each = (uint32_t)lead->run.config.device.count;
	struct ranks_box boxes[BOXES_MAX] = { { self, each } };
	char job[RANKS_JOB_BYTES], folder[PATH_BYTES], pki[PATH_BYTES], oneshot[PATH_BYTES],
		trainer[PATH_BYTES];
	const char *const program[] = { path_beside("kiln-traind", trainer), "--rank-from-env", NULL };
	struct ranks_launch launch = {
		.job = { job, folder, lead->run.config.ranks.network, path_beside("kiln-oneshot", oneshot) },
		.pki = find_pki(pki),
		.boxes = boxes,
		.count = 1,
		.program = program,
	};
	int r;

	make_job_name(job);
	for (uint32_t i = 0; i < lead->others; i++)
		if (lead->other[i].here)
			boxes[launch.count++] = (struct ranks_box){ lead->other[i].name, each };
	if ((r = mpirun_prepare(folder, err)) < 0 ||
	    (r = ranks_mpirun(&launch, &words, &environment, err)) < 0)
		return r;
	log_info("%zu boxes train together, as job %s", launch.count, job);
	return mpirun_exec(&words, &environment, err);
}

static int start(struct lead *lead, struct error *err)
{
	char self[RANKS_BOX_BYTES] = "";
	int r;

	if ((r = wait_for_plan(&lead->run, err)) < 0 || (r = list_others(lead, err)) < 0)
		return r;
	gather(lead);
	/* From here on a signal ends the process at once, and then mpirun. */
	handle_signals(SIG_DFL);
	/* `kiln stop --now` writes the request before it sends a signal. */
	if (atomic_load(&stop_asked) || run_want_is_stop())
		return leave(&lead->run, err);
	(void)gethostname(self, sizeof(self) - 1);
	if ((r = judge(lead, err)) < 0 || (r = ranks_members_write(list_names(lead, self, is_here), 0,
								   list_names(lead, NULL, is_lost), err)) < 0)
		return r;
	return become(lead, self, err);
}

int oneshot_lead(int argc, char **argv)
{
	static struct lead lead;
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	handle_signals(ask_stop);
	if (start(&lead, &err) == 0) /* asked to stop; else only an error comes back from there */
		return EX_OK;
	if (err.code != -EBADMSG)
		(void)sleep(FAILURE_WAIT_S);
	return alive_fatal(STATUS_TRAIND, &err);
}
