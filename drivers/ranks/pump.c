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
	rank_groups_done(&pump->groups);
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

/* The scratch of a lane has room for each part of each other member, a segment in float32. Values that travel
 * as bfloat16 take half of it: the first half is for those that come, the second for those that go. */
static unsigned char *inbox_of(const struct pump *pump, const struct rank_group *group, uint32_t lane,
			       uint32_t member, uint32_t part)
{
	const uint32_t other = member < group->me ? member : member - 1;

	return pump->scratch[lane] + (size_t)(other * group->parts + part) * pump->segment_bytes;
}

static uint16_t *outbox_of(const struct pump *pump, const struct rank_group *group, uint32_t lane,
			   uint32_t member, uint32_t part)
{
	return (uint16_t *)(inbox_of(pump, group, lane, member, part) + pump->segment_bytes / 2);
}

static uint32_t lane_of(uint64_t segment)
{
	return (uint32_t)(segment % LIBRARY_LANES);
}

static uint32_t next_member(const struct rank_group *group)
{
	return (group->me + 1) % group->members;
}

static bool is_narrow(const struct pump_job *job, const struct rank_group *group)
{
	return job->bfloat16 && group->narrows;
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
static struct library_message message_of(bool is_narrow, struct part part, void *narrowed, uint32_t peer)
{
	return (struct library_message){
		.data = is_narrow ? narrowed : part.data,
		.bytes = is_narrow ? part.bytes / 2 : part.bytes,
		.peer = peer,
	};
}

/* Receives part p of a member: with PUMP_SPREAD from the owner of the part, else as its owner. */
static int receive_part(const struct pump *pump, const struct pump_job *job, const struct rank_group *group,
			uint32_t member, uint32_t p, uint64_t segment, char why[static LIBRARY_WHY_BYTES])
{
	const uint32_t owner = job->way == PUMP_SPREAD ? member : group->me;
	struct part part = find_part(pump, job, rank_group_owner(group, owner, p), segment);
	unsigned char *inbox = inbox_of(pump, group, lane_of(segment), member, p);
	struct library_message message;

	if (job->way == PUMP_REDUCE)
		part.data = inbox;
	message = message_of(is_narrow(job, group), part, inbox, rank_group_rank(group, member));
	return pump->library->receive(lane_of(segment), &message, why);
}

static int send_part(const struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		     uint32_t member, uint32_t p, uint64_t segment, char why[static LIBRARY_WHY_BYTES])
{
	const bool spreads = job->way == PUMP_SPREAD;
	const struct part part =
		find_part(pump, job, rank_group_owner(group, spreads ? group->me : member, p), segment);
	/* All members get the same part in PUMP_SPREAD, which round_own() left for the first of them. */
	uint16_t *outbox = outbox_of(pump, group, lane_of(segment), spreads ? next_member(group) : member, p);
	const struct library_message message =
		message_of(is_narrow(job, group), part, outbox, rank_group_rank(group, member));

	if (is_narrow(job, group) && job->way == PUMP_REDUCE)
		narrow(outbox, part);
	return pump->library->send(lane_of(segment), &message, why);
}

/* Rounds the own parts of a segment, and keeps them as bfloat16 for all members. */
static void round_own(const struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		      uint64_t segment)
{
	for (uint32_t p = 0; p < group->parts; p++) {
		const struct part own = find_part(pump, job, rank_group_owner(group, group->me, p), segment);
		uint16_t *outbox = outbox_of(pump, group, lane_of(segment), next_member(group), p);

		narrow(outbox, own);
		widen(own, (unsigned char *)outbox);
	}
}

static int receive_all(const struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		       uint64_t segment, struct error *err)
{
	char why[LIBRARY_WHY_BYTES];
	int r;

	for (uint32_t i = 1; i < group->members; i++) {
		const uint32_t member = (group->me + group->members - i) % group->members;

		if (job->way == PUMP_DEAL && member != job->root)
			continue;
		for (uint32_t p = 0; p < group->parts; p++)
			if ((r = receive_part(pump, job, group, member, p, segment, why)) < 0)
				return blame(pump, r, rank_group_rank(group, member), why, err);
	}
	return 0;
}

/* Each rank begins with its neighbour, so that not all of them send to the same one. */
static int send_all(const struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		    uint64_t segment, struct error *err)
{
	char why[LIBRARY_WHY_BYTES];
	int r;

	if (job->way == PUMP_DEAL && pump->rank != job->root)
		return 0;
	for (uint32_t i = 1; i < group->members; i++) {
		const uint32_t member = (group->me + i) % group->members;

		for (uint32_t p = 0; p < group->parts; p++)
			if ((r = send_part(pump, job, group, member, p, segment, why)) < 0)
				return blame(pump, r, rank_group_rank(group, member), why, err);
	}
	return 0;
}

/* Begins a stage of a segment. */
static int post(const struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		uint64_t segment, struct error *err)
{
	const int r = receive_all(pump, job, group, segment, err);

	if (r < 0)
		return r;
	if (is_narrow(job, group) && job->way == PUMP_SPREAD)
		round_own(pump, job, group, segment);
	return send_all(pump, job, group, segment, err);
}

/* ---- Complete stages ---- */

static void sum(struct pump *pump, const struct rank_group *group, struct part own, uint32_t lane, uint32_t p)
{
	for (uint32_t i = 0; i < group->members; i++)
		pump->addend[i] = (float *)(i == group->me ? own.data : inbox_of(pump, group, lane, i, p));
	sum_tree(pump->addend, group->steps, group->members, (float *)own.data, own.bytes / sizeof(float));
}

static void sum_block(struct pump *pump, const struct rank_group *group, float *own, uint32_t lane,
		      uint32_t p, size_t first, size_t count)
{
	for (uint32_t i = 0; i < group->members; i++) {
		pump->addend[i] = pump->widened + (size_t)i * SUM_BLOCK;
		if (i == group->me)
			bfloat16_round(pump->addend[i], own + first, count);
		else
			bfloat16_widen(pump->addend[i], (uint16_t *)inbox_of(pump, group, lane, i, p) + first,
				       count);
	}
	sum_tree(pump->addend, group->steps, group->members, own + first, count);
}

/* Widens and adds in blocks, which stay in a cache of the processor. */
static void sum_bfloat16(struct pump *pump, const struct rank_group *group, struct part own, uint32_t lane,
			 uint32_t p)
{
	const size_t count = own.bytes / sizeof(float);

	for (size_t first = 0; first < count; first += SUM_BLOCK)
		sum_block(pump, group, (float *)own.data, lane, p, first,
			  count - first < SUM_BLOCK ? count - first : SUM_BLOCK);
}

static void sum_all(struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		    uint64_t segment)
{
	for (uint32_t p = 0; p < group->parts; p++) {
		const struct part own = find_part(pump, job, rank_group_owner(group, group->me, p), segment);

		if (is_narrow(job, group))
			sum_bfloat16(pump, group, own, lane_of(segment), p);
		else
			sum(pump, group, own, lane_of(segment), p);
	}
}

static void widen_all(const struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		      uint64_t segment)
{
	for (uint32_t i = 0; i < group->members; i++)
		for (uint32_t p = 0; i != group->me && p < group->parts; p++)
			widen(find_part(pump, job, rank_group_owner(group, i, p), segment),
			      inbox_of(pump, group, lane_of(segment), i, p));
}

static int finish(struct pump *pump, const struct pump_job *job, const struct rank_group *group,
		  uint64_t segment, struct error *err)
{
	const int r = await(pump, lane_of(segment), err);

	if (r < 0)
		return r;
	if (job->way == PUMP_REDUCE)
		sum_all(pump, job, group, segment);
	else if (is_narrow(job, group))
		widen_all(pump, job, group, segment);
	return 0;
}

/* ---- Jobs ---- */

/* Most segments in the second stage, so that others are in the first meanwhile. */
#define SECOND_MOST (LIBRARY_LANES / 2)

/* Finds the groups of the stages of a job, and returns how many stages it has. */
static uint32_t find_stages(const struct pump *pump, const struct pump_job *job,
			    const struct rank_group *ret_stage[static 2])
{
	const struct rank_groups *groups = &pump->groups;
	const bool spreads = job->way == PUMP_SPREAD;

	if (!groups->is_divided || job->way == PUMP_DEAL) {
		ret_stage[0] = &groups->all;
		return 1;
	}
	ret_stage[0] = spreads ? &groups->across : &groups->box;
	ret_stage[1] = spreads ? &groups->box : &groups->across;
	return 2;
}

int pump_run(struct pump *pump, const struct pump_job *job, struct error *err)
{
	const uint64_t longest = job->chunk_bytes < job->bytes ? job->chunk_bytes : job->bytes,
		       segments = (longest + pump->segment_bytes - 1) / pump->segment_bytes;
	uint64_t posted = 0, second = 0, complete = 0; /* segments that have reached that */
	const struct rank_group *stage[2];
	const uint32_t stages = find_stages(pump, job, stage);
	int r = 0;

	while (r == 0 && complete < segments) {
		if (posted < segments && posted - complete < LIBRARY_LANES) {
			r = post(pump, job, stage[0], posted++, err);
		} else if (stages == 2 && second < posted && second - complete < SECOND_MOST) {
			r = finish(pump, job, stage[0], second, err);
			r = r < 0 ? r : post(pump, job, stage[1], second++, err);
		} else {
			r = finish(pump, job, stage[stages - 1], complete++, err);
		}
	}
	return r;
}
