/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the model in all ranks: from rank 0 to the others, and from all ranks into a checkpoint. */
#include "data/lanes.h"
#include "model/adapt.h"
#include "traind/figures.h"
#include "traind/train.h"
#include "traind/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
		r = world_broadcast(train, (void *)(uintptr_t)tensors[i].data, tensors[i].bytes, 0, err);
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
		r = world_broadcast(train, data, tensors[i].bytes, 0, err);
		if (r == 0)
			r = model_tensor_load(train->model, tensors[i].name, data, tensors[i].bytes, err);
	}
	return r;
}

static int spread_best(struct train *train, struct error *err)
{
	struct best *best = &train->best;
	int r = world_broadcast(train, &best->state, sizeof(best->state), 0, err);

	if (r == 0)
		r = world_broadcast(train, &best->filled, sizeof(best->filled), 0, err);
	for (uint32_t i = 0; r == 0 && best->filled && i < best->count; i++)
		r = world_broadcast(train, best->parameter[i].data, best->parameter[i].tensor.bytes, 0, err);
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
	    (r = world_broadcast(train, &adapts, sizeof(adapts), 0, err)) < 0)
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

/* The sums of each lane. */
struct sums {
	struct model_sums lane[MODEL_LANES_MAX];
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
	int r = world_all(train, model_sums_get(train->model, mine.lane, err), err);

	if (r == 0)
		r = world_gather(train, &mine, sizeof(mine), all, err);
	for (uint32_t lane = 0; r == 0 && lane < model_lanes(train->model); lane++)
		ret_sums->lane[lane] = all[owner(train, lane)].lane[lane];
	return r;
}

int world_collect_sums(struct train *train, struct error *err)
{
	struct sums sums = { 0 };
	int r;

	if (train->world.count == 1)
		return 0;
	r = gather_sums(train, &sums, err);
	return r < 0 ? r : model_sums_set(train->model, sums.lane, err);
}

/* Leaves only the sums of this rank's lanes in the model. */
static int keep_own_sums(struct train *train, struct error *err)
{
	struct sums sums = { 0 };
	int r = model_sums_get(train->model, sums.lane, err);

	for (uint32_t lane = 0; r == 0 && lane < model_lanes(train->model); lane++)
		if (owner(train, lane) != train->world.rank)
			sums.lane[lane] = (struct model_sums){ 0 };
	return r < 0 ? r : model_sums_set(train->model, sums.lane, err);
}

int world_metrics(struct train *train, struct model_metrics *ret_metrics, struct error *err)
{
	struct sums sums = { 0 };
	int r;

	if (train->world.count == 1)
		return figures_get(train->model, ret_metrics, err);
	r = gather_sums(train, &sums, err);
	if (r < 0 || !world_leads(&train->world))
		return r;
	r = model_sums_set(train->model, sums.lane, err);
	if (r == 0)
		r = figures_get(train->model, ret_metrics, err);
	return r < 0 ? r : keep_own_sums(train, err);
}

int world_collect_adapt(struct train *train, struct error *err)
{
	int r = 0;

	for (uint32_t lane = 0; r == 0 && train->world.count > 1 && lane < model_lanes(train->model);
	     lane++) {
		uint64_t bytes;
		double *sums = adapt_lane(train->adapt, lane, &bytes);

		r = world_broadcast(train, sums, bytes, owner(train, lane), err);
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

		r = world_broadcast(train, &other, sizeof(other), rank, err);
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
	if ((r = model_gather(train->model, err)) < 0)
		return r;
	if ((r = gather_sums(train, &sums, err)) < 0 || (r = find_place(train, &place, err)) < 0 ||
	    (r = world_gather(train, &place, sizeof(place), all, err)) < 0 ||
	    (r = collect_quarantine(train, err)) < 0)
		return r;
	if (!world_leads(&train->world))
		return 0;
	if ((r = merge_cursors(train, all, &evaluates, err)) < 0)
		return r;
	*ret_whole = !evaluates;
	return model_sums_set(train->model, sums.lane, err);
}

int world_part(struct train *train, struct error *err)
{
	if (train->world.count == 1)
		return 0;
	model_cursor_set(train->model, &train->world.own);
	return keep_own_sums(train, err);
}
