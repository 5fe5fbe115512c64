/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/world.h"
#include "core/base/build.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/ranks/faults.h"
#include "core/ranks/launch.h"
#include "core/ranks/members.h"
#include "core/ranks/started.h"
#include "data/lanes.h"
#include "drivers/gpu/gpu.h"
#include "drivers/notify/alive.h"
#include "traind/train.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* Longer than a rank needs for all that it does between two exchanges: it compiles the kernels of its device,
 * or writes a checkpoint on a slow disk. */
#define PATIENCE_S 900u

/* ---- Exchanges ---- */

/* An error of an exchange says that another rank has gone, and nothing about the data: the next start may
 * succeed. */
static int exchanged(int r, struct error *err)
{
	return r < 0 ? error_set(err, -EIO, "the exchange between ranks: %s", (const char *)err->text) : 0;
}

/* The main thread waits for other ranks. */
struct waiting {
	uint64_t lease, since_us;
};

static struct waiting wait_begin(struct train *train)
{
	return (struct waiting){ alive_wait_begin(train->worker, PATIENCE_S), clock_us() };
}

static void wait_end(struct train *train, const struct waiting *waiting, enum publish_wait wait)
{
	alive_wait_end(train->worker, waiting->lease);
	publish_waited(train, wait, clock_us() - waiting->since_us);
}

int world_gather(struct train *train, const void *record, uint32_t bytes, void *all, struct error *err)
{
	struct waiting waiting;
	int r;

	if (train->world.count == 1) {
		memcpy(all, record, bytes);
		return 0;
	}
	waiting = wait_begin(train);
	r = ranks_gather(train->world.ranks, record, bytes, all, err);
	wait_end(train, &waiting, WAIT_RANKS);
	return exchanged(r, err);
}

int world_broadcast(struct train *train, void *data, uint64_t bytes, uint32_t root, struct error *err)
{
	struct waiting waiting;
	int r;

	if (train->world.count == 1)
		return 0;
	waiting = wait_begin(train);
	r = ranks_broadcast(train->world.ranks, data, bytes, root, err);
	wait_end(train, &waiting, WAIT_RANKS);
	return exchanged(r, err);
}

static bool rounds(const struct train *train)
{
	return train->run.config.ranks.exchange == EXCHANGE_BFLOAT16;
}

/* start() of struct model_exchange. */
static int start(void *arg, enum model_half half, float *values, uint64_t count, uint64_t *ret_ticket,
		 struct error *err)
{
	struct train *train = arg;
	struct ranks *ranks = train->world.ranks;
	const bool exact = half == MODEL_REDUCE_EXACT || half == MODEL_SPREAD_EXACT;
	const struct ranks_values all = { .type = exact || !rounds(train) ? RANKS_FLOAT32 : RANKS_BFLOAT16,
					  .values = values,
					  .count = count };
	const struct waiting waiting = wait_begin(train);
	int r = half == MODEL_REDUCE || half == MODEL_REDUCE_EXACT
			? ranks_reduce_start(ranks, &all, ret_ticket, err)
			: ranks_spread_start(ranks, &all, ret_ticket, err);

	wait_end(train, &waiting, WAIT_EXCHANGE);
	return exchanged(r, err);
}

/* wait() of struct model_exchange. */
static int await(void *arg, uint64_t ticket, struct error *err)
{
	struct train *train = arg;
	const struct waiting waiting = wait_begin(train);
	int r = ranks_wait(train->world.ranks, ticket, err);

	wait_end(train, &waiting, WAIT_EXCHANGE);
	return exchanged(r, err);
}

struct result {
	int32_t code;
	uint32_t named; /* 1: the text names the record that is wrong */
	char text[RANKS_RECORD_BYTES - 2 * sizeof(uint32_t)];
};
static_assert(sizeof(struct result) == RANKS_RECORD_BYTES, "a result is one record");

int world_fail(struct train *train, uint32_t rank, int code, const char *text, struct error *err)
{
	train->world.agreed = true;
	return error_set(err, code, "rank %u on %s: %s", rank, ranks_where(train->world.ranks, rank)->host,
			 text);
}

static bool names_record(const struct train *train, int r)
{
	uint32_t row = UINT32_MAX;
	struct error unused;

	return r == -EDOM && model_fault(train->model, &row, &unused) == -EDOM && row != UINT32_MAX;
}

/* Makes the results of all ranks known to all. Returns 0, also where a rank has failed: then *ret_rank is its
 * number; else that is the number of ranks. */
static int hear(struct train *train, int r, struct result all[static CURSOR_PLACES_MAX], uint32_t *ret_rank,
		struct error *err)
{
	struct result mine = { .code = r, .named = names_record(train, r) };
	const struct result *failed = NULL;
	int gathered;

