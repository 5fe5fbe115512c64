/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a table of rows against its reference, for ids that a batch names up to a thousand times,
 * so that the segments of a GPU's sum begin and end at every place: for one id alone, and for many ids.
 */
#include "tests/unit/device.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define ROWS        16u
#define USED        14u /* rows of the batch, which is not full */
#define PER_ROW     100u
#define PLACES      (ROWS * PER_ROW)
#define TABLE       300u
#define SPARE       (TABLE - 1) /* an id that no batch names */
#define COLUMNS_MAX 131u

static int64_t ids[PLACES], splits[ROWS + 1];
static float dy[PLACES * COLUMNS_MAX];

/* How often a batch names ids 0, 1, 2 ...; each of the places that are left has an id of its own. */
struct batch {
	const char *label;
	uint32_t times[6];
	bool invalid; /* every 50th place has an invalid id instead */
};

static const struct batch batches[] = {
	{ "one place each", { 1 }, false },
	{ "around a segment", { 63, 64, 65, 1, 1000 }, false },
	{ "an id ends with a segment", { 64, 128, 64, 63, 1, 640 }, false },
	{ "an id begins in a segment", { 1, 1000, 63, 65, 64 }, false },
	{ "one id has all places", { PLACES }, false },
	{ "invalid ids at the end", { 65, 1000, 64, 63, 1 }, true },
};

static const uint64_t columns[] = { 1, 3, 16, 21, 64, 68, COLUMNS_MAX };

/* Neighbouring places have other ids: place i of the list of ids is place i * STEP of the batch. */
#define STEP 37u

static void fill(const struct batch *batch, uint64_t places)
{
	uint64_t place = 0, seed = 5;

	for (uint32_t id = 0; id < sizeof(batch->times) / sizeof(*batch->times); id++)
		for (uint32_t n = 0; n < batch->times[id] && place < places; n++)
			ids[place++ * STEP % places] = id;
	for (int64_t id = 6; place < places; id++)
		ids[place++ * STEP % places] = id % SPARE;
	for (uint64_t i = 49; batch->invalid && i < places; i += 50)
		ids[i] = i % 100 == 99 ? -1 : (int64_t)TABLE;
	for (uint64_t i = 0; i < PLACES * COLUMNS_MAX; i++)
		dy[i] = (float)noise(&seed);
}

/* Row lengths of a bag, 0 .. PER_ROW. */
static uint64_t fill_splits(void)
{
	for (uint64_t r = 0; r < ROWS; r++)
		splits[r + 1] = splits[r] + (r >= USED ? 0 : r == 3 ? 0 : r == 5 ? 61 : PER_ROW);
	return (uint64_t)splits[ROWS];
}

static struct config config_of(struct config_layer *layers, uint32_t count, bool bag)
{
	struct config config = model_config(layers, count, PER_ROW, 3, ROWS);

	config.features = 3;
	config.feature[0] = (struct config_feature){ .name = "ids", .dtype = CONFIG_INT64 };
	config.feature[2] = (struct config_feature){ .name = "sentence", .rank = 1, .shape = { 1 } };
	if (bag) {
		config.feature[0].values_max = PER_ROW;
	} else {
		config.feature[0].rank = 1;
		config.feature[0].shape[0] = PER_ROW;
	}
	return config;
}

/* Runs the backward pass of the table alone. Returns its gradient, which the caller frees. */
static float *run(const struct config *config, uint64_t count, bool cpu)
{
	const float *const zeros = calloc(TABLE * count, sizeof(float));
	struct plan_values values = { .rows = USED, .valid_rows = USED, .row_weight = 1.0f / USED };
	float *found = malloc(TABLE * count * sizeof(float));
	struct harness h;
	uint32_t gradient;

	assert_non_null(zeros);
	assert_non_null(found);
	harness_open(&h, gpu, config, cpu);
	gradient = graph_at(&h.graph, h.graph.node[0].parameter[0])->gradient;
	op_emit_backward(&h.plan, &h.graph.node[0]);
	harness_bind(&h, program);
	harness_put(&h, gradient, zeros);
	harness_put(&h, graph_at(&h.graph, h.graph.node[0].output)->gradient, dy);
	for (uint32_t i = 0; i < h.graph.inputs; i++)
		values.input[i] = strstr(graph_at(&h.graph, h.graph.input[i])->name, "/splits")
					  ? to_device(splits, sizeof(splits))
					  : to_device(ids, sizeof(ids));
	harness_run(&h, &values);
	harness_get(&h, gradient, found);
	for (uint32_t i = 0; i < h.graph.inputs; i++)
		gpu_buffer_free(values.input[i]);
	harness_close(&h);
	free((void *)zeros);
	return found;
}

