/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of launches give the same bits as single launches, and end with any number of threads: with as
 * many threads as PoCL starts, then with one. */
#include "model/plan/chain.h"
#include "model/plan/kernels.h"

/* Models with chains and without chains; the second part uses the program with all kernels. */
static bool is_chained = true;

static int chain_or_not(struct plan *plan, struct gpu *gpu, struct gpu_buffer *const arena[ARENA_MAX],
			struct error *err)
{
	return is_chained ? chain_plan(plan, gpu, arena, err) : 0;
}

static int build_for(struct gpu *gpu, enum dtype storage, const struct plan *const *plan, uint32_t plans,
		     struct gpu_program **ret_program, struct error *err)
{
	return kernels_build(gpu, storage, is_chained ? plan : NULL, is_chained ? plans : 0, ret_program,
			     err);
}

#define chain_plan    chain_or_not
#define kernels_build build_for
#include "model/model_open.c" // NOLINT(bugprone-suspicious-include): with chains or without
#undef chain_plan
#undef kernels_build

#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define ROWS    64u
#define INPUTS  512u
#define CLASSES 3u

static struct gpu *gpu;
static float input[ROWS * INPUTS] __attribute__((aligned(4096)));
static int64_t label[ROWS * CLASSES] __attribute__((aligned(4096)));
static uint8_t empty[ROWS];

static void must(int r, const struct error *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

static struct model *open_model_as(const struct config *config, bool chained)
{
	struct model *model = NULL;
	struct error err = { 0 };

	is_chained = chained;
	must(model_open(gpu, config, true, &model, &err), &err);
	must(model_init(model, &err), &err);
	return model;
}

/* Trains on whole and partial batches, one of them with rows that do not count; then evaluates, predicts, and
 * makes the average the model. */
static void run_all(struct model *model, float *out)
{
	static const uint32_t rows_of[] = { ROWS, 1, 23, ROWS, ROWS };
	struct model_batch batch = { .input = { input }, .label = label };
	struct error err = { 0 };

	for (uint32_t step = 0; step < sizeof(rows_of) / sizeof(*rows_of); step++) {
		batch.rows = batch.valid_rows = rows_of[step];
		batch.first_row = (uint64_t)step * ROWS;
		batch.empty = step == 3 ? empty : NULL;
		batch.valid_rows -= step == 3 ? 2 : 0;
		must(model_train(model, &batch, &err), &err);
	}
	batch.rows = batch.valid_rows = 47;
	must(model_evaluate(model, &batch, &err), &err);
	must(model_predict(model, (const void *[]){ input }, 51, out, &err), &err);
	must(model_finalize(model, &err), &err);
}

static const struct model_tensor *snapshot(struct model *model, uint32_t *count)
{
	struct error err = { 0 };
	const struct model_tensor *tensors = NULL;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, count, &err), &err);
	return tensors;
}

static void assert_same(struct model *a, struct model *b)
{
	struct model_metrics metrics[2] = { 0 };
	struct error err = { 0 };
	uint32_t count[2] = { 0 };
	const struct model_tensor *left, *right;

	must(model_metrics(a, &metrics[0], &err), &err);
	must(model_metrics(b, &metrics[1], &err), &err);
	assert_memory_equal(&metrics[0], &metrics[1], sizeof(*metrics));
	assert_true(metrics[0].rows > 200);
	left = snapshot(a, &count[0]);
	right = snapshot(b, &count[1]);
	assert_int_equal(count[0], count[1]);
	for (uint32_t i = 0; i < count[0]; i++)
		if (memcmp(left[i].data, right[i].data, left[i].bytes) != 0)
			fail_msg("%s has other bits", left[i].name);
	model_snapshot_release(a);
	model_snapshot_release(b);
}

static void compare(struct config_layer *layer, uint32_t layers, void (*change)(struct config *))
{
	static float out[2][ROWS * CLASSES];
	struct config config = model_config(layer, layers, INPUTS, CLASSES, ROWS);
	struct model *chained, *plain;

	if (change)
		change(&config);
	chained = open_model_as(&config, true);
	plain = open_model_as(&config, false);
	assert_true(plan_enqueued(&chained->train) < plan_enqueued(&plain->train));
	run_all(chained, out[0]);
	run_all(plain, out[1]);
	assert_memory_equal(out[0], out[1], sizeof(out[0]));
	assert_same(chained, plain);
	model_close(chained);
	model_close(plain);
}

/* Two steps of three only add to the gradients: in these the phases of the update have no groups. */
static void accumulate(struct config *config)
{
	config->optimizer.gradient_accumulation_steps = 3;
	config->optimizer.use_ema = true;
	config->optimizer.ema_overwrite_frequency = 2;
	config->optimizer.clipvalue = 0.5;
}

static void store_bfloat16(struct config *config)
{
	config->model.precision = PRECISION_MIXED_BFLOAT16;
	config->optimizer.name = "sgd";
	config->optimizer.momentum = 0.9;
}

static void test_same_bits(void **state)
{
	static struct config_layer net[] = { DENSE(256), RELU,     DROPOUT(0.2), DENSE(16),
					     RELU,       DENSE(3), SOFTMAX };

	(void)state;
	if (!gpu_is_cpu(gpu)) /* only a CPU device has chains */
		skip();
	compare(net, 7, NULL);
	compare(net, 7, accumulate);
}

/* A net that has packed products, other kernels' launches between them, a large launch, and numbers of 16
 * bits. */
