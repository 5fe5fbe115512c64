/* SPDX-License-Identifier: Apache-2.0 */
/* Places by lifetime: what a launch reads is what the launch before has written there, in random plans and in
 * plans of networks; and a step has the same bits as with a place for each tensor. */
#include "tests/reference.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "model/passes.h"
#include "model/plan/lifetime.h"

#define ROWS       6u
#define CLASSES    3u
#define INPUTS_MAX 1200u
#define BLOCKS_MAX (1u << 20)
#define IDS        6u
#define TOKENS_MAX 9u
#define TABLE      11u
#define RUNS       6u

static struct gpu *gpu;

/* ---- Networks ---- */

#define SAME TEXT_ATTRIBUTE("padding", "same")
#define CONV(n) \
	OP("conv2d", ATTRIBUTES(3, INT_ATTRIBUTE("filters", n), INT_ATTRIBUTE("kernel_size", 3), SAME))
#define NAMED_CONV(as) \
	NAMED("conv2d", as, ATTRIBUTES(3, INT_ATTRIBUTE("filters", 8), INT_ATTRIBUTE("kernel_size", 3), SAME))
#define DEPTHWISE OP("depthwise_conv2d", ATTRIBUTES(2, INT_ATTRIBUTE("kernel_size", 3), SAME))
#define POOL      OP("max_pooling2d", ATTRIBUTES(1, INT_ATTRIBUTE("pool_size", 2)))
#define MEAN      OP("average_pooling2d", ATTRIBUTES(1, INT_ATTRIBUTE("pool_size", 2)))
#define FLAT      OP("flatten")
#define END       DENSE(CLASSES), SOFTMAX

static struct config_layer perceptron[] = {
	DENSE(40), RELU, DROPOUT(0.4), DENSE(16), RELU, DROPOUT(0.4), END
};
static struct config_layer small_cnn[] = { CONV(8), RELU, POOL,      CONV(16), RELU,
					   MEAN,    FLAT, DENSE(20), RELU,     END };
static struct config_layer vgg_like[] = { CONV(8), RELU,      CONV(8), RELU,         POOL, CONV(16),
					  RELU,    CONV(16),  RELU,    CONV(16),     RELU, POOL,
					  FLAT,    DENSE(32), RELU,    DROPOUT(0.5), END };
static struct config_layer mobile_like[] = { CONV(8),
					     OP("batch_norm"),
					     RELU,
					     DEPTHWISE,
					     OP("batch_norm"),
					     RELU,
					     CONV(24),
					     OP("batch_norm"),
					     RELU,
					     DEPTHWISE,
					     OP("batch_norm"),
					     RELU,
					     OP("global_average_pooling2d"),
					     END };
static struct config_layer residual[] = { NAMED_CONV("a"),
					  RELU,
					  NAMED_CONV("b"),
					  OP("add", INPUTS_OF(2, "a", "b")),
					  RELU,
					  FLAT,
					  OP("layer_norm"),
					  DENSE(9),
					  OP("gelu"),
					  END };

/* Tables of ids and of ragged tokens, beside numbers. */
#define TABLE_OF(columns) INT_ATTRIBUTE("input_dim", TABLE), INT_ATTRIBUTE("output_dim", columns)
static struct config_layer tables[] = {
	NAMED("embedding_bag", "a", INPUTS_OF(1, "tokens"), ATTRIBUTES(2, TABLE_OF(12))),
	RELU,
	NAMED("embedding", "b", INPUTS_OF(1, "ids"), ATTRIBUTES(2, TABLE_OF(2))),
	OP("flatten"),
	NAMED("dense", "c", INPUTS_OF(1, "sentence"), ATTRIBUTES(1, INT_ATTRIBUTE("units", 12))),
	OP("add", INPUTS_OF(3, "relu", "flatten", "c")),
	DROPOUT(0.3),
	END
};

static const struct net {
	const char *label;
	struct config_layer *layer;
	uint32_t layers;
	uint64_t side; /* 0: the input is no image */
} nets[] = {
	{ "perceptron", perceptron, sizeof(perceptron) / sizeof(*perceptron), 0 },
	{ "small_cnn", small_cnn, sizeof(small_cnn) / sizeof(*small_cnn), 12 },
	{ "vgg_like", vgg_like, sizeof(vgg_like) / sizeof(*vgg_like), 16 },
	{ "mobile_like", mobile_like, sizeof(mobile_like) / sizeof(*mobile_like), 12 },
	{ "residual", residual, sizeof(residual) / sizeof(*residual), 8 },
	{ "tables", tables, sizeof(tables) / sizeof(*tables), 0 },
};

