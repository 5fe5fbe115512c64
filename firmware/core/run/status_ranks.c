/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/status_ranks.h"

#include <math.h>

#define SLOWER 0.05 /* a rank is slower where the others wait longer by this part of the time */
#define WIRED  0.10 /* the wire is slow where every rank waits for the exchange for this part of the time */

struct times {
	double rows, feed_s, others_s, exchange_s, device_s;
};

static double grown(uint64_t before, uint64_t now, double unit)
{
	return now > before ? (double)(now - before) / unit : 0;
}

static struct times times_of(const struct status *before, const struct status *now, uint32_t rank)
{
	static const struct status_rank_times none;
	const struct status_rank_times *a = before ? &before->traind.rank[rank].times : &none,
				       *b = &now->traind.rank[rank].times;

	return (struct times){ grown(a->rows, b->rows, 1), grown(a->feed_us, b->feed_us, 1e6),
			       grown(a->others_us, b->others_us, 1e6),
			       grown(a->exchange_us, b->exchange_us, 1e6),
			       grown(a->device_us, b->device_us, 1e6) };
}

static double waits(const struct times *times)
{
	return times->others_s + times->exchange_s;
}

static double passed(const struct times *times)
{
	return times->feed_s + waits(times) + times->device_s;
}

static cJSON *rank_object(const struct status_rank *rank, uint32_t index, const struct times *times)
{
	cJSON *object = cJSON_CreateObject();
	const double passed_s = passed(times);

	(void)json_add_u64(object, "rank", index);
	(void)cJSON_AddItemToObject(object, "box", json_string(rank->host));
	(void)cJSON_AddItemToObject(object, "device", json_string(rank->device));
	(void)cJSON_AddNumberToObject(object, "rows", times->rows);
	(void)cJSON_AddItemToObject(object, "records_per_s",
				    passed_s > 0 ? cJSON_CreateNumber(times->rows / passed_s)
						 : cJSON_CreateNull());
	(void)cJSON_AddNumberToObject(object, "feed_s", times->feed_s);
	(void)cJSON_AddNumberToObject(object, "others_s", times->others_s);
	(void)cJSON_AddNumberToObject(object, "exchange_s", times->exchange_s);
	(void)cJSON_AddNumberToObject(object, "device_s", times->device_s);
	return object;
}

/* ---- The slowest rank ---- */

static void add_slowest(cJSON *object, const struct status_rank *rank, uint32_t index, const char *stage,
			double cost_s, const char *means)
{
	cJSON *slowest = cJSON_AddObjectToObject(object, "slowest");

	if (rank)
		(void)cJSON_AddNumberToObject(slowest, "rank", index);
	else
		(void)cJSON_AddNullToObject(slowest, "rank");
	(void)cJSON_AddItemToObject(slowest, "box", rank ? json_string(rank->host) : cJSON_CreateNull());
	(void)cJSON_AddStringToObject(slowest, "stage", stage);
	(void)cJSON_AddNumberToObject(slowest, "cost_s", cost_s);
	(void)cJSON_AddStringToObject(slowest, "means", means);
}

/* Returns the mean of all ranks but one. */
static struct times mean_without(const struct times *times, uint32_t ranks, uint32_t one)
{
	struct times mean = { 0 };
	const double share = 1.0 / (ranks - 1);

	for (uint32_t rank = 0; rank < ranks; rank++) {
		if (rank == one)
			continue;
		mean.feed_s += times[rank].feed_s * share;
		mean.others_s += times[rank].others_s * share;
		mean.exchange_s += times[rank].exchange_s * share;
		mean.device_s += times[rank].device_s * share;
	}
	return mean;
}

static void find_slowest(cJSON *object, const struct status_traind *traind, const struct times *times)
{
	struct times mean;
	double passed_s, cost_s, wired_s = INFINITY;
	uint32_t least = 0;

	for (uint32_t rank = 0; rank < traind->ranks; rank++) {
		if (waits(&times[rank]) < waits(&times[least]))
			least = rank;
		wired_s = fmin(wired_s, times[rank].exchange_s);
	}
	mean = mean_without(times, traind->ranks, least);
	passed_s = passed(&mean);
	cost_s = waits(&mean) - waits(&times[least]);
	if (passed_s > 0 && cost_s >= SLOWER * passed_s) {
		const bool feed = times[least].feed_s - mean.feed_s >= cost_s / 2;

		add_slowest(object, &traind->rank[least], least, feed ? "feed" : "device", cost_s,
			    feed ? "its kiln-fetchd has no batch ready"
				 : "its device, or the program on its box, takes longer");
	} else if (passed_s > 0 && wired_s >= WIRED * passed_s) {
		add_slowest(object, NULL, 0, "wire", wired_s,
			    "the exchange takes longer than the work that could hide it");
	} else {
		(void)cJSON_AddNullToObject(object, "slowest");
	}
}

cJSON *status_ranks(const struct status *before, const struct status *traind)
{
	const uint32_t ranks = traind ? traind->traind.ranks : 0;
	struct times times[STATUS_RANKS_MAX];
	cJSON *object, *list;

	if (ranks < 2 || ranks > STATUS_RANKS_MAX)
		return cJSON_CreateNull();
	object = cJSON_CreateObject();
	list = cJSON_AddArrayToObject(object, "rank");
	for (uint32_t rank = 0; rank < ranks; rank++) {
		times[rank] = times_of(before, traind, rank);
		(void)cJSON_AddItemToArray(list, rank_object(&traind->traind.rank[rank], rank, &times[rank]));
	}
	find_slowest(object, &traind->traind, times);
	return object;
}
