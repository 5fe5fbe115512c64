/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the exchange of gradients between two ranks a training step does not hide (model/exchange.h).
 * This process is rank 0; rank 1 and the link are played: a half of an exchange takes the time that its bytes
 * need on the link, and no time of a core. All bytes of a step take as long on the link as the backward pass,
 * taken as twice the forward pass. Exposed is the time of a step with this link less that with a link that
 * needs no time. The peer exchanges all gradients at once, when the backward pass is complete. First the
 * weights of a step with many buckets are compared with those of one. Usage: overlap [ROUNDS] [STEPS]
 */
#include "drivers/ranks/ranks.h"
#include "tests/bench/measure.h"
#include "tests/reference.h"

#include <inttypes.h>

#define WORLD      2u
#define WIDTH      1024u
#define ROWS       512u /* of both ranks */
#define CLASSES    10u
#define BUCKET     (UINT64_C(4) << 20) /* the default of ranks.bucket_bytes */
#define ROUNDS_MAX 101u

#define HIDDEN DENSE(WIDTH), RELU
static struct config_layer layers[] = { HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN,         HIDDEN, HIDDEN,
					HIDDEN, HIDDEN, HIDDEN, HIDDEN, DENSE(CLASSES), SOFTMAX };

/* Of a step, the link is free at `free_us`. */
struct link {
	double us_of_byte, free_us;
	uint64_t bytes; /* that have travelled */
};

static float *input;
static int64_t *label;

static void must(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "overlap: %s\n", err->text);
	exit(1);
}

/* ---- The link ---- */

/* Each half sends the share of the other rank. The ticket is the time at which it is complete, in ns. */
static int start(void *arg, enum model_half half, float *values, uint64_t count, uint64_t *ret_ticket,
		 struct error *err)
{
	struct link *link = arg;
	const uint64_t bytes = count * sizeof(*values) * (WORLD - 1) / WORLD;
	const double now = now_us();

	(void)half;
	(void)err;
	link->free_us = fmax(link->free_us, now) + (double)bytes * link->us_of_byte;
	link->bytes += bytes;
	*ret_ticket = (uint64_t)(link->free_us * 1000);
	return 0;
}

static int await(void *arg, uint64_t ticket, struct error *err)
{
	const struct timespec until = { .tv_sec = (time_t)(ticket / 1000000000),
					.tv_nsec = (long)(ticket % 1000000000) };

	(void)arg;
	(void)err;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
	return 0;
}

/* ---- A model ---- */

static struct model *open_model(struct gpu *gpu, const struct config *config, struct link *link,
				uint64_t bucket_bytes)
{
	const struct model_exchange exchange = { .start = start,
						 .wait = await,
						 .arg = link,
						 .world = WORLD,
						 .rank = 0,
						 .bucket_bytes = bucket_bytes };
	struct model *model = NULL;
	struct error err = { 0 };

	must(model_open(gpu, config, true, &model, &err), &err);
	must(model_init(model, &err), &err);
	must(model_share(model, 0, 1, &exchange, &err), &err);
	return model;
}

static struct model_batch batch_of(const struct model *model)
{
	return (struct model_batch){ .input = { input },
				     .label = label,
				     .rows = ROWS / WORLD,
				     .valid_rows = ROWS / WORLD,
				     .first_row = model_step(model) * ROWS,
				     .part = { WORLD, 0, 1, ROWS / WORLD } };
}

static double train_us(struct model *model, uint32_t steps)
{
	const double began = now_us();
	struct model_metrics metrics;
	struct error err = { 0 };

	for (uint32_t i = 0; i < steps; i++) {
		const struct model_batch batch = batch_of(model);

		must(model_train(model, &batch, &err), &err);
	}
	must(model_metrics(model, &metrics, &err), &err);
	return (now_us() - began) / steps;
}

static double forward_us(struct model *model, uint32_t steps)
{
	const double began = now_us();
	struct model_metrics metrics;
	struct error err = { 0 };

	for (uint32_t i = 0; i < steps; i++) {
		const struct model_batch batch = batch_of(model);

		must(model_evaluate(model, &batch, &err), &err);
	}
	must(model_metrics(model, &metrics, &err), &err);
	return (now_us() - began) / steps;
}

/* ---- Verify ---- */

/* Returns the bits of weights and slots in one block of memory, which the caller frees. */
static uint32_t *state_of(struct model *model, uint64_t *ret_count)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;
	uint64_t bytes = 0;
	uint8_t *all;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	for (uint32_t t = 0; t < count; t++)
		bytes += tensors[t].bytes;
	all = malloc(bytes);
	if (!all)
		abort();
	bytes = 0;
	for (uint32_t t = 0; t < count; t++) {
		memcpy(all + bytes, tensors[t].data, tensors[t].bytes);
		bytes += tensors[t].bytes;
	}
	model_snapshot_release(model);
	*ret_count = bytes / sizeof(uint32_t);
	return (uint32_t *)(void *)all;
}