static uint64_t inputs_of(const struct net *net)
{
	return net->side ? net->side * net->side * 3 : 50;
}

static struct config config_of(const struct net *net)
{
	struct config config = model_config(net->layer, net->layers, inputs_of(net), CLASSES, ROWS);

	if (net->side) {
		config.feature[0].rank = 3;
		config.feature[0].shape[0] = config.feature[0].shape[1] = net->side;
		config.feature[0].shape[2] = 3;
	}
	config.features = 4;
	config.feature[2] =
		(struct config_feature){ .name = "ids", .dtype = CONFIG_INT64, .rank = 1, .shape = { IDS } };
	config.feature[3] =
		(struct config_feature){ .name = "tokens", .dtype = CONFIG_INT64, .values_max = TOKENS_MAX };
	return config;
}

static int open_gpu(void **state)
{
	(void)state;
	gpu = open_device();
	return 0;
}

static int close_gpu(void **state)
{
	(void)state;
	close_device(gpu);
	return 0;
}

/* ---- Who has written a block last ---- */

/* owner[b]: the tensor that has written block b of TENSOR_ALIGN bytes last. */
struct blocks {
	uint32_t owner[BLOCKS_MAX];
};

static bool owns(const struct blocks *blocks, const struct tensor *tensor, uint32_t index)
{
	for (uint64_t b = tensor->offset / TENSOR_ALIGN; b < tensor_end(tensor) / TENSOR_ALIGN; b++)
		if (blocks->owner[b] != index)
			return false;
	return true;
}

static void write_blocks(struct blocks *blocks, const struct tensor *tensor, uint32_t index)
{
	assert_true(tensor_end(tensor) / TENSOR_ALIGN <= BLOCKS_MAX);
	for (uint64_t b = tensor->offset / TENSOR_ALIGN; b < tensor_end(tensor) / TENSOR_ALIGN; b++)
		blocks->owner[b] = index;
}

/* A tensor that this plan reads before any launch that always runs has written it needs what was there. */
static void give_first(const struct plan *plan, struct blocks *blocks)
{
	const struct graph *graph = plan->graph;

	for (uint32_t t = 0; t < graph->tensors; t++)
		for (uint32_t i = 0; i < plan->launches; i++) {
			const struct launch *launch = &plan->launch[i];
			bool is_read = false, is_written = false;

			for (uint32_t j = 0; j < launch->arguments; j++)
				if (argument_is_tensor(&launch->argument[j]) &&
				    launch->argument[j].tensor == t) {
					is_read |= launch->argument[j].kind != ARGUMENT_OUT;
					is_written |= launch->argument[j].kind == ARGUMENT_OUT &&
						      !launch->on_update;
				}
			if (is_read && graph_at(graph, t)->arena == ARENA_WORK)
				write_blocks(blocks, graph_at(graph, t), t);
			if (is_read || is_written)
				break;
		}
}

/* Runs a plan in thought: every read must find the numbers of its tensor. */
static void run_in_thought(const struct plan *plan, struct blocks *blocks, bool update, const char *label)
{
	const struct graph *graph = plan->graph;

	for (uint32_t i = 0; i < plan->launches; i++) {
		const struct launch *launch = &plan->launch[i];

		for (uint32_t pass = 0; pass < 2 && (update || !launch->on_update); pass++)
			for (uint32_t j = 0; j < launch->arguments; j++) {
				const struct argument *argument = &launch->argument[j];

				if (!argument_is_tensor(argument) ||
				    graph_at(graph, argument->tensor)->arena != ARENA_WORK)
					continue;
				if (pass == 0 && argument->kind != ARGUMENT_OUT &&
				    !owns(blocks, graph_at(graph, argument->tensor), argument->tensor))
					fail_msg("%s: launch %u reads what another has overwritten: %s",
						 label, i, graph_at(graph, argument->tensor)->name);
				if (pass == 1 && argument->kind != ARGUMENT_IN)
					write_blocks(blocks, graph_at(graph, argument->tensor),
						     argument->tensor);
			}
		/* What one launch writes lies apart from all its other tensors. */
		for (uint32_t j = 0; j < launch->arguments && (update || !launch->on_update); j++)
			if (argument_is_tensor(&launch->argument[j]) &&
			    graph_at(graph, launch->argument[j].tensor)->arena == ARENA_WORK &&
			    launch->argument[j].kind != ARGUMENT_IN)
				assert_true(owns(blocks, graph_at(graph, launch->argument[j].tensor),
						 launch->argument[j].tensor));
	}
}

