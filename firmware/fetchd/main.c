/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/limits.h"
#include "core/base/log.h"
#include "core/base/program.h"
#include "core/base/slot.h"
#include "core/ranks/started.h"
#include "core/series/series.h"
#include "drivers/cores/cores.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "fetchd/plan/make_plan.h"
#include "fetchd/ranks.h"
#include "fetchd/run.h"
#include "fetchd/setup.h"

static const struct program program = {
	"kiln-fetchd", "[--rank R --world N] [--first F --count C] [--rank-from-env]",
	"Fetches and decodes the records of the current run, and puts batches into the ring. Several "
	"trainers share the "
	"run with\n--rank and --world: this is the fetchd of the R-th (0 ..) of N, of which C from the F-th "
	"on run "
	"on this machine\nside by side, by default all. Without them it starts one for each device that "
	"trains the run (device.count).\nWith "
	"--rank-from-env mpirun or srun starts it beside a kiln-traind --rank-from-env, and its environment "
	"variables say\nwhich rank this is."
};

/* Reads the value of an option. False: it is no number, or too large. */
static bool parse(const char *text, uint32_t *number)
{
	uint64_t value = *number;

	if (text && !program_number(text, CURSOR_PLACES_MAX, &value))
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Reads which rank this serves. False: --rank and --world do not fit. */
static bool read_rank(int argc, char **argv, struct ranks_started *ret_rank)
{
	uint32_t first = 0;

	*ret_rank = (struct ranks_started){ .world = 1 };
	if (!parse(program_option(argc, argv, "--rank"), &ret_rank->rank) ||
	    !parse(program_option(argc, argv, "--world"), &ret_rank->world) ||
	    !parse(program_option(argc, argv, "--first"), &first))
		return false;
	ret_rank->locals = ret_rank->world;
	if (!parse(program_option(argc, argv, "--count"), &ret_rank->locals) || first > ret_rank->rank ||
	    ret_rank->rank - first >= ret_rank->locals)
		return false;
	ret_rank->local = ret_rank->rank - first;
	return ret_rank->rank < ret_rank->world;
}

/* A slot that the night does not use has all for itself. */
static unsigned slots_tonight(void)
{
	const unsigned slots = series_slots_tonight();

	return slot_now() < slots ? slots : 1;
}

/* Fetchds that work side by side on this machine, in all slots and for all ranks, divide cores and memory. */
static void divide(struct fetch *fetch, const struct ranks_started *rank)
{
	const unsigned nth = slot_now() * rank->locals + rank->local;

	fetch->beside = slots_tonight() * rank->locals;
	cores_divide(&fetch->cores.decode, nth, fetch->beside);
	if (rank->locals > 1)
		cores_divide(&fetch->cores.network, rank->local, rank->locals);
}

/* Finds out which rank this kiln-fetchd serves, and starts the others of this box where nobody has started it
 * as one of several. */
static int find_world(const struct run *run, bool launched, struct ranks_started *rank, struct error *err)
{
	int r = launched ? 0 : ranks_find(run, rank, err);

	(void)slot_use_rank(rank->rank);
	return r < 0 || launched ? r : ranks_start(rank, err);
}

/* Makes the plan, or reads that of the record. Where several start at the same time, one makes it. */
static int open_plan(struct fetch *fetch, bool launched, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	int r = launched ? fetch_plan_lock(&lock, err) : 0;

	if (r < 0 || (r = run_load(&fetch->run, err)) < 0)
		return r;
	return fetch_plan(&fetch->run, &fetch->plan, err);
}

int main(int argc, char **argv)
{
	static struct fetch fetch = { .lock = PTHREAD_MUTEX_INITIALIZER,
				      .progress = PTHREAD_COND_INITIALIZER };
	const struct config *config;
	struct ranks_started rank;
	struct error err = { 0 };
	uint64_t listed_us;
	bool launched;
	int r = program_begin(&program, argc, argv);

	if (r != PROGRAM_GOES_ON)
		return r;
	if (!read_rank(argc, argv, &rank))
		return program_refuse(&program, NULL,
				      "--rank: expected a whole number below that of --world");
	log_open("fetchd");
	if (program_option(argc, argv, "--rank-from-env") && ranks_started(&rank, &err) < 0)
		return fatal(&err);
	limits_raise_files();
	launched = rank.world > 1 || program_option(argc, argv, "--rank-from-env");
	(void)slot_use_rank(rank.rank);
	if (!launched) /* the others start when this one has waited */
		alive_back_off(STATUS_FETCHD);
	listed_us = clock_us();
	if (open_plan(&fetch, launched, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	listed_us = clock_us() - listed_us;
	if (find_world(&fetch.run, launched, &rank, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	fetch.rank = rank.rank;
	fetch.world = rank.world;
	config = &fetch.run.config;
	if (nic_cores_find("", config->fetch.nic, config->fetch.cores, &fetch.cores, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	divide(&fetch, &rank);
	if (fetch_setup(&fetch, &err) < 0 || fetch_start_threads(&fetch, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	alive_open();
	notify_ready("fetching %s", config->source[0].store.url);
	r = fetch_run(&fetch, listed_us, &err);
	if (r == -ESTALE)
		r = ranks_again(&err);
	if (r < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	ranks_wait();
	return 0;
}