/* After one step from the same state, each number is what it is without buckets, or belongs to rank 1 and
 * is as it was. */
static void verify(struct model *cut, struct model *whole)
{
	uint64_t count, updated = 0;
	uint32_t *before = state_of(cut, &count), *ours, *theirs;

	(void)train_us(cut, 1);
	(void)train_us(whole, 1);
	ours = state_of(cut, &count);
	theirs = state_of(whole, &count);
	for (uint64_t i = 0; i < count; i++) {
		if (ours[i] != theirs[i] && ours[i] != before[i]) {
			(void)fprintf(stderr,
				      "overlap: number %" PRIu64 " of %" PRIu64
				      " is %08x, without buckets %08x\n",
				      i, count, ours[i], theirs[i]);
			exit(1);
		}
		updated += ours[i] == theirs[i];
	}
	free(before);
	free(ours);
	free(theirs);
	if (updated < count / 3) {
		(void)fprintf(stderr, "overlap: %" PRIu64 " of %" PRIu64 " numbers are updated\n", updated,
			      count);
		exit(1);
	}
}

/* ---- Measure ---- */

/* The link that takes as long for the bytes of a step as the backward pass. */
static double link_for(struct model *model, struct link *link, uint32_t steps)
{
	double backward_us;

	(void)forward_us(model, steps);
	backward_us = 2 * forward_us(model, steps);
	link->bytes = 0;
	(void)train_us(model, 1);
	return backward_us / (double)link->bytes;
}

static double exposed_us(struct model *model, struct link *link, double us_of_byte, uint32_t steps)
{
	double fast;

	link->us_of_byte = 0;
	fast = train_us(model, steps);
	link->us_of_byte = us_of_byte;
	return train_us(model, steps) - fast;
}

static void measure(struct gpu *gpu, const struct config *config, const char *label_of_case, uint32_t rounds,
		    uint32_t steps)
{
	struct link ours = { 0 }, theirs = { 0 };
	struct model *cut = open_model(gpu, config, &ours, BUCKET),
		     *whole = open_model(gpu, config, &theirs, UINT64_C(1) << 40);
	double exposed[ROUNDS_MAX], peer[ROUNDS_MAX], us_of_byte;

	verify(cut, whole);
	us_of_byte = link_for(whole, &theirs, steps);
	for (uint32_t r = 0; r < rounds; r++) {
		exposed[r] = exposed_us(cut, &ours, us_of_byte, steps);
		peer[r] = exposed_us(whole, &theirs, us_of_byte, steps);
	}
	printf("{\"name\":\"ranks-overlap\",\"case\":\"%s, a link of %.1f "
	       "MB/s\",\"value\":%.1f,\"unit\":\"us\",\"peer\":\"no overlap\","
	       "\"peer_value\":%.1f,\"ratio\":%.3f}\n",
	       label_of_case, 1 / us_of_byte, median(exposed, rounds), median(peer, rounds),
	       median(peer, rounds) / median(exposed, rounds));
	model_close(cut);
	model_close(whole);
}

static uint32_t number(const char *text, uint32_t fallback)
{
	const uint32_t asked = text ? (uint32_t)strtoul(text, NULL, 10) : fallback;

	return asked ? asked : 1;
}

int main(int argc, char **argv)
{
	const uint32_t asked = number(argc > 1 ? argv[1] : NULL, 7);
	const uint32_t rounds = asked < ROUNDS_MAX ? asked : ROUNDS_MAX,
		       steps = number(argc > 2 ? argv[2] : NULL, 5);
	struct config config = model_config(layers, sizeof(layers) / sizeof(*layers), WIDTH, CLASSES, ROWS);
	struct gpu *gpu = open_device();

	input = aligned_alloc(4096, (size_t)ROWS * WIDTH * sizeof(*input));
	label = aligned_alloc(4096, (size_t)ROWS * CLASSES * sizeof(*label) / 4096 * 4096 + 4096);
	if (!input || !label)
		abort();
	fill_batch(0, ROWS, WIDTH, CLASSES, input, label);
	config.order.lanes = WORLD;
	config.ranks.exact = true;
	measure(gpu, &config, "the update is divided", rounds, steps);
	config.optimizer.clipnorm = 1;
	measure(gpu, &config, "clipped by a norm: each rank updates all", rounds, steps);
	close_device(gpu);
	free(input);
	free(label);
	return 0;
}
