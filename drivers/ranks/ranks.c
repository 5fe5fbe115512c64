/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/ranks.h"

#include "core/base/log.h"
#include "drivers/ranks/load.h"
#include "drivers/ranks/worker.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define CHUNK_ALIGN 64u /* bytes */

struct ranks {
	struct worker worker;
	struct ranks_where *where; /* [world] */
	uint32_t boxes;
	unsigned char *marks; /* [world], of ranks_barrier() */
};

static bool is_alone(const struct ranks *ranks)
{
	return ranks->worker.pump.world == 1;
}

int ranks_wait(struct ranks *ranks, uint64_t ticket, struct error *err)
{
	return is_alone(ranks) ? 0 : worker_wait(&ranks->worker, ticket, err);
}

static int do_job(struct ranks *ranks, const struct pump_job *job, struct error *err)
{
	uint64_t ticket;
	const int r = worker_begin(&ranks->worker, job, &ticket, err);

	return r < 0 ? r : ranks_wait(ranks, ticket, err);
}

static uint64_t divide(uint64_t bytes, uint32_t world)
{
	const uint64_t share = bytes / world + (bytes % world != 0);

	return (share + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
}

struct ranks_chunk ranks_chunk(uint64_t count, uint32_t world, uint32_t rank)
{
	const uint64_t chunk = divide(count * sizeof(float), world) / sizeof(float), start = rank * chunk,
		       first = start < count ? start : count;

	return (struct ranks_chunk){
		.first = first,
		.count = count - first < chunk ? count - first : chunk,
	};
}

static int begin_half(struct ranks *ranks, enum pump_way way, const struct ranks_values *values,
		      uint64_t *ret_ticket, struct error *err)
{
	const uint64_t bytes = values->count * sizeof(float);
	const struct pump_job job = {
		.way = way,
		.bfloat16 = values->type == RANKS_BFLOAT16,
		.memory = values->values,
		.bytes = bytes,
		.chunk_bytes = divide(bytes, ranks->worker.pump.world),
	};

	if (is_alone(ranks)) {
		*ret_ticket = 0;
		return 0;
	}
	return worker_begin(&ranks->worker, &job, ret_ticket, err);
}

int ranks_reduce_start(struct ranks *ranks, const struct ranks_values *values, uint64_t *ret_ticket,
		       struct error *err)
{
	return begin_half(ranks, PUMP_REDUCE, values, ret_ticket, err);
}

int ranks_spread_start(struct ranks *ranks, const struct ranks_values *values, uint64_t *ret_ticket,
		       struct error *err)
{
	return begin_half(ranks, PUMP_SPREAD, values, ret_ticket, err);
}

/* The root gives each rank a chunk, then every rank gives its chunk to all: so the root sends no more bytes
 * than the others. */
int ranks_broadcast(struct ranks *ranks, void *data, uint64_t bytes, uint32_t root, struct error *err)
{
	struct pump_job job = {
		.way = PUMP_DEAL,
		.memory = data,
		.bytes = bytes,
		.chunk_bytes = divide(bytes, ranks->worker.pump.world),
		.root = root,
	};
	int r;

	if (is_alone(ranks))
		return 0;
	r = do_job(ranks, &job, err);
	job.way = PUMP_SPREAD;
	return r < 0 ? r : do_job(ranks, &job, err);
}

int ranks_gather(struct ranks *ranks, const void *record, uint32_t bytes, void *all, struct error *err)
{
	const struct pump_job job = {
		.way = PUMP_SPREAD,
		.memory = all,
		.bytes = (uint64_t)bytes * ranks->worker.pump.world,
		.chunk_bytes = bytes,
	};

	memcpy((unsigned char *)all + (size_t)bytes * ranks->worker.pump.rank, record, bytes);
	return is_alone(ranks) ? 0 : do_job(ranks, &job, err);
}

int ranks_barrier(struct ranks *ranks, struct error *err)
{
	const unsigned char here = 1;

	return ranks_gather(ranks, &here, sizeof(here), ranks->marks, err);
}

/* ---- Who is where ---- */

/* Gives each rank its box, and its place on the box. */
static void place(struct ranks *ranks)
{
	ranks->boxes = 0;
	for (uint32_t i = 0; i < ranks->worker.pump.world; i++) {
		struct ranks_where *where = &ranks->where[i];

		where->box = UINT32_MAX;
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(ranks->where[k].host, where->host) != 0)
				continue;
			where->box = ranks->where[k].box;
			where->local = ranks->where[k].local + 1;
		}
		if (where->box == UINT32_MAX)
			where->box = ranks->boxes++;
	}
}

static int no_memory(const struct ranks *ranks, const char *what, struct error *err)
{
	return error_set(err, -ENOMEM, "ranks: no memory for the %s of %" PRIu32 " ranks", what,
			 ranks->worker.pump.world);
}

