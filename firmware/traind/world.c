/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/world.h"
#include "core/base/build.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/ranks/launch.h"
#include "core/ranks/started.h"
#include "data/lanes.h"
#include "drivers/gpu/gpu.h"
#include "drivers/notify/alive.h"
#include "model/adapt.h"
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

int world_gather(struct train *train, const void *record, uint32_t bytes, void *all, struct error *err)
{
	uint64_t lease;
	int r;

	if (train->world.count == 1) {
		memcpy(all, record, bytes);
		return 0;
	}
	lease = alive_wait_begin(train->worker, PATIENCE_S);
	r = ranks_gather(train->world.ranks, record, bytes, all, err);
	alive_wait_end(train->worker, lease);
	return exchanged(r, err);
}

static int broadcast(struct train *train, void *data, uint64_t bytes, uint32_t root, struct error *err)
{
	uint64_t lease;
	int r;

	if (train->world.count == 1)
		return 0;
	lease = alive_wait_begin(train->worker, PATIENCE_S);
	r = ranks_broadcast(train->world.ranks, data, bytes, root, err);
	alive_wait_end(train->worker, lease);
	return exchanged(r, err);
}

int world_broadcast(struct train *train, void *data, uint64_t bytes, struct error *err)
{
	return broadcast(train, data, bytes, 0, err);
}