/* ---- Random plans ---- */

static uint32_t below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)((noise(seed) + 1) / 2 * n) % n;
}

static void emit_random(struct plan *plan, uint32_t tensors, uint64_t *seed)
{
	const uint32_t launches = 1 + below(seed, 40);

	for (uint32_t i = 0; i < launches; i++) {
		struct launch launch = { .kernel = "random", .on_update = below(seed, 8) == 0 };

		launch.arguments = 1 + below(seed, 4);
		for (uint32_t j = 0; j < launch.arguments; j++) {
			const uint32_t kind = below(seed, 5), tensor = below(seed, tensors);

			launch.argument[j] = (struct argument){ .kind = kind < 2   ? ARGUMENT_IN
									: kind < 4 ? ARGUMENT_OUT
										   : ARGUMENT_INOUT,
								.tensor = tensor };
		}
		plan_emit(plan, &launch);
	}
}

static void check_random(uint64_t seed)
{
	const uint32_t tensors = 2 + below(&seed, 60);
	struct graph graph = { .output = GRAPH_NO_TENSOR, .batch_rows = 1 };
	static struct blocks blocks;
	struct plan plan[3];
	char label[32];

	for (uint32_t i = 0; i < tensors; i++)
		(void)graph_tensor(&graph, &(struct tensor){ .role = ROLE_WORK,
							     .arena = ARENA_WORK,
							     .rank = 1,
							     .shape = { 1 + below(&seed, 3000) } });
	for (uint32_t p = 0; p < 3; p++) {
		plan_init(&plan[p], &graph, true);
		emit_random(&plan[p], tensors, &seed);
	}
	lifetime_place(&graph, (const struct plan *const[]){ &plan[0], &plan[1], &plan[2] }, 3);
	for (uint32_t p = 0; p < 3; p++)
		give_first(&plan[p], &blocks);
	(void)snprintf(label, sizeof(label), "seed %lu", (unsigned long)seed);
	for (uint32_t run = 0; run < RUNS; run++)
		run_in_thought(&plan[below(&seed, 3)], &blocks, run == 0 || below(&seed, 2), label);
	for (uint32_t i = 0; i < tensors; i++)
		assert_true(graph_at(&graph, i)->offset == LIFETIME_NO_PLACE ||
			    (graph_at(&graph, i)->offset % TENSOR_ALIGN == 0 &&
			     tensor_end(graph_at(&graph, i)) <= graph.arena_bytes[ARENA_WORK]));
	for (uint32_t p = 0; p < 3; p++)
		plan_done(&plan[p]);
	graph_done(&graph);
}

static void test_random_plans_read_what_they_wrote(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 500; seed++)
		check_random(seed * 7919);
}

/* ---- Networks: places, memory, bits ---- */

static uint64_t bytes_apart(const struct net *net, bool training)
{
	const struct config config = config_of(net);
	struct harness h;
	uint64_t bytes;

	harness_open(&h, gpu, &config, true);
	(training ? pass_emit_train : pass_emit_predict)(&h.plan);
	layout_work(&h.graph, NULL, 0);
	bytes = h.graph.arena_bytes[ARENA_WORK];
	harness_close(&h);
	return bytes;
}

static void check_net(const struct net *net, bool training)
{
	const struct config config = config_of(net);
	static struct blocks blocks;
	struct harness h;

	harness_open(&h, gpu, &config, true);
	(training ? pass_emit_train : pass_emit_predict)(&h.plan);
	layout_work(&h.graph, (const struct plan *const[]){ &h.plan }, 1);
	give_first(&h.plan, &blocks);
	run_in_thought(&h.plan, &blocks, true, net->label);
	run_in_thought(&h.plan, &blocks, true, net->label);
	print_message("%s, %s: %lu bytes, a place for each tensor %lu\n", net->label,
		      training ? "train" : "predict", (unsigned long)h.graph.arena_bytes[ARENA_WORK],
		      (unsigned long)bytes_apart(net, training));
	assert_true(h.graph.arena_bytes[ARENA_WORK] < bytes_apart(net, training));
	harness_close(&h);
}

static void test_networks_read_what_they_wrote(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(nets) / sizeof(*nets); n++) {
		check_net(&nets[n], true);
		check_net(&nets[n], false);
	}
}

