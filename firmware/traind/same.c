/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/same.h"
#include "data/crc32c.h"
#include "model/formats/names.h"
#include "traind/train.h"

#include <inttypes.h>
#include <string.h>

/* Checksums that the ranks exchange at a time. */
enum { AT_ONCE = RANKS_RECORD_BYTES / sizeof(uint32_t) };

struct checksums {
	uint32_t crc[AT_ONCE];
};

/* Returns how many ranks have the checksum that `rank` has. */
static uint32_t count_equal(const struct checksums *all, uint32_t ranks, uint32_t rank, uint32_t i)
{
	uint32_t equal = 0;

	for (uint32_t other = 0; other < ranks; other++)
		equal += all[other].crc[i] == all[rank].crc[i];
	return equal;
}

/* Compares parameter i of a group. Most ranks are right; of two, nobody knows which one. */
static int compare(struct train *train, const struct checksums *all, uint32_t i, const char *name,
		   struct error *err)
{
	const struct world *world = &train->world;
	uint32_t right = 0;

	for (uint32_t rank = 1; rank < world->count; rank++)
		if (count_equal(all, world->count, rank, i) > count_equal(all, world->count, right, i))
			right = rank;
	for (uint32_t rank = 0; rank < world->count; rank++) {
		if (all[rank].crc[i] == all[right].crc[i])
			continue;
		train->world.agreed = true;
		return error_set(err, -EBADMSG,
				 "step %" PRIu64
				 ": rank %u on %s has other weights in '%s' than rank %u on %s",
				 model_step(train->model), rank, ranks_where(world->ranks, rank)->host, name,
				 right, ranks_where(world->ranks, right)->host);
	}
	return 0;
}

/* Compares the parameters of tensors[0 .. count - 1], AT_ONCE of them at most. */
static int compare_group(struct train *train, const struct model_tensor *tensors, uint32_t count,
			 struct error *err)
{
	struct checksums mine = { 0 }, all[CURSOR_PLACES_MAX];
	int r;

	for (uint32_t i = 0; i < count; i++)
		if (name_is_parameter(tensors[i].name))
			mine.crc[i] = crc32c(0, tensors[i].data, tensors[i].bytes);
	r = world_gather(train, &mine, sizeof(mine), all, err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = compare(train, all, i, tensors[i].name, err);
	return r;
}

bool same_due(const struct train *train)
{
	const uint64_t every = train->run.config.ranks.check_steps;

	return train->world.count > 1 && every && model_step(train->model) % every == 0;
}

static int compare_all(struct train *train, const struct model_tensor *tensors, uint32_t count,
		       struct error *err)
{
	int r = 0;

	for (uint32_t first = 0; r == 0 && first < count; first += AT_ONCE)
		r = compare_group(train, tensors + first, count - first < AT_ONCE ? count - first : AT_ONCE,
				  err);
	return r;
}

int same_weights(struct train *train, struct error *err)
{
	const struct model_tensor *tensors = NULL;
	uint32_t count = 0;
	bool taken;
	int r;

	writer_wait(train); /* the model has one snapshot */
	r = model_snapshot(train->model, err);
	taken = r == 0;
	if (r == 0)
		r = model_snapshot_tensors(train->model, &tensors, &count, err);
	r = world_all(train, r, err);
	if (r == 0)
		r = compare_all(train, tensors, count, err);
	if (taken)
		model_snapshot_release(train->model);
	return r;
}
