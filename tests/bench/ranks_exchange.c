/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures an exchange of gradients between ranks: Kiln's two halves, in place, as float32 and as bfloat16,
 * and MPI_Allreduce of float32, which sums in an order of its own, in alternating rounds. A time is that of
 * the slowest rank. Every sum is verified before it is timed. Rank 0 prints JSON lines.
 *
 * Usage: mpirun -n WORLD ranks_exchange LIBRARY CASE
 */
#include "drivers/ranks/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "measure.h"

#define ROUNDS_MAX 101u

static const struct {
	uint64_t count;
	uint32_t rounds;
} sizes[] = { { 25000000, 9 }, { 2500000, 31 }, { 148000, 101 } };

struct bench {
	struct ranks *ranks;
	enum ranks_type type;
	uint64_t count;
	float *gradient, *ours, *peers;
};

static void fill(struct bench *bench)
{
	uint32_t state = 44 + ranks_rank(bench->ranks);

	for (uint64_t i = 0; i < bench->count; i++) {
		state = state * 1664525u + 1013904223u;
		bench->gradient[i] = (float)state / 4294967296.0f - 0.5f;
	}
}

static bool exchange(struct bench *bench)
{
	const struct ranks_values values = { bench->type, bench->ours, bench->count };
	uint64_t ticket;

	return ranks_reduce_start(bench->ranks, &values, &ticket, NULL) == 0 &&
	       ranks_spread_start(bench->ranks, &values, &ticket, NULL) == 0 &&
	       ranks_wait(bench->ranks, ticket, NULL) == 0;
}

static bool allreduce(struct bench *bench)
{
	return MPI_Allreduce(bench->gradient, bench->peers, (int)bench->count, MPI_FLOAT, MPI_SUM,
			     MPI_COMM_WORLD) == MPI_SUCCESS;
}

/* How far a sum may be from the peer's. Values are below 0.5, and bfloat16 rounds each of them and the sum.
 */
static float tolerance(const struct bench *bench)
{
	return bench->type == RANKS_BFLOAT16 ? 0x1p-8f * (float)ranks_world(bench->ranks) : 1e-6f;
}

/* Kiln's sums are the same in all ranks, and as near to the peer's as the type allows. */
static bool verified(struct bench *bench)
{
	const float most = tolerance(bench);
	CLEANUP(free_ptr) float *first = malloc(bench->count * sizeof(*first));
	int good, all = 0;

	memcpy(bench->ours, bench->gradient, bench->count * sizeof(*bench->ours));
	good = first && exchange(bench) && allreduce(bench);
	if (good)
		memcpy(first, bench->ours, bench->count * sizeof(*first));
	good = good && ranks_broadcast(bench->ranks, first, bench->count * sizeof(*first), 0, NULL) == 0;
	for (uint64_t i = 0; good && i < bench->count; i++)
		good = first[i] == bench->ours[i] && fabsf(bench->ours[i] - bench->peers[i]) < most;
	(void)MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return all;
}

/* Returns the milliseconds of the slowest rank. */
static double timed(struct bench *bench, bool (*one)(struct bench *bench))
{
	double start, took, slowest = 0;

	memcpy(bench->ours, bench->gradient, bench->count * sizeof(*bench->ours));
	(void)MPI_Barrier(MPI_COMM_WORLD);
	start = now_us();
	(void)one(bench);
	took = (now_us() - start) / 1e3;
	(void)MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest;
}

static void measure(struct bench *bench, uint32_t rounds, const char *label)
{
	double ours[ROUNDS_MAX], peers[ROUNDS_MAX], value, peer;

	for (uint32_t round = 0; round < rounds; round++) {
		ours[round] = timed(bench, exchange);
		peers[round] = timed(bench, allreduce);
	}
	value = median(ours, rounds);
	peer = median(peers, rounds);
	if (ranks_rank(bench->ranks) == 0)
		printf("{\"name\":\"ranks-exchange\",\"case\":\"%" PRIu64 " floats, %" PRIu32
		       " ranks, %s%s\","
		       "\"value\":%.3f,\"unit\":\"ms\",\"peer\":\"MPI_Allreduce\",\"peer_value\":%.3f,"
		       "\"ratio\":%.3f}"
		       "\n",
		       bench->count, ranks_world(bench->ranks), label,
		       bench->type == RANKS_BFLOAT16 ? ", as bfloat16" : "", value, peer, peer / value);
}

static int run(struct bench *bench, const char *label)
{
	const uint64_t most = sizes[0].count;

	bench->gradient = malloc(most * sizeof(float));
	bench->ours = malloc(most * sizeof(float));
	bench->peers = malloc(most * sizeof(float));
	if (!bench->gradient || !bench->ours || !bench->peers)
		return 1;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		bench->type = i % 2 ? RANKS_BFLOAT16 : RANKS_FLOAT32;
		bench->count = sizes[i / 2].count;
		fill(bench);
		if (!verified(bench)) {
			(void)fprintf(stderr, "ranks_exchange: a sum is wrong\n");
			return 1;
		}
		measure(bench, sizes[i / 2].rounds, label);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *world = getenv("OMPI_COMM_WORLD_SIZE");
	struct ranks_wish wish = { .patience_s = 60, .same = "ranks_exchange" };
	struct bench bench = { 0 };
	struct error err = { 0 };
	int r;

	if (argc != 3 || !world)
		return 2;
	wish.world = (uint32_t)strtoul(world, NULL, 10);
	wish.library = argv[1];
	if (ranks_open(&wish, &bench.ranks, &err) < 0) {
		(void)fprintf(stderr, "ranks_exchange: %s\n", err.text);
		return 1;
	}
	r = run(&bench, argv[2]);
	ranks_close(bench.ranks);
	free(bench.gradient);
	free(bench.ours);
	free(bench.peers);
	return r;
}