/* Runs the plans of a network that share one arena, as those of a model do, in a random order. */
static void check_plans(const struct config *config, bool cpu, const char *label)
{
	static struct blocks blocks;
	struct plan plan[3];
	const struct plan *const plans[] = { &plan[0], &plan[1], &plan[2] };
	struct graph graph;
	struct error err = { 0 };
	uint64_t seed = 44;

	harness_must(graph_build(config, true, &graph, &err), &err);
	for (uint32_t p = 0; p < 3; p++) {
		plan_init(&plan[p], &graph, cpu);
		(p == 0 ? pass_emit_predict : p == 1 ? pass_emit_evaluate : pass_emit_train)(&plan[p]);
	}
	layout_work(&graph, plans, 3);
	for (uint32_t p = 0; p < 3; p++)
		give_first(&plan[p], &blocks);
	for (uint32_t run = 0; run < RUNS; run++)
		run_in_thought(&plan[below(&seed, 3)], &blocks, run == 0 || below(&seed, 2), label);
	for (uint32_t p = 0; p < 3; p++)
		plan_done(&plan[p]);
	graph_done(&graph);
}

/* Every network of config/examples, with a small batch, on both kinds of devices. */
static void test_examples_read_what_they_wrote(void **state)
{
	glob_t examples;

	(void)state;
	assert_int_equal(glob("config/examples/*.conf", 0, NULL, &examples), 0);
	assert_true(examples.gl_pathc >= 3);
	for (size_t i = 0; i < examples.gl_pathc; i++) {
		CLEANUP(config_done) struct config config = { 0 };
		struct error err = { 0 };

		harness_must(config_load(examples.gl_pathv[i], &config, &err), &err);
		config.run.batch_rows = 2;
		check_plans(&config, true, examples.gl_pathv[i]);
		check_plans(&config, false, examples.gl_pathv[i]);
	}
	globfree(&examples);
}

/* Fills with NaN every byte of the work arena in which no tensor lives after launch `after`; -1: before the
 * first. */
static void poison(struct harness *h, const struct lifetime *life, int64_t after)
{
	const uint64_t bytes = h->graph.arena_bytes[ARENA_WORK];
	uint8_t *memory = malloc(bytes);
	struct error err = { 0 };

	assert_non_null(memory);
	harness_must(gpu_read(gpu, h->arena[ARENA_WORK], 0, memory, bytes, NULL, &err), &err);
	for (uint64_t b = 0; b < bytes; b += TENSOR_ALIGN) {
		bool lives = false;

		for (uint32_t i = 0; i < h->graph.tensors && !lives; i++) {
			const struct tensor *tensor = graph_at(&h->graph, i);

			lives = tensor->arena == ARENA_WORK && tensor->offset != LIFETIME_NO_PLACE &&
				tensor->offset <= b && b < tensor_end(tensor) &&
				(life[i].kept ||
				 ((int64_t)life[i].first <= after && after < (int64_t)life[i].last));
		}
		if (!lives)
			memset(memory + b, 0xff, bytes - b < TENSOR_ALIGN ? bytes - b : TENSOR_ALIGN);
	}
	harness_must(gpu_write(gpu, h->arena[ARENA_WORK], 0, memory, bytes, true, &err), &err);
	free(memory);
}

/* Runs each launch by itself, with poison between them. */
static void run_poisoned(struct harness *h, const struct plan_values *values)
{
	struct lifetime *life = lifetimes_of(&h->plan);

	poison(h, life, -1);
	for (uint32_t i = 0; i < h->plan.launches; i++) {
		struct harness one = { .gpu = gpu, .plan = h->plan };

		one.plan.launch = &h->plan.launch[i];
		one.plan.launches = 1;
		one.plan.bound = false;
		harness_run(&one, values);
		poison(h, life, i);
	}
	free(life);
}

static void fill_parameters(struct harness *h)
{
	static float numbers[1u << 16];
	uint64_t seed = 44;

	for (uint32_t i = 0; i < h->graph.tensors; i++) {
		const struct tensor *tensor = graph_at(&h->graph, i);

		if (tensor->role != ROLE_PARAMETER)
			continue;
		assert_true(tensor->elements <= sizeof(numbers) / sizeof(*numbers));
		for (uint64_t e = 0; e < tensor->elements; e++)
			numbers[e] = (float)noise(&seed) * 0.2f;
		harness_put(h, i, numbers);
	}
}

/* ---- A batch ---- */

static struct gpu_buffer *buffer_of(const void *data, uint64_t bytes)
{
	struct gpu_buffer *buffer = NULL;
	struct error err = { 0 };

	harness_must(gpu_buffer_create(gpu, bytes, &buffer, &err), &err);
	harness_must(gpu_write(gpu, buffer, 0, data, bytes, true, &err), &err);
	return buffer;
}