int ranks_compare(struct ranks *ranks, const char *same, uint32_t *ret_rank, struct error *err)
{
	typedef char text[RANKS_SAME_BYTES];
	CLEANUP(free_ptr) text *all = NULL;
	text own = "";
	int r;

	assert(ranks->worker.pump.world > 0); /* as ranks_open() has found */
	all = calloc(ranks->worker.pump.world, sizeof(*all));
	if (!all)
		return no_memory(ranks, "texts", err);
	(void)snprintf(own, sizeof(own), "%s", same);
	if ((r = ranks_gather(ranks, own, sizeof(own), all, err)) < 0)
		return r;
	for (uint32_t i = 0; i < ranks->worker.pump.world; i++) {
		all[i][RANKS_SAME_BYTES - 1] = '\0';
		if (strcmp(all[i], all[0]) == 0)
			continue;
		*ret_rank = i;
		return error_set(err, -EINVAL, "rank %" PRIu32 " on %s has %s, but rank 0 on %s has %s", i,
				 ranks->where[i].host, all[i], ranks->where[0].host, all[0]);
	}
	return 0;
}

/* Learns where each rank is, and compares the builds. */
static int meet(struct ranks *ranks, const char *same, struct error *err)
{
	typedef char name[RANKS_HOST_BYTES];
	CLEANUP(free_ptr) name *all = calloc(ranks->worker.pump.world, sizeof(*all));
	name own = "";
	uint32_t differs;
	int r;

	if (!all)
		return no_memory(ranks, "names", err);
	(void)gethostname(own, sizeof(own) - 1);
	if ((r = ranks_gather(ranks, own, sizeof(own), all, err)) < 0)
		return r;
	for (uint32_t i = 0; i < ranks->worker.pump.world; i++) {
		all[i][RANKS_HOST_BYTES - 1] = '\0';
		memcpy(ranks->where[i].host, all[i], RANKS_HOST_BYTES);
	}
	place(ranks);
	return ranks_compare(ranks, same, &differs, err);
}

uint32_t ranks_world(const struct ranks *ranks)
{
	return ranks->worker.pump.world;
}

uint32_t ranks_rank(const struct ranks *ranks)
{
	return ranks->worker.pump.rank;
}

uint32_t ranks_boxes(const struct ranks *ranks)
{
	return ranks->boxes;
}

const struct ranks_where *ranks_where(const struct ranks *ranks, uint32_t rank)
{
	return &ranks->where[rank];
}

/* ---- Life ---- */

static int check_wish(const struct ranks_wish *wish, struct error *err)
{
	if (wish->world == 0 || wish->world > RANKS_MAX)
		return error_set(err, -EINVAL, "a world of %" PRIu32 " ranks, expected 1 to %u", wish->world,
				 RANKS_MAX);
	if (wish->patience_s == 0)
		return error_set(err, -EINVAL, "a patience of 0 s, expected 1 or more");
	if (strlen(wish->same) >= RANKS_SAME_BYTES)
		return error_set(err, -EINVAL, "what the ranks share has %zu characters, expected at most %u",
				 strlen(wish->same), RANKS_SAME_BYTES - 1);
	return 0;
}

static struct ranks *make(const struct ranks_wish *wish)
{
	struct ranks *ranks = calloc(1, sizeof(*ranks));

	if (!ranks)
		return NULL;
	ranks->worker.pump.world = wish->world;
	ranks->worker.pump.patience_us = wish->patience_s * UINT64_C(1000000);
	worker_init(&ranks->worker);
	ranks->where = calloc(wish->world, sizeof(*ranks->where));
	ranks->marks = calloc(wish->world, sizeof(*ranks->marks));
	ranks->worker.pump.where = ranks->where;
	return ranks;
}

int ranks_open(const struct ranks_wish *wish, struct ranks **ret_ranks, struct error *err)
{
	CLEANUP(ranks_closep) struct ranks *ranks = NULL;
	int r = check_wish(wish, err);

	if (r < 0)
		return r;
	if (!(ranks = make(wish)) || !ranks->where || !ranks->marks)
		return error_set(err, -ENOMEM, "ranks: no memory for a world of %" PRIu32, wish->world);
	if ((r = rank_groups_open(&ranks->worker.pump.groups, wish->lanes, wish->world, err)) < 0)
		return r;
	if (!is_alone(ranks) && ((r = load_library(wish->library, &ranks->worker.pump.library, err)) < 0 ||
				 (r = worker_start(&ranks->worker, err)) < 0))
		return r;
	if ((r = meet(ranks, wish->same, err)) < 0)
		return r;
	r = rank_groups_divide(&ranks->worker.pump.groups, wish->lanes, ranks->where, ranks->boxes, err);
	if (r < 0) {
		ranks->worker.failure.code = r; /* the others do not know: leave without waiting for them */
		return r;
	}
	*ret_ranks = TAKE(ranks);
	return 0;
}

void ranks_close(struct ranks *ranks)
{
	if (!ranks)
		return;
	worker_done(&ranks->worker);
	free(ranks->marks);
	free(ranks->where);
	free(ranks);
}

void ranks_closep(struct ranks **ranks)
{
	ranks_close(*ranks);
}

void ranks_abort(struct ranks *ranks, int code)
{
	if (is_alone(ranks))
		_exit(code);
	log_err("rank %" PRIu32 " on %s ends all ranks, with exit code %d", ranks_rank(ranks),
		ranks->where ? ranks->where[ranks_rank(ranks)].host : "this host", code);
	worker_abort(&ranks->worker, code);
}
