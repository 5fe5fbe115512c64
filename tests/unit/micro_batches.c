/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step in several micro-batches (plan/parts.h): 1, 2, 3 and 4 processes have the same bits after some steps
 * of each small network, with dropout, moving statistics, accumulation, clipping, the loss scale and empty
 * rows. The gradients of one step are those of a batch that is not cut. Each process is a thread with a
 * device of its own.
 */
#include "drivers/ranks/ranks.h"
#include "drivers/ranks/sum.h"
#include "model/memory.h"
#include "tests/reference.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/small_nets.h"

#define LANES     4u
#define ROWS_ALL  (LANES * ROWS)
#define STEPS     3u
#define WORLD_MAX LANES
/* A network has several buckets. */
#define BUCKET_BYTES 1024u

/* The rows of one batch, in the order of lanes. */
struct rows {
	float sentence[ROWS_ALL * NUMBERS], label[ROWS_ALL * CLASSES];
	int64_t classes[ROWS_ALL * CLASSES], ids[ROWS_ALL * 2], tokens[ROWS_ALL * TOKENS],
		splits[ROWS_ALL + 1];
	uint8_t pixels[ROWS_ALL * 6 * 5 * 3], empty[ROWS_ALL];
};

static struct rows batch_of[STEPS];
static struct gpu *gpu_of[WORLD_MAX]; /* each process has a device of its own */

static void fill_rows(struct rows *rows, uint64_t seed, uint32_t step)
{
	for (size_t i = 0; i < ROWS_ALL * NUMBERS; i++)
		rows->sentence[i] = (float)noise(&seed);
	for (size_t i = 0; i < ROWS_ALL * CLASSES; i++) {
		rows->classes[i] = i % CLASSES == (i / CLASSES) % CLASSES;
		rows->label[i] = (float)rows->classes[i];
	}
	for (size_t i = 0; i < ROWS_ALL * 2; i++)
		rows->ids[i] = (int64_t)(i * (step + 1) % TABLE);
	for (size_t i = 0; i < ROWS_ALL * TOKENS; i++)
		rows->tokens[i] = (int64_t)(i * (step + 3) % TABLE);
	for (uint32_t row = 0; row < ROWS_ALL; row++)
		rows->splits[row + 1] = rows->splits[row] + (row + step) % (TOKENS + 1);
	for (size_t i = 0; i < sizeof(rows->pixels); i++)
		rows->pixels[i] = (uint8_t)(128 + 127 * noise(&seed));
	/* The last step has empty rows; all rows of lane 2 are among them. */
	for (uint32_t row = 0; row < ROWS_ALL; row++)
		rows->empty[row] = step == STEPS - 1 && (row / ROWS == 2 || row % ROWS == 1);
}

static const void *column(const struct rows *rows, const struct tensor *what, uint32_t first)
{
	if (strstr(what->name, "/splits"))
		return rows->splits + first;
	if (strstr(what->name, "/values"))
		return rows->tokens + rows->splits[first];
	if (!strcmp(what->name, "ids"))
		return rows->ids + (size_t)first * what->elements;
	if (!strcmp(what->name, "pixels"))
		return rows->pixels + (size_t)first * what->elements;
	return rows->sentence + (size_t)first * what->elements;
}

/* Makes the batch of lanes `first` .. first + lanes - 1, as a ring slot has it: its splits begin at 0. */
static struct model_batch batch_at(const struct graph *graph, uint32_t step, uint32_t first, uint32_t lanes,
				   int64_t splits[static ROWS_ALL + 1])
{
	const struct rows *rows = &batch_of[step];
	const uint32_t row = first * ROWS, count = lanes * ROWS;
	struct model_batch batch = { .rows = count,
				     .first_row = (uint64_t)step * ROWS_ALL,
				     .part = { LANES, first, lanes, ROWS } };

	for (uint32_t i = 0; i < graph->inputs; i++) {
		const struct tensor *what = graph_at(graph, graph->input[i]);

		batch.input[i] = column(rows, what, row);
		if (!strstr(what->name, "/splits"))
			continue;
		for (uint32_t r = 0; r <= count; r++)
			splits[r] = rows->splits[row + r] - rows->splits[row];
		batch.input[i] = splits;
	}
	batch.label = graph_at(graph, graph->label)->dtype == DTYPE_I64
			      ? (const void *)(rows->classes + row * CLASSES)
			      : (const void *)(rows->label + row * CLASSES);
	batch.empty = rows->empty + row;
	for (uint32_t r = 0; r < count; r++)
		batch.valid_rows += !batch.empty[r];
	return batch;
}

