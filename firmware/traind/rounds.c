/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/rounds.h"
#include "core/base/log.h"
#include "traind/obey.h"
#include "traind/train.h"
#include "traind/wait.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MS  200u
#define ALIGNMENT 64u

/* The message of a rank to the others. The first members are those of the rank's next slot (struct
 * ring_slot): total_batches only of kind RING_END_SEGMENT, first_row only of kind RING_DATA. */
struct word {
	uint32_t kind, split; /* kind 0: the rank has no slot yet */
	uint64_t segment, batch, total_batches, first_row;
	uint32_t leave, rest; /* leave 1: the run must stop, and gets the state `rest` (enum run_state) */
	uint32_t save, pause; /* from rank 0, 1: a checkpoint is due; the run is paused */
	int32_t code;         /* negative errno: the rank fails */
	uint64_t skipped;     /* rows that this rank's kiln-fetchd has left empty since all ranks began */
	struct status_rank_times times;
	char why[512]; /* the reason, where the rank fails or the run must stop */
};
static_assert(sizeof(struct word) <= RANKS_RECORD_BYTES, "a word is one record");

/* ---- What this rank says ---- */

/* Looks at the wishes of the operator and of this rank's device. Takes a checkpoint that is due after
 * obey(), which makes one due: what is left would be written by this rank alone. */
static int look_around(struct train *train, struct word *mine, struct error *err)
{
	int r = wait_stopped(err);

	if (r == 0)
		r = obey(train, err);
	mine->save = save_take_due(train);
	mine->pause = train->want.pause;
	if (r != -ECANCELED)
		return r;
	mine->leave = 1;
	mine->rest = (uint32_t)train->want.rest;
	return 0;
}

/* A slot that contains an error, or does not follow the model's cursor, is given back. */
static int check_slot(struct train *train, const struct ring_slot *slot, struct error *err)
{
	if (slot->kind == RING_DATA || slot->kind == RING_END_SEGMENT)
		return batches_follow(train, slot, err);
	return slot->kind == RING_END_RUN ? 0 : batches_refuse(train, slot, err);
}

static int look_for_slot(struct train *train, struct error *err)
{
	struct rounds *rounds = &train->rounds;
	const struct ring_slot *slot = NULL;
	int r;

	if (rounds->held)
		return 0;
	r = batches_look(train, &slot, err);
	if (r == -EAGAIN)
		return 0;
	if (r == 0)
		r = check_slot(train, slot, err);
	if (r == 0)
		rounds->held = slot;
	return r;
}

static void describe(const struct ring_slot *slot, struct word *mine)
{
	mine->kind = slot->kind;
	mine->split = slot->split;
	mine->segment = slot->segment;
	mine->batch = slot->batch;
	mine->total_batches = slot->total_batches;
	mine->first_row = slot->first_row;
}

/* Counts the rows that are left empty up to the end of the next slot. */
static uint64_t count_skipped(const struct train *train)
{
	struct cursor cursor;

	model_cursor_get(train->model, &cursor);
	if (train->rounds.held)
		cursor = train->rounds.held->cursor;
	return cursor.skipped - train->world.from.skipped;
}

/* Tells the other ranks what this one has and wants, and hears the same of them. */
static int speak(struct train *train, struct word *all, struct error *err)
{
	struct word mine = { 0 };
	enum stage before;
	uint32_t row;
	int r = look_around(train, &mine, err);

	if (r == 0 && !mine.leave && !train->rounds.paused)
		r = look_for_slot(train, err);
	if (train->rounds.held)
		describe(train->rounds.held, &mine);
	if (r == 0 && mine.kind && mine.split == SPLIT_TRAIN)
		r = model_fault(train->model, &row, err);
	mine.code = r;
	if (r < 0 || mine.leave)
		(void)snprintf(mine.why, sizeof(mine.why), "%.*s", (int)sizeof(mine.why) - 1, err->text);
	mine.skipped = count_skipped(train);
	mine.times = publish_times(train);
	before = stages_enter(&train->stages, STAGE_WAITING);
	r = world_gather(train, &mine, sizeof(mine), all, err);
	(void)stages_enter(&train->stages, before);
	for (uint32_t rank = 0; r == 0 && rank < train->world.count && world_leads(&train->world); rank++)
		publish_rank_times(train, rank, &all[rank].times);
	return r;
}

/* ---- What all do ---- */

/* Returns the error of a rank that fails. Where a number of training became NaN or infinite, the sum of
 * gradients carries it to all ranks, and the rank that has the record may be the last to see it: all wait for
 * their devices, and tell each other what they see then. */