static void test_same_bits_of_others(void **state)
{
	static struct config_layer net[] = { DENSE(600),
					     OP("batch_norm"),
					     OP("swish"),
					     DENSE(600),
					     OP("add", INPUTS_OF(2, "swish", "dense_1")),
					     DENSE(20),
					     RELU,
					     DENSE(3),
					     SOFTMAX };

	(void)state;
	if (!gpu_is_cpu(gpu))
		skip();
	compare(net, 9, store_bfloat16);
}

/* ---- Phases of a plan that the test makes ---- */

#define TALL  1600u
#define WIDE  160u
#define TIMES 6u
/* Rows that one work-item adds up while the others wait, so long that they stop waiting. */
#define LONG_ROWS (1u << 18)

struct race {
	struct harness h;
	struct gpu_program *program;
	uint32_t matrix[TIMES + 1], row_loss, row_hit, sums[4], faults, fault;
};

static void emit_transpose(struct race *race, uint32_t time)
{
	const uint32_t rows = time % 2 ? WIDE : TALL, columns = time % 2 ? TALL : WIDE;

	plan_emit(&race->h.plan,
		  &(struct launch){
			  .kernel = "gemm_transpose",
			  .groups = { { .fixed = rows, .tile = 16 }, { .fixed = columns, .tile = 16 } },
			  ARGUMENTS(IN(race->matrix[time]), OUT(race->matrix[time + 1]), INT(rows),
				    INT(columns)) });
}

static void emit_long(struct race *race)
{
	plan_emit(&race->h.plan,
		  &(struct launch){ .kernel = "metrics",
				    ARGUMENTS(IN(race->row_loss), IN(race->row_hit), INT(LONG_ROWS),
					      INT(LONG_ROWS), INOUT(race->sums[0]), INOUT(race->sums[1]),
					      AT(NULL), INOUT(race->sums[2]), AT(NULL), AT(NULL), INT(1),
					      INT(0), AT(FIRST_ROW), AT(NULL), IN(race->faults), INT(1),
					      INT(1), AT(STEP), AT(PART), INOUT(race->fault)) });
}

/* Transposes a matrix back and forth, each time from the result of the phase before, with a long sum in the
 * middle. */
static void open_race(struct race *race, const struct config *config, uint32_t sharers)
{
	const struct plan *plan = &race->h.plan;
	struct error err = { 0 };

	harness_open(&race->h, gpu, config, true);
	for (uint32_t i = 0; i <= TIMES; i++)
		race->matrix[i] = harness_tensor(&race->h, DTYPE_F32, (uint64_t)TALL * WIDE);
	race->row_loss = harness_tensor(&race->h, DTYPE_F32, LONG_ROWS);
	race->row_hit = harness_tensor(&race->h, DTYPE_U32, LONG_ROWS);
	for (uint32_t i = 0; i < 3; i++)
		race->sums[i] = harness_tensor(&race->h, DTYPE_I64, 2);
	race->faults = harness_tensor(&race->h, DTYPE_U32, 1);
	race->fault = harness_tensor(&race->h, DTYPE_U32, FAULT_WORDS);
	for (uint32_t i = 0; i < TIMES; i++) {
		if (i == TIMES / 2)
			emit_long(race);
		emit_transpose(race, i);
	}
	harness_chain(&race->h);
	assert_int_equal(plan_enqueued(plan), 1);
	if (sharers)
		race->h.plan.launch[0].groups[0].fixed = sharers;
	must(kernels_build(gpu, DTYPE_F32, &plan, 1, &race->program, &err), &err);
	harness_bind(&race->h, race->program);
}

static void run_race(struct race *race, uint32_t runs)
{
	static float numbers[TALL * WIDE], found[TALL * WIDE];
	int64_t rows[2];

	for (uint32_t run = 1; run <= runs; run++) {
		for (uint32_t i = 0; i < TALL * WIDE; i++)
			numbers[i] = (float)(i ^ run);
		harness_put(&race->h, race->matrix[0], numbers);
		harness_run(&race->h, &(struct plan_values){ .rows = 1, .update = 1 });
		harness_get(&race->h, race->matrix[TIMES], found);
		assert_memory_equal(found, numbers, sizeof(found));
		harness_get(&race->h, race->sums[2], rows);
		assert_int_equal(rows[0], (int64_t)run * LONG_ROWS);
	}
}

/* Three cases: one work-group; one work-group for each thread; far more work-groups than threads. */
static void test_phases_wait(void **state)
{
	static const uint32_t sharers[] = { 0, 1, 2, 3, 64 };
	const struct config config = model_config(NULL, 0, 1, 1, 1);

	(void)state;
	if (!gpu_is_cpu(gpu))
		skip();
	for (size_t i = 0; i < sizeof(sharers) / sizeof(*sharers); i++) {
		struct race race = { 0 };

		open_race(&race, &config, sharers[i]);
		run_race(&race, 40);
		gpu_program_free(race.program);
		harness_close(&race.h);
	}
}

static int open_all(void **state)
{
	(void)state;
	gpu = open_device();
	fill_batch(1, ROWS, INPUTS, CLASSES, input, label);
	empty[0] = empty[5] = 1;
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	close_device(gpu);
	return 0;
}

static int run_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_same_bits_of_others),
		cmocka_unit_test(test_phases_wait),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}

int main(void)
{
	const pid_t child = fork();
	int status = 0;

	if (child < 0)
		return 1;
	if (child == 0) {
		(void)setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
		return run_group();
	}
	if (waitpid(child, &status, 0) < 0 || status != 0)
		return 1;
	return run_group();
}