/* ---- A world of threads ---- */

struct world {
	const struct config *config;
	uint32_t count;
	pthread_barrier_t barrier;
	float *values[WORLD_MAX];
	struct sum_step steps[WORLD_MAX];
	struct model_sums sums[MODEL_LANES_MAX];
};

struct process {
	struct world *world;
	uint32_t number, first, lanes;
	uint64_t started; /* halves of exchanges */
	struct model *model;
	struct gpu *gpu;
	pthread_t thread;
};

/* Each process adds its own chunk, or copies those of the others. */
static int start(void *arg, enum model_half half, float *values, uint64_t count, uint64_t *ret_ticket,
		 struct error *err)
{
	struct process *process = arg;
	struct world *world = process->world;
	const bool reduces = half == MODEL_REDUCE || half == MODEL_REDUCE_EXACT;

	(void)err;
	world->values[process->number] = values;
	(void)pthread_barrier_wait(&world->barrier);
	for (uint32_t p = 0; p < world->count; p++) {
		const struct ranks_chunk chunk = ranks_chunk(count, world->count, p);
		float *addend[WORLD_MAX];

		for (uint32_t other = 0; other < world->count; other++)
			addend[other] = world->values[other] + chunk.first;
		if (reduces && p == process->number)
			sum_tree(addend, world->steps, world->count, values + chunk.first, chunk.count);
		if (!reduces && p != process->number)
			memcpy(values + chunk.first, addend[p], chunk.count * sizeof(*values));
	}
	(void)pthread_barrier_wait(&world->barrier);
	*ret_ticket = ++process->started;
	return 0;
}

static int await(void *arg, uint64_t ticket, struct error *err)
{
	const struct process *process = arg;

	(void)err;
	assert_in_range(ticket, 1, process->started);
	return 0;
}

static void *run_process(void *arg)
{
	struct process *process = arg;
	struct world *world = process->world;
	struct model_sums sums[MODEL_LANES_MAX];
	int64_t splits[STEPS][ROWS_ALL + 1];
	struct error err = { 0 };

	for (uint32_t step = 0; step < STEPS; step++) {
		const struct model_batch batch =
			batch_at(&process->model->graph, step, process->first, process->lanes, splits[step]);

		harness_must(model_train(process->model, &batch, &err), &err);
	}
	harness_must(model_gather(process->model, &err), &err);
	harness_must(model_sums_get(process->model, sums, &err), &err);
	memcpy(world->sums + process->first, sums + process->first, process->lanes * sizeof(*sums));
	(void)pthread_barrier_wait(&world->barrier);
	harness_must(model_sums_set(process->model, world->sums, &err), &err);
	return NULL;
}

static void open_process(struct process *process, struct world *world, uint32_t number)
{
	struct error err = { 0 };

	*process = (struct process){ .world = world, .number = number, .gpu = gpu_of[number] };
	order_rank_lanes(LANES, world->count, number, &process->first, &process->lanes);
	harness_must(model_open(process->gpu, world->config, true, &process->model, &err), &err);
	assert_int_equal(model_lanes(process->model), LANES);
	harness_must(model_share(process->model, process->first, process->lanes,
				 &(struct model_exchange){ world->count, number, start, await, process,
							   BUCKET_BYTES, false },
				 &err),
		     &err);
	harness_must(model_init(process->model, &err), &err);
}

/* How many worlds of several processes divided the update, or did not. */
static unsigned divided, undivided;