static int fail(struct train *train, uint32_t rank, const struct word *failed, struct error *err)
{
	struct model_metrics metrics;
	int r = 0;

	if (failed->code == -EDOM)
		r = world_all(train, model_metrics(train->model, &metrics, err), err);
	return r < 0 ? r : world_fail(train, rank, failed->code, failed->why, err);
}

/* Returns the error of the first rank that fails, or -ECANCELED if a rank must stop. */
static int leave(struct train *train, struct word *all, struct error *err)
{
	for (uint32_t rank = 0; rank < train->world.count; rank++) {
		all[rank].why[sizeof(all[rank].why) - 1] = '\0';
		if (all[rank].code < 0)
			return fail(train, rank, &all[rank], err);
	}
	for (uint32_t rank = 0; rank < train->world.count; rank++) {
		if (!all[rank].leave)
			continue;
		train->want.rest = (enum run_state)all[rank].rest;
		train->world.agreed = true;
		return error_set(err, -ECANCELED, "%s", all[rank].why);
	}
	return 0;
}

/* fetch.skip_records_max is for the whole run, and a kiln-fetchd knows its own rows alone. */
static int check_skipped(struct train *train, const struct word *all, struct error *err)
{
	const uint64_t max = train->run.config.fetch.skip_records_max;
	uint64_t skipped = train->world.from.skipped;

	for (uint32_t rank = 0; rank < train->world.count; rank++)
		skipped += all[rank].skipped;
	if (skipped <= max)
		return 0;
	train->world.agreed = true;
	return error_set(err, -EBADMSG,
			 "%" PRIu64 " records skipped in this run by all ranks, fetch.skip_records_max is "
			 "%" PRIu64,
			 skipped, max);
}

/* During a pause rank 0 waits a little in each round, and the others wait for it. */
static int stay_paused(struct train *train, bool pause, struct error *err)
{
	struct rounds *rounds = &train->rounds;
	int r = 0;

	if (pause && !rounds->paused)
		r = pause_begin(train, err);
	else if (!pause && rounds->paused)
		r = pause_end(train, err);
	rounds->paused = pause;
	if (r == 0 && pause && world_leads(&train->world))
		(void)!wait_ms(train, PAUSE_MS, err); /* the next round sees a signal */
	return r;
}

static int differ(struct train *train, const struct word *all, uint32_t a, uint32_t b, struct error *err)
{
	train->world.agreed = true;
	return error_set(err, -EUCLEAN,
			 "rank %u has a slot of kind %u, %s %" PRIu64 ", batch %" PRIu64
			 ", rank %u one of kind %u, %s %" PRIu64 ", batch %" PRIu64
			 ", expected the same place",
			 a, all[a].kind, split_name(all[a].split < SPLIT_MAX ? all[a].split : SPLIT_TEST),
			 all[a].segment + 1, all[a].batch, b, all[b].kind,
			 split_name(all[b].split < SPLIT_MAX ? all[b].split : SPLIT_TEST), all[b].segment + 1,
			 all[b].batch);
}

/* Refuses a segment for which no rank had a row, as kiln-fetchd refuses it where there is one rank. */
static int refuse_empty(struct train *train, const struct word *all, struct error *err)
{
	const char *monitor = config_validation_monitor(&train->run.config);

	for (uint32_t rank = 0; rank < train->world.count; rank++)
		if (all[rank].kind != RING_END_SEGMENT || all[rank].total_batches > 0)
			return 0;
	if (all[0].split == SPLIT_TEST || (all[0].split == SPLIT_VALIDATION && !monitor))
		return 0;
	train->world.agreed = true;
	return error_set(
		err, -EBADMSG,
		"the %s shards of all ranks hold too few rows for a batch: run.batch_rows is %" PRIu64 "%s%s",
		split_name(all[0].split), train->run.config.run.batch_rows,
		all[0].split == SPLIT_VALIDATION ? ", and a callback monitors " : "",
		all[0].split == SPLIT_VALIDATION ? monitor : "");
}

/* Finds the rank whose slot says what all do: the first with a batch, else rank 0. -EAGAIN: a rank has no
 * slot yet. */
static int choose(struct train *train, const struct word *all, uint32_t *ret_rank, struct error *err)
{
	uint32_t chosen = 0;

	for (uint32_t rank = 0; rank < train->world.count; rank++) {
		if (!all[rank].kind)
			return -EAGAIN;
		if (all[rank].kind == RING_DATA && all[chosen].kind != RING_DATA)
			chosen = rank;
	}
	for (uint32_t rank = 0; rank < train->world.count; rank++) {
		const struct word *a = &all[chosen], *b = &all[rank];
		const bool ended = a->kind == RING_DATA && b->kind == RING_END_SEGMENT;

		if (a->split != b->split || a->segment != b->segment || (a->kind != b->kind && !ended) ||
		    (b->kind == RING_DATA && a->batch != b->batch))
			return differ(train, all, chosen, rank, err);
	}
	*ret_rank = chosen;
	return refuse_empty(train, all, err);
}