/* Adds the gradients of the other ranks: model_sum_fn. */
static int sum(void *arg, float *values, uint64_t count, struct error *err)
{
	struct train *train = arg;
	struct ranks *ranks = train->world.ranks;
	const struct ranks_values all = { .type = train->run.config.ranks.exchange == EXCHANGE_BFLOAT16
							  ? RANKS_BFLOAT16
							  : RANKS_FLOAT32,
					  .values = values,
					  .count = count };
	const uint64_t lease = alive_wait_begin(train->worker, PATIENCE_S);
	uint64_t ticket;
	int r = ranks_reduce_start(ranks, &all, &ticket, err);

	if (r == 0)
		r = ranks_spread_start(ranks, &all, &ticket, err);
	if (r == 0)
		r = ranks_wait(ranks, ticket, err);
	alive_wait_end(train->worker, lease);
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

int world_all(struct train *train, int r, struct error *err)
{
	struct result mine = { .code = r, .named = names_record(train, r) }, all[CURSOR_PLACES_MAX];
	const struct result *failed = NULL;
	int gathered;

	if (train->world.count == 1)
		return r;
	if (r < 0)
		(void)snprintf(mine.text, sizeof(mine.text), "%.*s", (int)sizeof(mine.text) - 1, err->text);
	if ((gathered = world_gather(train, &mine, sizeof(mine), all, err)) < 0)
		return gathered;
	for (uint32_t rank = 0; rank < train->world.count; rank++) {
		all[rank].text[sizeof(all[rank].text) - 1] = '\0';
		if (all[rank].code < 0 && (!failed || all[rank].named > failed->named))
			failed = &all[rank];
	}
	return failed ? world_fail(train, (uint32_t)(failed - all), failed->code, failed->text, err) : 0;
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

static int check(const struct train *train, struct error *err)
{
	const struct config *config = &train->run.config;
	const uint32_t count = train->world.count;

	if (config->order.lanes < count)
		return error_set(err, -EINVAL,
				 "order.lanes: found %" PRIu64 ", expected %u or more, the ranks of the run",
				 config->order.lanes, count);
	if (!config->ranks.exact)
		return error_set(err, -EINVAL, "ranks.exact: found false, expected true in a run of %u ranks",
				 count);
	return 0;
}

/* Writes what all ranks must have in common. */
static char *write_same(const struct train *train, char out[static RANKS_SAME_BYTES])
{
	char build[BUILD_ID_BYTES];

	(void)snprintf(out, RANKS_SAME_BYTES, "build %s, plan %.32s, model %.32s, device %.200s",
		       build_id(build), train->run.plan_sha256, model_graph_hash(train->model),
		       train->run.config.ranks.mixed ? "of any kind" : gpu_description(train->gpu));
	return out;
}

static int join(struct train *train, struct error *err)
{
	const uint32_t lanes = (uint32_t)train->run.config.order.lanes;
	struct world *world = &train->world;
	uint32_t first, own[CURSOR_PLACES_MAX];
	char same[RANKS_SAME_BYTES];
	const struct ranks_wish wish = {
		.world = world->count, .patience_s = PATIENCE_S, .lanes = own, .same = write_same(train, same)
	};
	int r;

	for (uint32_t rank = 0; rank < world->count; rank++)
		order_rank_lanes(lanes, world->count, rank, &first, &own[rank]);
	if ((r = ranks_open(&wish, &world->ranks, err)) < 0)
		return r;
	if (ranks_rank(world->ranks) != world->rank)
		return error_set(err, -EINVAL, "found rank %u of Open MPI, expected %u, as the launcher says",
				 ranks_rank(world->ranks), world->rank);
	order_rank_lanes(lanes, world->count, world->rank, &first, &own[0]);
	log_info("rank %u of %u, on box %u of %u: %u of %u lanes", world->rank, world->count,
		 ranks_where(world->ranks, world->rank)->box + 1, ranks_boxes(world->ranks), own[0], lanes);
	return model_share(train->model, first, own[0], sum, train, err);
}

int world_join(struct train *train, struct error *err)
{
	struct world *world = &train->world;
	char path[PATH_BYTES];
	int r;

	if (world->count == 1)
		return 0;
	if ((r = check(train, err)) < 0 || (r = join(train, err)) < 0)
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

/* ---- The state of the model ---- */

/* Rank 0 has a snapshot, whose tensors it gives to the others, one after the other. */
static int give_model(struct train *train, struct error *err)
{
	const struct model_tensor *tensors;
	uint32_t count;
	int r = model_snapshot(train->model, err);

	if (r < 0)
		return r;
	r = model_snapshot_tensors(train->model, &tensors, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		/* ranks_broadcast() only reads what rank 0 has. */
		r = world_broadcast(train, (void *)(uintptr_t)tensors[i].data, tensors[i].bytes, err);
	model_snapshot_release(train->model);
	return r;
}

static int take_model(struct train *train, struct error *err)
{
	uint32_t count;
	const struct model_tensor *tensors = model_tensors(train->model, &count);
	int r = model_init(train->model, err);

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		CLEANUP(free_ptr) void *data = malloc(tensors[i].bytes);

		if (!data)
			return error_set(err, -ENOMEM, "%s: no memory", tensors[i].name);
		r = world_broadcast(train, data, tensors[i].bytes, err);
		if (r == 0)
			r = model_tensor_load(train->model, tensors[i].name, data, tensors[i].bytes, err);
	}
	return r;
}

static int spread_best(struct train *train, struct error *err)
{
	struct best *best = &train->best;
	int r = world_broadcast(train, &best->state, sizeof(best->state), err);

	if (r == 0)
		r = world_broadcast(train, &best->filled, sizeof(best->filled), err);
	for (uint32_t i = 0; r == 0 && best->filled && i < best->count; i++)
		r = world_broadcast(train, best->parameter[i].data, best->parameter[i].tensor.bytes, err);
	if (r == 0 && train->run.config.reduce_on_plateau.monitor != MONITOR_NONE)
		model_learning_rate_set(train->model, best->state.plateau.rate);
	return r;
}

/* Lets all ranks adapt the layers that rank 0 has to adapt. Where a file gave the statistics of some layers,
 * the others do not know of which. */
static int spread_adapt(struct train *train, struct error *err)
{
	bool adapts = train->adapt;
	int r = 0;

	if (adapts && *train->run.weights_sha256)
		r = error_set(
			err, -EINVAL,
			"model.weights: the file lacks the statistics of a layer `normalization`, which "
			"several ranks cannot compute beside those of the file: begin the run with one rank");
	if ((r = world_all(train, r, err)) < 0 ||
	    (r = world_broadcast(train, &adapts, sizeof(adapts), err)) < 0)
		return r;
	return adapts && !train->adapt ? adapt_open(model_graph(train->model), NULL, &train->adapt, err) : 0;
}

/* Sets the cursor at which this rank goes on: the run's, as that of its own lanes. */
static void go_on_at(struct train *train)
{
	struct world *world = &train->world;
	struct cursor cursor;

	model_cursor_get(train->model, &cursor);
	world->from = cursor;
	cursor.rank = world->rank;
	cursor.world = world->count;
	world->own = cursor;
}

int world_spread(struct train *train, struct error *err)
{
	int r;

	if (train->world.count == 1)
		return 0;
	if ((r = spread_adapt(train, err)) < 0)
		return r;
	r = world_leads(&train->world) ? give_model(train, err) : take_model(train, err);
	if (r < 0 || (r = spread_best(train, err)) < 0)
		return r;
	go_on_at(train);
	return world_part(train, err);
}

/* ---- Sums of all ranks ---- */

/* A record of exactly one micro-batch each. */
struct sums {
	struct model_sums part[MODEL_PARTS_MAX];
};
static_assert(sizeof(struct sums) == RANKS_RECORD_BYTES, "the sums of all lanes are one record");

static uint32_t owner(const struct train *train, uint32_t lane)
{
	return order_lane_rank(lane, (uint32_t)train->run.config.order.lanes, train->world.count);
}

/* Takes the sums of each lane from its owner. */
static int gather_sums(struct train *train, struct sums *ret_sums, struct error *err)
{
	struct sums mine = { 0 }, all[CURSOR_PLACES_MAX];
	int r = world_all(train, model_sums_get(train->model, mine.part, err), err);

	if (r == 0)
		r = world_gather(train, &mine, sizeof(mine), all, err);
	for (uint32_t lane = 0; r == 0 && lane < model_parts(train->model); lane++)
		ret_sums->part[lane] = all[owner(train, lane)].part[lane];
	return r;
}

int world_collect_sums(struct train *train, struct error *err)
{
	struct sums sums = { 0 };
	int r;

	if (train->world.count == 1)
		return 0;
	r = gather_sums(train, &sums, err);
	return r < 0 ? r : model_sums_set(train->model, sums.part, err);
}

/* Leaves only the sums of this rank's lanes in the model. */
static int keep_own_sums(struct train *train, struct error *err)
{
	struct sums sums = { 0 };
	int r = model_sums_get(train->model, sums.part, err);

	for (uint32_t lane = 0; r == 0 && lane < model_parts(train->model); lane++)
		if (owner(train, lane) != train->world.rank)
			sums.part[lane] = (struct model_sums){ 0 };
	return r < 0 ? r : model_sums_set(train->model, sums.part, err);
}

int world_collect_adapt(struct train *train, struct error *err)
{
	int r = 0;

	for (uint32_t lane = 0; r == 0 && train->world.count > 1 && lane < model_parts(train->model);
	     lane++) {
		uint64_t bytes;
		double *sums = adapt_lane(train->adapt, lane, &bytes);

		r = broadcast(train, sums, bytes, owner(train, lane), err);
	}
	return r;
}

/* Adds the counts of all ranks, a record of them at a time. */
static int add_counts(struct train *train, uint32_t *counts, uint64_t count, struct error *err)
{
	enum { AT_ONCE = RANKS_RECORD_BYTES / sizeof(uint32_t) };
	uint32_t all[CURSOR_PLACES_MAX][AT_ONCE];
	int r = 0;

	for (uint64_t first = 0; r == 0 && first < count; first += AT_ONCE) {
		const uint32_t n = count - first < AT_ONCE ? (uint32_t)(count - first) : AT_ONCE;
		uint32_t mine[AT_ONCE] = { 0 };

		memcpy(mine, counts + first, n * sizeof(*mine));
		r = world_gather(train, mine, sizeof(mine), all, err);
		memset(counts + first, 0, n * sizeof(*mine));
		for (uint32_t rank = 0; r == 0 && rank < train->world.count; rank++)
			for (uint32_t i = 0; i < n; i++)
				counts[first + i] += all[rank][i];
	}
	return r;
}

int world_confusion(struct train *train, uint32_t **ret_counts, uint64_t *ret_classes, struct error *err)
{
	int r = world_all(train, model_confusion(train->model, ret_counts, ret_classes, err), err);

	if (r < 0 || train->world.count == 1)
		return r;
	return add_counts(train, *ret_counts, *ret_classes * *ret_classes, err);
}

/* ---- For a checkpoint ---- */

/* Moves the lists of all ranks to rank 0. */
static int collect_quarantine(struct train *train, struct error *err)
{
	struct quarantine *list = &train->quarantine;
	int r = 0;

	for (uint32_t rank = 1; r == 0 && list->plan && rank < train->world.count; rank++) {
		struct quarantine_list other = list->all;

		r = broadcast(train, &other, sizeof(other), rank, err);
		if (r == 0 && world_leads(&train->world))
			quarantine_merge(list, &other);
	}
	if (r == 0 && !world_leads(&train->world))
		list->all = (struct quarantine_list){ 0 };
	return r;
}

/* Gives rank 0's model the cursor of the whole run. */
static int merge_cursors(struct train *train, const struct cursor *all, bool *ret_evaluates,
			 struct error *err)
{
	const struct world *world = &train->world;
	struct cursor merged;
	int r = lanes_merge(world->plan, &world->from, all, world->count, &merged, err);

	if (r < 0)
		return r;
	for (uint32_t rank = 0; rank < world->count; rank++)
		*ret_evaluates |=
			merged.split != SPLIT_TRAIN && all[rank].split == merged.split && all[rank].batch > 0;
	/* A rank whose lanes end before those of others counts fewer batches than the run has steps. */
	merged.step = model_step(train->model);
	model_cursor_set(train->model, &merged);
	return 0;
}

/* Finds where this rank stands. If its lanes have ended before those of another rank, it is already where the
 * slot that waits leads: at the start of the next segment. */
static int find_place(struct train *train, struct cursor *ret_place, struct error *err)
{
	const struct ring_slot *held = train->rounds.held;
	uint64_t most = 0, all[CURSOR_PLACES_MAX];
	int r;

	model_cursor_get(train->model, ret_place);
	r = world_gather(train, &ret_place->batch, sizeof(ret_place->batch), all, err);
	for (uint32_t rank = 0; r == 0 && rank < train->world.count; rank++)
		most = all[rank] > most ? all[rank] : most;
	if (r == 0 && held && held->kind == RING_END_SEGMENT && ret_place->batch < most)
		*ret_place = held->cursor;
	return r;
}

int world_collect(struct train *train, bool *ret_whole, struct error *err)
{
	struct cursor place, all[CURSOR_PLACES_MAX];
	struct sums sums = { 0 };
	bool evaluates = false;
	int r;

	*ret_whole = true;
	if (train->world.count == 1)
		return 0;
	static_assert(sizeof(place) == RANKS_RECORD_BYTES, "a cursor is one record");
	model_cursor_get(train->model, &train->world.own);
	if ((r = gather_sums(train, &sums, err)) < 0 || (r = find_place(train, &place, err)) < 0 ||
	    (r = world_gather(train, &place, sizeof(place), all, err)) < 0 ||
	    (r = collect_quarantine(train, err)) < 0)
		return r;
	if (!world_leads(&train->world))
		return 0;
	if ((r = merge_cursors(train, all, &evaluates, err)) < 0)
		return r;
	*ret_whole = !evaluates;
	return model_sums_set(train->model, sums.part, err);
}

int world_part(struct train *train, struct error *err)
{
	if (train->world.count == 1)
		return 0;
	model_cursor_set(train->model, &train->world.own);
	return keep_own_sums(train, err);
}