/* Trains in `count` processes. Returns the state of each in turn, which the caller frees. */
static uint8_t *train_in(const struct config *config, uint32_t count, uint64_t *ret_bytes)
{
	struct world world = { .config = config, .count = count };
	struct process process[WORLD_MAX];
	uint32_t lanes[WORLD_MAX];
	uint8_t *states = NULL;
	struct error err = { 0 };

	assert_int_equal(pthread_barrier_init(&world.barrier, NULL, count), 0);
	for (uint32_t p = 0; p < count; p++) {
		open_process(&process[p], &world, p);
		lanes[p] = process[p].lanes;
	}
	divided += process[0].model->share.exchange.divides;
	undivided += count > 1 && !process[0].model->share.exchange.divides;
	assert_true(sum_steps(lanes, count, world.steps));
	for (uint32_t p = 0; p < count; p++)
		assert_int_equal(pthread_create(&process[p].thread, NULL, run_process, &process[p]), 0);
	for (uint32_t p = 0; p < count; p++)
		assert_int_equal(pthread_join(process[p].thread, NULL), 0);
	for (uint32_t p = 0; p < count; p++) {
		const uint64_t bytes = process[p].model->graph.arena_bytes[ARENA_STATE];

		*ret_bytes = bytes;
		if (!states)
			states = malloc(count * bytes);
		assert_non_null(states);
		harness_must(gpu_read(process[p].gpu, process[p].model->arena[ARENA_STATE], 0,
				      states + p * bytes, bytes, NULL, &err),
			     &err);
		model_close(process[p].model);
	}
	(void)pthread_barrier_destroy(&world.barrier);
	return states;
}

/* The networks of small_nets.h that have something of their own to sum: compiling all of them takes minutes.
 */
static bool is_chosen(size_t n)
{
	static const struct {
		const struct config_layer *layers;
		void (*change)(struct config *of);
	} chosen[] = { { functions, in_float16 },     { joined, NULL },
		       { dense_norms, NULL },         { pictures, NULL },
		       { tables, with_accumulation }, { numbers_of_rows, with_sgd },
		       { yes_or_no, with_momentum },  { dense_norms, with_rmsprop },
		       { dense_norms, with_adagrad }, { dense_norms, with_adamax },
		       { dense_norms, with_lion },    { masks, NULL } };

	if (nets[n].layers == dense_norms && nets[n].shape[0] > 0)
		return false;
	for (size_t i = 0; i < sizeof(chosen) / sizeof(*chosen); i++)
		if (nets[n].layers == chosen[i].layers && nets[n].change == chosen[i].change)
			return true;
	return false;
}

static struct config lanes_of(const struct net *net)
{
	struct config of = config_of(net);

	of.run.batch_rows = ROWS_ALL;
	of.order.lanes = LANES;
	of.ranks.exact = true;
	return of;
}

/* Some of the networks divide the update among the processes, others cannot. */
static void test_worlds_have_the_same_bits(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(nets) / sizeof(*nets); n++) {
		const struct config of = lanes_of(&nets[n]);
		uint64_t bytes = 0;

		if (!is_chosen(n))
			continue;

		CLEANUP(free_ptr) uint8_t *one = train_in(&of, 1, &bytes);

		for (uint32_t count = 2; count <= WORLD_MAX; count++) {
			CLEANUP(free_ptr) uint8_t *some = train_in(&of, count, &bytes);

			for (uint32_t p = 0; p < count; p++)
				if (memcmp(one, some + p * bytes, bytes) != 0)
					fail_msg("net %zu %s: process %u of %u has other bits", n,
						 nets[n].label, p, count);
		}
	}
	assert_in_range(divided, 6, 100);
	assert_in_range(undivided, 6, 100);
}

/* ---- Beside a batch that is not cut ---- */

static bool has_batch_norm(const struct net *net)
{
	for (uint32_t i = 0; i < net->count; i++)
		if (!strcmp(net->layers[i].op, "batch_norm"))
			return true;
	return false;
}

