/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/pump.h"

#include "core/base/clock.h"
#include "drivers/ranks/bfloat16.h"
#include "drivers/ranks/sum.h"

#include <inttypes.h>
#include <sched.h>

/* Segments of 1 MiB, LIBRARY_LANES of them on their way, move 25 million floats between 2 ranks fastest: 64
 * KiB to 1 MiB and 2 to 8 segments were tried (tests/bench/run-ranks-exchange). */
#define SEGMENT_BYTES  (1u << 20)
#define SEGMENTS_BYTES (64u << 20) /* most for the segments of all ranks together */
#define SEGMENT_ALIGN  64u

/* The waits of an exchange: short ones without a rest; in longer ones other threads get the core. */
#define RESTLESS_US 2000u
#define REST_NS     20000

int pump_open(struct pump *pump, struct error *err)
{
	const uint32_t share = SEGMENTS_BYTES / pump->world / SEGMENT_ALIGN * SEGMENT_ALIGN;

	pump->segment_bytes = share < SEGMENT_BYTES ? share : SEGMENT_BYTES;
	pump->addend = calloc(pump->world, sizeof(*pump->addend));
	pump->widened = aligned_alloc(SEGMENT_ALIGN, pump->world * SUM_BLOCK * sizeof(*pump->widened));
	for (uint32_t lane = 0; lane < LIBRARY_LANES; lane++) {
		const size_t bytes = (size_t)pump->segment_bytes * (pump->world - 1);

		pump->scratch[lane] = aligned_alloc(SEGMENT_ALIGN, bytes ? bytes : SEGMENT_ALIGN);
		if (!pump->addend || !pump->widened || !pump->scratch[lane])
			return error_set(err, -ENOMEM, "ranks: no memory for segments of %" PRIu32 " ranks",
					 pump->world);
	}
	return 0;
}

void pump_done(struct pump *pump)
{
	for (uint32_t lane = 0; lane < LIBRARY_LANES; lane++)
		free(pump->scratch[lane]);
	free(pump->widened);
	free(pump->addend);
	free(pump->steps);
}

void pump_obey(const struct pump *pump)
{
	/* acquire, pairs with the release in ranks_abort(). */
	const int code = atomic_load_explicit(&pump->abort_code, memory_order_acquire);

	if (code != PUMP_GOES_ON)
		pump->library->abort(code);
}

/* ---- Waiting ---- */

static void rest(uint64_t waited_us)
{
	const struct timespec time = { .tv_nsec = REST_NS };

	if (waited_us < RESTLESS_US)
		(void)sched_yield();
	else
		(void)nanosleep(&time, NULL);
}

static int blame(const struct pump *pump, int code, uint32_t peer, const char *why, struct error *err)
{
	if (peer >= pump->world)
		return error_set(err, code, "rank %" PRIu32 ": %s", pump->rank, why);
	return error_set(err, code, "rank %" PRIu32 "%s%s %s", peer, *pump->where[peer].host ? " on " : "",
			 pump->where[peer].host, why);
}

static int await(struct pump *pump, uint32_t lane, struct error *err)
{
	const uint64_t start_us = clock_us();
	char why[LIBRARY_WHY_BYTES];
	uint32_t peer;
	int r;

	while ((r = pump->library->done(lane, &peer, why)) == 0) {
		const uint64_t waited_us = clock_us() - start_us;

		pump_obey(pump);
		if (waited_us > pump->patience_us) {
			(void)snprintf(why, sizeof(why), "sends nothing for %" PRIu64 " s",
				       pump->patience_us / 1000000);
			return blame(pump, -ETIMEDOUT, pump->library->missing(lane), why, err);
		}
		rest(waited_us);
	}
	return r < 0 ? blame(pump, r, peer, why, err) : 0;
}

/* ---- Segments ---- */

struct part {
	unsigned char *data;
	uint32_t bytes;
};

/* Finds a segment of a rank's chunk; it is shorter or empty at the end. Empty ones are sent, too: so ranks
 * that do not agree about a count find out. */