	if (r < 0)
		(void)snprintf(mine.text, sizeof(mine.text), "%.*s", (int)sizeof(mine.text) - 1, err->text);
	if ((gathered = world_gather(train, &mine, sizeof(mine), all, err)) < 0)
		return gathered;
	for (uint32_t rank = 0; rank < train->world.count; rank++) {
		all[rank].text[sizeof(all[rank].text) - 1] = '\0';
		if (all[rank].code < 0 && (!failed || all[rank].named > failed->named))
			failed = &all[rank];
	}
	*ret_rank = failed ? (uint32_t)(failed - all) : train->world.count;
	return 0;
}

int world_all(struct train *train, int r, struct error *err)
{
	struct result all[CURSOR_PLACES_MAX];
	uint32_t rank;

	if (train->world.count == 1)
		return r;
	r = hear(train, r, all, &rank, err);
	return r < 0 || rank == train->world.count
		       ? r
		       : world_fail(train, rank, all[rank].code, all[rank].text, err);
}

/* ---- Join and leave ---- */

int world_find(struct world *world, bool launched, struct error *err)
{
	struct ranks_started started = { .world = 1 };
	int r = launched ? ranks_started(&started, err) : 0;

	if (r < 0)
		return r;
	world->count = started.world;
	world->rank = started.rank;
	(void)slot_use_rank(started.rank);
	slot_use_local(started.local);
	/* systemd hears of rank 0 alone. */
	if (started.rank > 0)
		(void)unsetenv("NOTIFY_SOCKET");
	return 0;
}

/* Without ranks.exact each rank has a micro-batch of its own, and all have the same shape. */
static int check_shares(const struct config *config, uint32_t count, struct error *err)
{
	const uint32_t lanes = (uint32_t)config->order.lanes;
	uint32_t first, own;

	for (uint32_t rank = 0; !config->ranks.exact && rank < count; rank++) {
		order_rank_lanes(lanes, count, rank, &first, &own);
		if (own != lanes / count || lanes % count)
			return error_set(err, -EINVAL,
					 "ranks.exact: found false, with %u of %u lanes in rank %u of %u, "
					 "expected true, or as many lanes in each rank",
					 own, lanes, rank, count);
	}
	return 0;
}

static int check(const struct train *train, struct error *err)
{
	const struct config *config = &train->run.config;
	const uint32_t count = train->world.count;

	if (config->order.lanes < count)
		return error_set(err, -EINVAL,
				 "order.lanes: found %" PRIu64 ", expected %u or more, the ranks of the run",
				 config->order.lanes, count);
	return check_shares(config, count, err);
}

/* Returns which box of ranks.boxes has a rank; 0 = the box that leads, or there is one box alone. */
static uint32_t box_of(const struct train *train, uint32_t rank)
{
	struct ranks_members members;

	if (ranks_members_read(&members, NULL) < 0 || train->world.count % members.boxes != 0)
		return 0;
	return rank / (train->world.count / members.boxes);
}

/* Tells whether an error of a rank would come each time. */
static bool is_lasting(const struct error *error)
{
	return error->code == -ENODEV || ranks_fault_is_lasting(error_exit_code(error));
}

/* Notes that another box cannot train: after some tries the run goes on without it. Returns whether the error
 * of a rank there is one of its box. */
static bool note_fault(const struct train *train, uint32_t box, const struct error *why)
{
	const char *job = getenv(RANKS_JOB_NAME);
	char name[RANKS_BOX_BYTES];
	struct error err = { 0 };

	if (box == 0 || why->code == -ECANCELED)
		return false;
	if (world_leads(&train->world) && job &&
	    (ranks_members_name(box, name, &err) < 0 ||
	     ranks_fault_note(train->run.id, name, job, is_lasting(why), why->text, &err) < 0))
		log_warning("%s", err.text);
	return true;
}

/* All ranks have the error of one of them in `err`. Nothing that is wrong with one box ends the run for good.
 */
static int fail_to_join(struct train *train, uint32_t rank, struct error *err)
{
	train->world.agreed = true;
	if (note_fault(train, box_of(train, rank), err))
		err->code = -EREMOTEIO;
	return err->code;
}

/* Notes the first error of each box but those of the box `apart`. */
static void note_others(struct train *train, const struct result *all, uint32_t apart)
{
	uint32_t noted = 0;

	for (uint32_t rank = 0; rank < train->world.count; rank++) {
		const uint32_t box = box_of(train, rank);
		struct error err = { 0 };

		if (all[rank].code == 0 || box == noted || box == apart)
			continue;
		(void)world_fail(train, rank, all[rank].code, all[rank].text, &err);
		if (note_fault(train, box, &err))
			noted = box;
	}
}

/* Lets all ranks hear whether each of them could open what it needs. */
static int agree_on_opened(struct train *train, int opened, struct error *err)
{
	struct result all[CURSOR_PLACES_MAX];
	uint32_t first;
	int r = hear(train, opened, all, &first, err);

	if (r < 0 || first == train->world.count)
		return r;
	note_others(train, all, box_of(train, first));
	(void)world_fail(train, first, all[first].code, all[first].text, err);
	return fail_to_join(train, first, err);
}