/* Trains one step, the last, which has empty rows, and returns the gradients. */
static float *gradients_of(const struct config *config, uint64_t *ret_count, double *ret_loss)
{
	struct gpu *gpu = gpu_of[0];
	struct model *model = NULL;
	struct model_metrics metrics;
	int64_t splits[ROWS_ALL + 1];
	struct model_batch batch;
	struct error err = { 0 };
	float *gradients;

	harness_must(model_open(gpu, config, true, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	batch = batch_at(&model->graph, STEPS - 1, 0, LANES, splits);
	harness_must(model_train(model, &batch, &err), &err);
	harness_must(model_metrics(model, &metrics, &err), &err);
	assert_int_equal(metrics.rows, batch.valid_rows);
	*ret_loss = metrics.loss;
	*ret_count = graph_at(&model->graph, model->graph.gradient_region)->elements;
	gradients = malloc(*ret_count * sizeof(*gradients));
	assert_non_null(gradients);
	harness_must(gpu_read(gpu, model->arena[ARENA_GRADIENT], 0, gradients,
			      *ret_count * sizeof(*gradients), NULL, &err),
		     &err);
	model_close(model);
	return gradients;
}

static void test_gradients_are_those_of_the_whole_batch(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(nets) / sizeof(*nets); n++) {
		struct config of = lanes_of(&nets[n]);
		uint64_t count = 0;
		double loss, whole_loss, most = 0, largest = 0;

		if (!is_chosen(n) || has_batch_norm(&nets[n]) || of.model.precision != PRECISION_FLOAT32)
			continue;

		CLEANUP(free_ptr) float *cut = gradients_of(&of, &count, &loss);

		of.order.lanes = 1;

		CLEANUP(free_ptr) float *whole = gradients_of(&of, &count, &whole_loss);

		for (uint64_t i = 0; i < count; i++) {
			most = fmax(most, fabs((double)cut[i] - (double)whole[i]));
			largest = fmax(largest, fabs((double)whole[i]));
		}
		assert_true(largest > 0);
		if (most > 1e-5 * largest || fabs(loss - whole_loss) > 1e-5 * fabs(whole_loss))
			fail_msg("net %zu %s: gradients differ by %g of %g, losses are %g and %g", n,
				 nets[n].label, most, largest, loss, whole_loss);
	}
}

/* ---- Buckets ---- */

static int count_starts(void *arg, enum model_half half, float *values, uint64_t count, uint64_t *ret_ticket,
			struct error *err)
{
	(void)half, (void)values, (void)count, (void)err;
	*ret_ticket = ++*(uint64_t *)arg;
	return 0;
}

static int count_nothing(void *arg, uint64_t ticket, struct error *err)
{
	(void)arg, (void)ticket, (void)err;
	return 0;
}

static uint64_t starts;
static const struct model_exchange nobody = {
	2, 1, count_starts, count_nothing, &starts, BUCKET_BYTES, false
};

/* Each byte of gradients is in exactly one bucket, and the last layer's leave first, while the backward pass
 * goes on. */
static void test_buckets_leave_one_after_the_other(void **state)
{
	struct config of = lanes_of(&nets[0]);
	const struct exchange *exchange;
	struct model *model = NULL;
	struct error err = { 0 };
	uint64_t end;

	(void)state;
	harness_must(model_open(gpu_of[0], &of, true, &model, &err), &err);
	harness_must(model_share(model, 2, 1, &nobody, &err), &err);
	exchange = &model->share.exchange;
	end = model->graph.arena_bytes[ARENA_GRADIENT];
	assert_in_range(exchange->buckets, 3, end / BUCKET_BYTES + 1);
	for (uint32_t b = 0; b < exchange->buckets; b++) {
		const struct bucket *bucket = &exchange->bucket[b];

		assert_int_equal(bucket->end, end);
		assert_true(bucket->first < bucket->end && bucket->end - bucket->first <= BUCKET_BYTES);
		end = bucket->first;
		if (b > 0)
			assert_true(bucket->ready >= exchange->bucket[b - 1].ready);
	}
	assert_int_equal(end, 0);
	assert_true(exchange->bucket[0].ready < exchange->bucket[exchange->buckets - 1].ready);
	assert_true(exchange->bucket[exchange->buckets - 1].ready < model->train.launches);
	model_close(model);
}

/* ---- Memory ---- */

/* Two sums wait at most: of one micro-batch, and of two. */
static void test_memory_is_known(void **state)
{
	struct config of = lanes_of(&nets[0]);
	struct model *model = NULL;
	struct error err = { 0 };

	(void)state;
	harness_must(model_open(gpu_of[0], &of, true, &model, &err), &err);
	assert_int_equal(memory_needed(&model->graph, true),
			 2 * model->graph.arena_bytes[ARENA_STATE] +
				 3 * model->graph.arena_bytes[ARENA_GRADIENT] +
				 model->graph.arena_bytes[ARENA_WORK]);
	assert_int_equal(model_batch_rows(model), ROWS_ALL);
	harness_must(model_share(model, 2, 1, &nobody, &err), &err);
	assert_int_equal(model_batch_rows(model), ROWS);
	model_close(model);
}

/* ---- Errors ---- */

static void test_errors(void **state)
{
	struct config of = lanes_of(&nets[0]);
	struct gpu *gpu = gpu_of[0];
	struct model *model = NULL;
	int64_t splits[ROWS_ALL + 1];
	struct model_batch batch;
	struct error err = { 0 };
	struct model_metrics metrics;
	static float bad[ROWS_ALL * NUMBERS];
	uint32_t row = 0;

	(void)state;
	harness_must(model_open(gpu, &of, true, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	assert_int_equal(model_share(model, 2, 3, &nobody, &err), -EINVAL);
	assert_int_equal(model_share(model, 0, 2, NULL, &err), -EINVAL);
	batch = batch_at(&model->graph, 0, 0, 2, splits);
	assert_int_equal(model_train(model, &batch, &err), -EINVAL);
	assert_non_null(strstr(err.text, "expected 3 of each of 4 micro-batches"));
	/* A NaN in row 10 of the slot, which is row 1 of the last lane, and row 4 + 3 of the pass. */
	batch = batch_at(&model->graph, 0, 0, LANES, splits);
	memcpy(bad, batch.input[0], ROWS_ALL * INPUTS * sizeof(float));
	bad[10 * INPUTS + 3] = (float)NAN;
	batch.input[0] = bad;
	harness_must(model_train(model, &batch, &err), &err);
	assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
	assert_int_equal(model_fault(model, &row, &err), -EDOM);
	assert_int_equal(row, 10);
	assert_non_null(strstr(err.text, "step 1: the loss became NaN"));
	assert_non_null(strstr(err.text, "element 3 of row 7 of the pass, 10 of its batch"));
	model_close(model);
}

/* Other processes wait for each bucket, so a process with a bad number takes part in the steps that follow.
 */
static void test_a_fault_leaves_no_bucket_out(void **state)
{
	struct config of = lanes_of(&nets[0]);
	struct model *model = NULL;
	int64_t splits[ROWS_ALL + 1];
	struct model_batch batch;
	struct error err = { 0 };
	struct model_metrics metrics;
	static float bad[ROWS_ALL * NUMBERS];
	uint64_t before = starts, of_step;
	uint32_t row = 0;

	(void)state;
	harness_must(model_open(gpu_of[0], &of, true, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	harness_must(model_share(model, 0, 2, &nobody, &err), &err);
	of_step = 2 * model->share.exchange.buckets;
	batch = batch_at(&model->graph, 0, 0, 2, splits);
	memcpy(bad, batch.input[0], 2 * ROWS * INPUTS * sizeof(float));
	bad[4 * INPUTS + 3] = (float)NAN;
	batch.input[0] = bad;
	for (unsigned step = 1; step <= 4; step++) {
		harness_must(model_train(model, &batch, &err), &err);
		assert_int_equal(starts - before, step * of_step);
	}
	assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
	assert_int_equal(model_fault(model, &row, &err), -EDOM);
	assert_int_equal(row, 4);
	assert_non_null(strstr(err.text, "step 1: the loss became NaN"));
	model_close(model);
}

static int open_devices(void **state)
{
	struct error err = { 0 };

	(void)state;
	gpu_of[0] = open_device();
	for (uint32_t p = 1; p < WORLD_MAX; p++)
		harness_must(gpu_open(&GPU_ANY, &gpu_of[p], &err), &err);
	return 0;
}

static int close_devices(void **state)
{
	(void)state;
	for (uint32_t p = 1; p < WORLD_MAX; p++)
		gpu_close(gpu_of[p]);
	close_device(gpu_of[0]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worlds_have_the_same_bits),
		cmocka_unit_test(test_gradients_are_those_of_the_whole_batch),
		cmocka_unit_test(test_buckets_leave_one_after_the_other),
		cmocka_unit_test(test_memory_is_known),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_a_fault_leaves_no_bucket_out),
	};

	for (uint32_t step = 0; step < STEPS; step++)
		fill_rows(&batch_of[step], step + 5, step);
	return cmocka_run_group_tests(tests, open_devices, close_devices);
}