static struct part find_part(const struct pump *pump, const struct pump_job *job, uint32_t owner,
			     uint64_t segment)
{
	const uint64_t chunk = owner * job->chunk_bytes, end = chunk + job->chunk_bytes,
		       last = end < job->bytes ? end : job->bytes,
		       first = chunk + segment * pump->segment_bytes;
	const uint64_t left = first < last ? last - first : 0;

	return (struct part){
		.data = left ? job->memory + first : NULL,
		.bytes = (uint32_t)(left < pump->segment_bytes ? left : pump->segment_bytes),
	};
}

/* ---- Scratch ---- */

/* A peer's scratch of a lane has room for a segment in float32. Values that travel as bfloat16 take half of
 * it: the first half is for those that come, the second for those that go. */
static unsigned char *inbox_of(const struct pump *pump, uint32_t lane, uint32_t peer)
{
	const uint32_t index = peer < pump->rank ? peer : peer - 1;

	return pump->scratch[lane] + (size_t)index * pump->segment_bytes;
}

static uint16_t *outbox_of(const struct pump *pump, uint32_t lane, uint32_t peer)
{
	return (uint16_t *)(inbox_of(pump, lane, peer) + pump->segment_bytes / 2);
}

static uint32_t lane_of(uint64_t segment)
{
	return (uint32_t)(segment % LIBRARY_LANES);
}

static uint32_t next_rank(const struct pump *pump)
{
	return (pump->rank + 1) % pump->world;
}

static void narrow(uint16_t *out, struct part part)
{
	bfloat16_narrow(out, (const float *)part.data, part.bytes / sizeof(float));
}

static void widen(struct part part, const unsigned char *in)
{
	bfloat16_widen((float *)part.data, (const uint16_t *)in, part.bytes / sizeof(float));
}

/* ---- Messages ---- */

/* Makes the message of a part: the part itself, or what the part is as bfloat16, at `narrowed`. */
static struct library_message message_of(const struct pump_job *job, struct part part, void *narrowed,
					 uint32_t peer)
{
	return (struct library_message){
		.data = job->bfloat16 ? narrowed : part.data,
		.bytes = job->bfloat16 ? part.bytes / 2 : part.bytes,
		.peer = peer,
	};
}

static int receive_from(const struct pump *pump, const struct pump_job *job, uint32_t peer, uint64_t segment,
			char why[static LIBRARY_WHY_BYTES])
{
	struct part part = find_part(pump, job, job->way == PUMP_SPREAD ? peer : pump->rank, segment);
	unsigned char *inbox = inbox_of(pump, lane_of(segment), peer);
	struct library_message message;

	if (job->way == PUMP_DEAL && peer != job->root)
		return 0;
	if (job->way == PUMP_REDUCE)
		part.data = inbox;
	message = message_of(job, part, inbox, peer);
	return pump->library->receive(lane_of(segment), &message, why);
}

static int send_to(const struct pump *pump, const struct pump_job *job, uint32_t peer, uint64_t segment,
		   char why[static LIBRARY_WHY_BYTES])
{
	const struct part part = find_part(pump, job, job->way == PUMP_SPREAD ? pump->rank : peer, segment);
	/* All peers get the same part in PUMP_SPREAD, which round_own() left for the first of them. */
	uint16_t *outbox =
		outbox_of(pump, lane_of(segment), job->way == PUMP_SPREAD ? next_rank(pump) : peer);
	const struct library_message message = message_of(job, part, outbox, peer);

	if (job->way == PUMP_DEAL && pump->rank != job->root)
		return 0;
	if (job->bfloat16 && job->way == PUMP_REDUCE)
		narrow(outbox, part);
	return pump->library->send(lane_of(segment), &message, why);
}

