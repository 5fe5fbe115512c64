/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of tests/system/ranks.sh and ranks_boxes.sh. Checks every result against its own reference, prints
 * what went wrong, and exits with 1 then.
 *
 * Usage: ranks_peer LIBRARY WORLD exchange [boxes]    boxes: each two ranks have a host name of their own
 *        ranks_peer LIBRARY WORLD exchange apart      each rank is on a box of its own: box-1, box-2 ...
 *        ranks_peer LIBRARY WORLD stay                until it is killed
 *        ranks_peer LIBRARY WORLD abort|kill|silent|short|long|bfloat16|other RANK    that rank does so
 */
#include "drivers/ranks/ranks.h"

#include "tests/short_numbers.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MANY      80u /* exchanges, more than may be pending */
#define WORLD_MAX 8u

static uint32_t world, rank;
static enum ranks_type type; /* of the exchanges at present */
static struct error err;

static bool complain(const char *what, uint64_t size)
{
	(void)fprintf(stderr, "rank %" PRIu32 ": %s, size %" PRIu64 ": %s\n", rank, what, size, err.text);
	return false;
}

/* ---- The exchange ---- */

/* Values of which another order has another sum; a few are NaN. */
static float value(uint32_t of, uint64_t i, uint64_t count)
{
	const uint32_t bits = (uint32_t)(i * 2654435761u + of * 40503u) ^ (of << 20);

	if (i % 1000003 == 1000 && of == 1)
		return NAN;
	return (float)(bits % 1000003) / 1e6f - 0.5f + (float)(count % 13);
}

/* What a value is after its way to another rank. Alone, it has no way to go. */
static float after_way(float x)
{
	return type == RANKS_BFLOAT16 && world > 1 ? nearest_bfloat16(x) : x;
}

/* The ranks whose sum goes on as one value: those of a box, or 1. */
static uint32_t summed = 1;

static float tree(uint32_t first, uint32_t ranks, uint64_t i, uint64_t count)
{
	const uint32_t right = first + ranks / 2;
	float sum;

	if (ranks == 1)
		sum = value(first, i, count);
	else if (right >= world)
		return tree(first, ranks / 2, i, count);
	else
		sum = tree(first, ranks / 2, i, count) + tree(right, ranks / 2, i, count);
	return ranks == summed ? after_way(sum) : sum;
}