/* Returns the column of an input: ids, tokens with their splits, which leave some rows empty, or `numbers`.
 */
static struct gpu_buffer *column_of(const char *name, uint32_t step, const float *numbers, uint64_t bytes)
{
	int64_t whole[ROWS * TOKENS_MAX];
	uint64_t seed = 44 + step;

	if (!strcmp(name, "sentence"))
		return buffer_of(numbers, bytes);
	for (uint32_t i = 0; i < ROWS * TOKENS_MAX; i++)
		whole[i] = below(&seed, TABLE);
	if (!strcmp(name, "tokens/splits"))
		for (uint32_t i = 0, end = 0; i <= ROWS; i++, end += i % 3 ? 1 + i : 0)
			whole[i] = end;
	return buffer_of(whole, sizeof(whole));
}

static void make_batch(const struct graph *graph, const struct net *net, uint32_t step,
		       struct plan_values *values)
{
	static float input[ROWS * INPUTS_MAX];
	static int64_t label[ROWS * CLASSES];

	assert_true(inputs_of(net) <= INPUTS_MAX);
	fill_batch(step, ROWS, inputs_of(net), CLASSES, input, label);
	for (uint32_t i = 0; i < graph->inputs; i++)
		values->input[i] =
			column_of(graph_at(graph, graph->input[i])->name, step, input, sizeof(input));
	values->label = buffer_of(label, sizeof(label));
}

static void free_batch(const struct graph *graph, struct plan_values *values)
{
	for (uint32_t i = 0; i < graph->inputs; i++)
		gpu_buffer_free(values->input[i]);
	gpu_buffer_free(values->label);
}

/* Makes three steps and returns the bytes of state and gradients after them. */
static uint8_t *train(const struct net *net, int precision, bool shared, uint64_t *ret_bytes)
{
	struct config config = config_of(net);
	struct gpu_program *program = NULL;
	struct error err = { 0 };
	struct harness h;
	uint8_t *bytes;

	config.model.precision = precision;
	harness_open(&h, gpu, &config, true);
	pass_emit_train(&h.plan);
	harness_must(kernels_build(gpu, h.graph.storage, (const struct plan *const[]){ &h.plan }, 1, &program,
				   &err),
		     &err);
	h.shared = shared;
	harness_bind(&h, program);
	fill_parameters(&h);
	for (uint32_t step = 0; step < 3; step++) {
		struct plan_values values = { .rows = (int32_t)(ROWS - step), /* smaller batches, too */
					      .valid_rows = (int32_t)(ROWS - step),
					      .row_weight = 1.0f / (float)(ROWS - step),
					      .step = step };

		make_batch(&h.graph, net, step, &values);
		optimizer_values(&h.graph, step, &values);
		if (shared)
			run_poisoned(&h, &values);
		else
			harness_run(&h, &values);
		free_batch(&h.graph, &values);
		h.plan.bound = false;
	}
	*ret_bytes = h.graph.arena_bytes[ARENA_STATE] + h.graph.arena_bytes[ARENA_GRADIENT];
	bytes = malloc(*ret_bytes);
	assert_non_null(bytes);
	harness_must(
		gpu_read(gpu, h.arena[ARENA_STATE], 0, bytes, h.graph.arena_bytes[ARENA_STATE], NULL, &err),
		&err);
	harness_must(gpu_read(gpu, h.arena[ARENA_GRADIENT], 0, bytes + h.graph.arena_bytes[ARENA_STATE],
			      h.graph.arena_bytes[ARENA_GRADIENT], NULL, &err),
		     &err);
	harness_close(&h);
	gpu_program_free(program);
	return bytes;
}

static void test_poison_changes_no_bit(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(nets) / sizeof(*nets); n++)
		for (uint32_t mixed = 0; mixed < (n < 2 ? 2 : 1); mixed++) {
			const int precision = mixed ? PRECISION_MIXED_FLOAT16 : PRECISION_FLOAT32;
			uint64_t bytes = 0, same = 0;
			uint8_t *apart = train(&nets[n], precision, false, &bytes),
				*shared = train(&nets[n], precision, true, &same);

			assert_int_equal(bytes, same);
			if (memcmp(apart, shared, bytes) != 0)
				fail_msg("%s, precision %d: other bits", nets[n].label, precision);
			free(apart);
			free(shared);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_plans_read_what_they_wrote),
		cmocka_unit_test(test_networks_read_what_they_wrote),
		cmocka_unit_test(test_examples_read_what_they_wrote),
		cmocka_unit_test(test_poison_changes_no_bit),
	};

	return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