/* The reference takes no invalid id: such a place names SPARE instead. */
static void refer(const struct config *config, uint64_t places, uint64_t count, double *gradient)
{
	static double x[PLACES], d[PLACES * COLUMNS_MAX], y[PLACES * COLUMNS_MAX], ends[ROWS + 1],
		table[TABLE * COLUMNS_MAX];
	struct error err = { 0 };
	struct graph graph;

	for (uint64_t i = 0; i < places; i++)
		x[i] = ids[i] >= 0 && ids[i] < TABLE ? (double)ids[i] : SPARE;
	for (uint64_t i = 0; i < PLACES * count; i++)
		d[i] = (double)dy[i];
	for (uint64_t r = 0; r <= ROWS; r++)
		ends[r] = (double)splits[r];
	harness_must(graph_build(config, true, &graph, &err), &err);
	graph.node[0].op->reference(&(struct op_reference){
		.graph = &graph,
		.node = &graph.node[0],
		.rows = USED,
		.inputs = PER_ROW,
		.outputs = graph_at(&graph, graph.node[0].output)->elements,
		.x = { x },
		.splits = ends,
		.parameter = { table },
		.y = y,
		.dy = d,
		.dparameter = { gradient },
	});
	graph_done(&graph);
	memset(&gradient[SPARE * count], 0, count * sizeof(double));
}

static void compare(const char *label, uint64_t count, bool cpu, const float *found, const double *wanted)
{
	/* The sum of 1 600 numbers below 1, which may reach 64 and is then rounded to 2^-18. */
	for (uint64_t e = 0; e < TABLE * count; e++)
		if (!(fabs((double)found[e] - wanted[e]) <= 2e-4))
			fail_msg("%s, %lu columns, code for %s: gradient of id %lu, column %lu is %g, not %g",
				 label, count, cpu ? "CPUs" : "GPUs", e / count, e % count, (double)found[e],
				 wanted[e]);
}

static void check(const char *op, const struct batch *batch, uint64_t count)
{
	static double wanted[TABLE * COLUMNS_MAX];
	struct config_layer layers[] = { OP(op, INPUTS_OF(1, "ids"),
					    ATTRIBUTES(2, INT_ATTRIBUTE("input_dim", TABLE),
						       INT_ATTRIBUTE("output_dim", (int64_t)count))),
					 OP("flatten"), DENSE(3), SOFTMAX };
	const bool bag = strcmp(op, "embedding_bag") == 0;
	const struct config config = config_of(layers, sizeof(layers) / sizeof(*layers), bag);
	const uint64_t places = bag ? fill_splits() : USED * (uint64_t)PER_ROW;

	fill(batch, places);
	refer(&config, places, count, wanted);
	for (int cpu = 0; cpu < 2; cpu++) {
		float *first = run(&config, count, cpu), *second = run(&config, count, cpu);

		compare(batch->label, count, cpu, first, wanted);
		assert_memory_equal(first, second, TABLE * count * sizeof(float));
		free(first);
		free(second);
	}
}

static void check_all(const char *op)
{
	for (size_t b = 0; b < sizeof(batches) / sizeof(*batches); b++)
		for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++)
			check(op, &batches[b], columns[c]);
}

static void test_embedding(void **state)
{
	(void)state;
	check_all("embedding");
}

static void test_bag(void **state)
{
	(void)state;
	check_all("embedding_bag");
}

static int open_all(void **state)
{
	(void)state;
	open_kernels();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_embedding),
		cmocka_unit_test(test_bag),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