/* Rounds the own part of a segment, and keeps it as bfloat16 for all peers. */
static void round_own(const struct pump *pump, const struct pump_job *job, uint64_t segment)
{
	const struct part own = find_part(pump, job, pump->rank, segment);
	uint16_t *outbox = outbox_of(pump, lane_of(segment), next_rank(pump));

	narrow(outbox, own);
	widen(own, (unsigned char *)outbox);
}

/* Begins a segment. Each rank begins with its neighbour, so that not all of them send to the same one. */
static int post(const struct pump *pump, const struct pump_job *job, uint64_t segment, struct error *err)
{
	char why[LIBRARY_WHY_BYTES];
	uint32_t peer;
	int r;

	if (job->bfloat16 && job->way == PUMP_SPREAD)
		round_own(pump, job, segment);
	for (uint32_t i = 1; i < pump->world; i++) {
		peer = (pump->rank + pump->world - i) % pump->world;
		if ((r = receive_from(pump, job, peer, segment, why)) < 0)
			return blame(pump, r, peer, why, err);
	}
	for (uint32_t i = 1; i < pump->world; i++) {
		peer = (pump->rank + i) % pump->world;
		if ((r = send_to(pump, job, peer, segment, why)) < 0)
			return blame(pump, r, peer, why, err);
	}
	return 0;
}

/* ---- Complete segments ---- */

static void sum(struct pump *pump, struct part own, uint32_t lane)
{
	for (uint32_t i = 0; i < pump->world; i++)
		pump->addend[i] = (float *)(i == pump->rank ? own.data : inbox_of(pump, lane, i));
	sum_tree(pump->addend, pump->steps, pump->world, (float *)own.data, own.bytes / sizeof(float));
}

static void sum_block(struct pump *pump, float *own, uint32_t lane, size_t first, size_t count)
{
	for (uint32_t i = 0; i < pump->world; i++) {
		pump->addend[i] = pump->widened + (size_t)i * SUM_BLOCK;
		if (i == pump->rank)
			bfloat16_round(pump->addend[i], own + first, count);
		else
			bfloat16_widen(pump->addend[i], (uint16_t *)inbox_of(pump, lane, i) + first, count);
	}
	sum_tree(pump->addend, pump->steps, pump->world, own + first, count);
}

/* Widens and adds in blocks, which stay in a cache of the processor. */
static void sum_bfloat16(struct pump *pump, struct part own, uint32_t lane)
{
	const size_t count = own.bytes / sizeof(float);

	for (size_t first = 0; first < count; first += SUM_BLOCK)
		sum_block(pump, (float *)own.data, lane, first,
			  count - first < SUM_BLOCK ? count - first : SUM_BLOCK);
}

static void widen_all(const struct pump *pump, const struct pump_job *job, uint64_t segment)
{
	for (uint32_t i = 0; i < pump->world; i++)
		if (i != pump->rank)
			widen(find_part(pump, job, i, segment), inbox_of(pump, lane_of(segment), i));
}

static void finish(struct pump *pump, const struct pump_job *job, uint64_t segment)
{
	const struct part own = find_part(pump, job, pump->rank, segment);

	if (job->way == PUMP_REDUCE && job->bfloat16)
		sum_bfloat16(pump, own, lane_of(segment));
	else if (job->way == PUMP_REDUCE)
		sum(pump, own, lane_of(segment));
	else if (job->bfloat16)
		widen_all(pump, job, segment);
}

int pump_run(struct pump *pump, const struct pump_job *job, struct error *err)
{
	const uint64_t longest = job->chunk_bytes < job->bytes ? job->chunk_bytes : job->bytes,
		       segments = (longest + pump->segment_bytes - 1) / pump->segment_bytes;
	uint64_t posted = 0, complete = 0;
	int r = 0;

	while (r == 0 && complete < segments) {
		if (posted < segments && posted - complete < LIBRARY_LANES) {
			r = post(pump, job, posted++, err);
			continue;
		}
		r = await(pump, lane_of(complete), err);
		if (r == 0)
			finish(pump, job, complete);
		complete++;
	}
	return r;
}