static bool is_same(float a, float b)
{
	return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static bool is_reduced(const float *values, uint64_t count)
{
	const struct ranks_chunk own = ranks_chunk(count, world, rank);

	for (uint64_t i = own.first; i < own.first + own.count; i++)
		if (!is_same(values[i], tree(0, WORLD_MAX, i, count)))
			return complain("a sum is wrong", count);
	return true;
}

static bool is_spread(const float *values, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (!is_same(values[i], after_way(-tree(0, WORLD_MAX, i, count))))
			return complain("a value is wrong after all chunks came", count);
	return true;
}

static bool exchange(struct ranks *ranks, uint64_t count)
{
	CLEANUP(free_ptr) float *values = malloc((count + 1) * sizeof(*values));
	const struct ranks_values bucket = { .type = type, .values = values, .count = count };
	const struct ranks_chunk own = ranks_chunk(count, world, rank);
	uint64_t ticket;

	for (uint64_t i = 0; values && i < count; i++)
		values[i] = value(rank, i, count);
	if (!values || ranks_reduce_start(ranks, &bucket, &ticket, &err) < 0 ||
	    ranks_wait(ranks, ticket, &err) < 0)
		return complain("reduce", count);
	if (!is_reduced(values, count))
		return false;
	for (uint64_t i = own.first; i < own.first + own.count; i++)
		values[i] = -values[i];
	if (ranks_spread_start(ranks, &bucket, &ticket, &err) < 0 || ranks_wait(ranks, ticket, &err) < 0)
		return complain("spread", count);
	return is_spread(values, count);
}

/* Begins more exchanges than may be pending, of both types, then waits for the last: the others are complete,
 * too. */
static bool exchange_many(struct ranks *ranks)
{
	static float values[MANY][100];
	const uint32_t ranks_sum = world * (world - 1) / 2;
	uint64_t ticket = 0;

	for (uint32_t n = 0; n < MANY; n++) {
		const struct ranks_values bucket = { n % 2 ? RANKS_BFLOAT16 : RANKS_FLOAT32, values[n], 100 };

		for (uint32_t i = 0; i < 100; i++)
			values[n][i] = (float)(n + rank);
		if (ranks_reduce_start(ranks, &bucket, &ticket, &err) < 0 ||
		    ranks_spread_start(ranks, &bucket, &ticket, &err) < 0)
			return complain("start", n);
	}
	if (ranks_wait(ranks, ticket, &err) < 0)
		return complain("wait", MANY);
	for (uint32_t n = 0; n < MANY; n++) {
		type = n % 2 ? RANKS_BFLOAT16 : RANKS_FLOAT32;
		for (uint32_t i = 0; i < 100; i++)
			if (values[n][i] != after_way((float)(world * n + ranks_sum)))
				return complain("one of many is wrong", n);
	}
	return true;
}

/* ---- The rest ---- */

static bool broadcast(struct ranks *ranks, uint64_t bytes, uint32_t root)
{
	CLEANUP(free_ptr) unsigned char *data = malloc(bytes + 1);

	for (uint64_t i = 0; data && i < bytes; i++)
		data[i] = (unsigned char)(rank == root ? i * 7 + root : 255);
	if (!data || ranks_broadcast(ranks, data, bytes, root, &err) < 0)
		return complain("broadcast", bytes);
	for (uint64_t i = 0; i < bytes; i++)
		if (data[i] != (unsigned char)(i * 7 + root))
			return complain("a byte is not the root's", bytes);
	return true;
}

static bool gather(struct ranks *ranks, uint32_t bytes)
{
	unsigned char record[RANKS_RECORD_BYTES], all[WORLD_MAX * RANKS_RECORD_BYTES];

	memset(record, (int)(rank + 1), sizeof(record));
	if (ranks_gather(ranks, record, bytes, all, &err) < 0)
		return complain("gather", bytes);
	for (uint32_t i = 0; i < world * bytes; i++)
		if (all[i] != i / bytes + 1)
			return complain("a record is not its rank's", bytes);
	return true;
}

/* `each`: how many ranks are on a box, whose names count from `first`; 0 = all are on one box. */
static bool is_where_it_should_be(const struct ranks *ranks, uint32_t each, uint32_t first)
{
	for (uint32_t i = 0; each && i < world; i++) {
		const struct ranks_where *where = ranks_where(ranks, i);
		char host[16];

		(void)snprintf(host, sizeof(host), "box-%" PRIu32, first + i / each);
		if (strcmp(where->host, host) != 0 || where->box != i / each || where->local != i % each)
			return complain("a rank is elsewhere", i);
	}
	if (ranks_boxes(ranks) != (each ? (world + each - 1) / each : 1) || ranks_world(ranks) != world)
		return complain("boxes", ranks_boxes(ranks));
	return true;
}

static bool all_is_well(struct ranks *ranks, bool boxes, bool apart)
{
	static const uint64_t counts[] = { 0, 1, 7, 148000, 2500000 };
	static const uint64_t bytes[] = { 0, 1, 1000, 5000000 };

	summed = boxes && world > 2 && world % 2 == 0 ? 2 : 1;
	if (!is_where_it_should_be(ranks, boxes ? 2 : apart, apart) || !exchange_many(ranks))
		return false;
	for (uint32_t i = 0; i < 4 * sizeof(counts) / sizeof(counts[0]); i++) {
		type = i % 2 ? RANKS_BFLOAT16 : RANKS_FLOAT32;
		if (!exchange(ranks, counts[i / 4]))
			return false;
	}
	for (uint32_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		for (uint32_t root = 0; root < world; root++)
			if (!broadcast(ranks, bytes[i], root))
				return false;
	if (!gather(ranks, 1) || !gather(ranks, RANKS_RECORD_BYTES))
		return false;
	return ranks_barrier(ranks, &err) == 0 || complain("barrier", 0);
}

/* ---- Failures ---- */

static int misbehave(struct ranks *ranks, const char *how, bool me)
{
	static float values[64];
	const uint64_t other = strcmp(how, "short") == 0 ? 32 : strcmp(how, "long") == 0 ? 64 : 48;
	const bool narrow = me && strcmp(how, "bfloat16") == 0;
	const struct ranks_values bucket = { narrow ? RANKS_BFLOAT16 : RANKS_FLOAT32, values,
					     me ? other : 48 };
	uint64_t ticket;

	if (me && strcmp(how, "abort") == 0)
		ranks_abort(ranks, 69);
	if (me && strcmp(how, "kill") == 0)
		(void)raise(SIGKILL);
	if ((me && strcmp(how, "silent") == 0) || strcmp(how, "stay") == 0)
		(void)pause();
	if (ranks_spread_start(ranks, &bucket, &ticket, &err) == 0 && ranks_wait(ranks, ticket, &err) == 0)
		return 0;
	(void)complain("after a failure", 0);
	/* The failure stays. */
	return ranks_barrier(ranks, NULL) == err.code ? 1 : 3;
}

static void name_host(uint32_t number)
{
	char host[16];

	(void)snprintf(host, sizeof(host), "box-%" PRIu32, number);
	if (unshare(CLONE_NEWUTS) < 0 || sethostname(host, strlen(host)) < 0)
		perror("unshare");
}

int main(int argc, char **argv)
{
	CLEANUP(ranks_closep) struct ranks *ranks = NULL;
	const char *number = getenv("OMPI_COMM_WORLD_RANK");
	struct ranks_wish wish = { .patience_s = 2, .same = "build 1" };
	bool boxes, apart, me;

	if (argc < 4)
		return 2;
	rank = number ? (uint32_t)strtoul(number, NULL, 10) : 0;
	world = (uint32_t)strtoul(argv[2], NULL, 10);
	boxes = argc > 4 && strcmp(argv[4], "boxes") == 0;
	apart = argc > 4 && strcmp(argv[4], "apart") == 0;
	me = argc > 4 && strtoul(argv[4], NULL, 10) == rank;
	if (boxes)
		name_host(rank / 2);
	wish.library = argv[1];
	wish.world = world;
	if (strcmp(argv[3], "exchange") == 0)
		wish.patience_s = 60;
	if (me && strcmp(argv[3], "other") == 0)
		wish.same = "build 2";
	if (ranks_open(&wish, &ranks, &err) < 0)
		return complain("open", world) ? 0 : 1;
	if (ranks_rank(ranks) != rank)
		return complain("another rank", ranks_rank(ranks)) ? 0 : 1;
	if (strcmp(argv[3], "exchange") == 0)
		return all_is_well(ranks, boxes, apart) ? 0 : 1;
	return misbehave(ranks, argv[3], me);
}