/* ---- Empty rows ---- */

struct column {
	const void **at;
	uint64_t bytes;
};

/* Lists the columns of a batch. Returns how many they are. */
static uint32_t list_columns(const struct train *train, struct model_batch *batch, struct column *columns)
{
	struct model_input input[MODEL_INPUTS_MAX];
	const struct model_input label = model_label(train->model);
	const uint32_t inputs = model_inputs(train->model, input);
	uint32_t count = 0;

	for (uint32_t i = 0; i < inputs; i++)
		columns[count++] = (struct column){ &batch->input[i], input[i].bytes };
	columns[count++] = (struct column){ &batch->label, label.bytes };
	return count;
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int make_empty(struct train *train, struct error *err)
{
	struct model_batch *batch = &train->rounds.empty;
	const struct config *config = &train->run.config;
	const uint32_t rows = (uint32_t)model_batch_rows(train->model);
	struct column columns[MODEL_INPUTS_MAX + 1];
	const uint32_t count = list_columns(train, batch, columns);
	const bool weighted = model_sample_weight(train->model).name;
	uint64_t bytes = aligned(rows) + aligned(rows * sizeof(*batch->weight));
	uint8_t *next;

	for (uint32_t i = 0; i < count; i++)
		bytes += aligned(columns[i].bytes);
	next = train->rounds.memory = aligned_alloc(ALIGNMENT, bytes);
	if (!next)
		return error_set(err, -ENOMEM, "a batch of empty rows: no memory for %" PRIu64 " bytes",
				 bytes);
	memset(next, 0, bytes);
	for (uint32_t i = 0; i < count; i++) {
		*columns[i].at = next;
		next += aligned(columns[i].bytes);
	}
	batch->weight = weighted ? (const float *)next : NULL;
	next += aligned(rows * sizeof(*batch->weight));
	memset(next, 1, rows);
	batch->empty = next;
	batch->rows = rows;
	batch->part = order_part((uint32_t)config->order.lanes, train->world.count, train->world.rank,
				 config->run.batch_rows);
	return 0;
}

const struct model_batch *rounds_empty(const struct train *train)
{
	return train->rounds.trains ? &train->rounds.empty : NULL;
}

void rounds_close(struct rounds *rounds)
{
	free(TAKE(rounds->memory));
	rounds->held = NULL;
}

/* ---- One round ---- */

/* Gives this rank its part of the step that `chosen` says. */
static int take_part(struct train *train, const struct word *chosen, const struct ring_slot **ret_slot,
		     struct error *err)
{
	struct rounds *rounds = &train->rounds;
	int r = 0;

	if (rounds->held->kind == chosen->kind) {
		*ret_slot = TAKE(rounds->held);
		return 0;
	}
	*ret_slot = NULL;
	if (!rounds->memory)
		r = make_empty(train, err);
	rounds->empty.first_row = chosen->first_row;
	rounds->segment = chosen->segment;
	rounds->trains = chosen->split == SPLIT_TRAIN;
	return r;
}

static int go_round(struct train *train, const struct ring_slot **ret_slot, struct error *err)
{
	struct word all[CURSOR_PLACES_MAX];
	uint32_t chosen = 0;
	int r = speak(train, all, err);

	if (r < 0 || (r = leave(train, all, err)) < 0 || (r = check_skipped(train, all, err)) < 0)
		return r;
	if (all[0].save)
		r = save_checkpoint(train, false, err);
	if (r < 0 || (r = stay_paused(train, all[0].pause, err)) < 0)
		return r;
	if (all[0].pause)
		return -EAGAIN;
	r = choose(train, all, &chosen, err);
	return r < 0 ? r : take_part(train, &all[chosen], ret_slot, err);
}

int rounds_next(struct train *train, const struct ring_slot **ret_slot, struct error *err)
{
	const struct ring_slot *slot = NULL;
	int r;

	if (train->world.count > 1) {
		do {
			r = go_round(train, ret_slot, err);
		} while (r == -EAGAIN);
		return r;
	}
	r = batches_next(train, &slot, err);
	if (r == 0)
		r = check_slot(train, slot, err);
	if (r == 0)
		*ret_slot = slot;
	return r;
}