/* Writes what all ranks must have in common, besides the build. */
static char *write_same(const struct train *train, char out[static RANKS_SAME_BYTES])
{
	(void)snprintf(out, RANKS_SAME_BYTES,
		       "plan %.32s, model %.32s, ranks.exact %s, ranks.exchange %s, "
		       "ranks.bucket_bytes %" PRIu64 ", device %.160s",
		       train->run.plan_sha256, model_graph_hash(train->model),
		       train->run.config.ranks.exact ? "true" : "false",
		       rounds(train) ? "bfloat16" : "float32", train->run.config.ranks.bucket_bytes,
		       train->run.config.ranks.mixed ? "of any kind" : gpu_description(train->gpu));
	return out;
}

static int compare(struct train *train, struct error *err)
{
	char same[RANKS_SAME_BYTES];
	uint32_t rank = train->world.count;
	const int r = ranks_compare(train->world.ranks, write_same(train, same), &rank, err);

	return r < 0 && rank < train->world.count ? fail_to_join(train, rank, err) : r;
}

static int join(struct train *train, struct error *err)
{
	const uint32_t lanes = (uint32_t)train->run.config.order.lanes;
	struct world *world = &train->world;
	uint32_t first, own[CURSOR_PLACES_MAX];
	char build[BUILD_ID_BYTES];
	char same[RANKS_SAME_BYTES];
	const struct ranks_wish wish = {
		.world = world->count, .patience_s = PATIENCE_S, .lanes = own, .same = same
	};
	int r;

	(void)snprintf(same, sizeof(same), "build %s", build_id(build));
	for (uint32_t rank = 0; rank < world->count; rank++)
		order_rank_lanes(lanes, world->count, rank, &first, &own[rank]);
	if ((r = ranks_open(&wish, &world->ranks, err)) < 0)
		return r;
	if (ranks_rank(world->ranks) != world->rank)
		return error_set(err, -EINVAL, "found rank %u of Open MPI, expected %u, as the launcher says",
				 ranks_rank(world->ranks), world->rank);
	return 0;
}

/* Gives the model the micro-batches of this rank. */
static int take_share(struct train *train, struct error *err)
{
	const uint32_t lanes = (uint32_t)train->run.config.order.lanes;
	struct world *world = &train->world;
	uint32_t first, own;

	order_rank_lanes(lanes, world->count, world->rank, &first, &own);
	log_info("rank %u of %u, on box %u of %u: %u of %u lanes", world->rank, world->count,
		 ranks_where(world->ranks, world->rank)->box + 1, ranks_boxes(world->ranks), own, lanes);
	if (!train->run.config.ranks.exact) { /* one micro-batch */
		first = world->rank;
		own = 1;
	}
	return model_share(train->model, first, own,
			   &(struct model_exchange){ .world = world->count,
						     .rank = world->rank,
						     .start = start,
						     .wait = await,
						     .arg = train,
						     .rounds = rounds(train),
						     .bucket_bytes = train->run.config.ranks.bucket_bytes },
			   err);
}

/* Rank 0 publishes where each rank is. */
static int introduce(struct train *train, struct error *err)
{
	const struct ranks *ranks = train->world.ranks;
	struct status_rank mine = { 0 }, all[STATUS_RANKS_MAX];
	int r;

	static_assert(STATUS_RANKS_MAX >= CURSOR_PLACES_MAX, "each lane can be a rank");
	(void)snprintf(mine.device, sizeof(mine.device), "%.*s", (int)sizeof(mine.device) - 1,
		       gpu_description(train->gpu));
	r = world_gather(train, &mine, sizeof(mine), all, err);
	for (uint32_t rank = 0; r == 0 && rank < train->world.count && world_leads(&train->world); rank++)
		publish_rank(train, rank, ranks_where(ranks, rank)->host, all[rank].device);
	return r;
}

int world_join(struct train *train, int opened, struct error *err)
{
	struct world *world = &train->world;
	struct error join_err = { 0 };
	char path[PATH_BYTES];
	int r;

	if (world->count == 1)
		return opened;
	if (check(train, err) < 0) /* in all ranks */
		return err->code;
	if ((r = join(train, opened < 0 ? &join_err : err)) < 0)
		return opened < 0 ? opened : r;
	if ((r = agree_on_opened(train, opened, err)) < 0 || (r = compare(train, err)) < 0 ||
	    (r = take_share(train, err)) < 0 || (r = introduce(train, err)) < 0)
		return r;
	return world_leads(world) ? plan_open(path_of(PATH_RUN, "plan", path), &world->plan, err) : 0;
}

int world_exit_code(const struct world *world, int code)
{
	return code != EX_OK && !world->agreed && getenv(RANKS_FOLLOWS) ? EX_UNAVAILABLE : code;
}

void world_leave(struct train *train, bool failed, int exit_code)
{
	struct world *world = &train->world;

	plan_closep(&world->plan);
	world->plan = NULL;
	if (world->ranks && failed && !world->agreed)
		ranks_abort(world->ranks, exit_code);
	ranks_close(world->ranks);
	world->ranks = NULL;
}
