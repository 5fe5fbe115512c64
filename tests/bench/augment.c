/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures layers that change pictures, on a batch of 32 pictures 128 x 128 x 3: milliseconds of their
 * launches, beside a training step of a small network without them, medians of alternating rounds, as JSON
 * lines. The result is compared with the float64 reference first. Usage: augment [ROUNDS]
 */
#include "tests/bench/measure.h"
#include "tests/reference.h"

#define ROWS       32u
#define SIDE       128u
#define NUMBERS    (SIDE * SIDE * 3u)
#define ROUNDS_MAX 101u

#define FACTOR(key, f) FLOAT_ATTRIBUTE(key, f)
#define POOLED(n)                                                                                         \
	OP("conv2d", ATTRIBUTES(2, INT_ATTRIBUTE("filters", n), INTS_ATTRIBUTE("kernel_size", 2, 3, 3))), \
		RELU, OP("max_pooling2d")
#define HEAD OP("global_average_pooling2d"), DENSE(5), SOFTMAX
#define MAP                                                                             \
	OP("random_flip"), OP("random_rotation", ATTRIBUTES(1, FACTOR("factor", 0.1))), \
		OP("random_zoom", ATTRIBUTES(1, FACTOR("height_factor", 0.2)))

static struct config_layer network[] = { OP("rescaling", ATTRIBUTES(1, FACTOR("scale", 1 / 255.0))),
					 POOLED(32), POOLED(64), POOLED(64), HEAD };
static struct config_layer one_map[] = { MAP, HEAD };
static struct config_layer colours[] = { OP("random_contrast", ATTRIBUTES(1, FACTOR("factor", 0.2))),
					 OP("random_brightness", ATTRIBUTES(1, FACTOR("factor", 0.2))),
					 HEAD };
static struct config_layer crop[] = {
	OP("random_crop", ATTRIBUTES(2, INT_ATTRIBUTE("height", 112), INT_ATTRIBUTE("width", 112))), HEAD
};

/* A network, and how many of its first layers are measured. */
struct net {
	const char *name;
	struct config_layer *layers;
	uint32_t count, measured;
};
static const struct net nets[] = {
	{ "augment-map", one_map, 6, 3 },
	{ "augment-colours", colours, 5, 2 },
	{ "augment-crop", crop, 4, 1 },
};
#define NETS (sizeof(nets) / sizeof(*nets))

static uint8_t *pixels;
static int64_t label[4096 / sizeof(int64_t)]; /* [ROWS, 5] */

static struct config config_of(struct config_layer *layers, uint32_t count)
{
	struct config config = model_config(layers, count, NUMBERS, 5, ROWS);

	config.feature[0] = (struct config_feature){
		.name = "sentence", .dtype = CONFIG_UINT8, .rank = 3, .shape = { SIDE, SIDE, 3 }
	};
	return config;
}

static struct model_batch batch(void)
{
	return (struct model_batch){ .input = { pixels }, .label = label, .rows = ROWS, .valid_rows = ROWS };
}

/* ---- The layers ---- */

struct measured {
	struct harness h;
	struct gpu_program *program;
	struct plan_values values;
	struct config config;
	double us[ROUNDS_MAX];
};

/* Compares the output of the last of the layers with the reference. */
static void verify(struct measured *m, const struct net *net)
{
	const struct tensor *output = graph_at(&m->h.graph, m->h.graph.node[net->measured - 1].output);
	const uint64_t count = output->elements * ROWS;
	float *found = calloc(count, sizeof(*found));
	const struct model_batch rows = batch();
	struct reference reference;
	double most = 0;

	if (!found)
		abort();
	reference_open(&reference, &m->h.graph);
	reference_pass(&reference, &rows, true, 0);
	harness_get_float(&m->h, m->h.graph.node[net->measured - 1].output, found);
	for (uint64_t i = 0; i < count; i++)
		most = fmax(most, fabs((double)found[i] -
				       reference.value[m->h.graph.node[net->measured - 1].output][i]));
	reference_close(&reference);
	free(found);
	if (most > 0.05) {
		(void)fprintf(stderr, "%s: differs from float64 by %g of 255\n", net->name, most);
		exit(1);
	}
}

static void open_measured(struct measured *m, const struct net *net, struct gpu *gpu)
{
	const struct plan *plans[1] = { &m->h.plan };
	struct error err = { 0 };

	m->config = config_of(net->layers, net->count);
	harness_open(&m->h, gpu, &m->config, true);
	for (uint32_t i = 0; i < net->measured; i++)
		op_emit_forward(&m->h.plan, &m->h.graph.node[i], true);
	harness_must(kernels_build(gpu, DTYPE_F32, plans, 1, &m->program, &err), &err);
	harness_bind(&m->h, m->program);
	m->values = (struct plan_values){ .rows = ROWS, .valid_rows = ROWS };
	harness_must(gpu_buffer_create(gpu, ROWS * NUMBERS, &m->values.input[0], &err), &err);
	harness_must(gpu_write(gpu, m->values.input[0], 0, pixels, ROWS * NUMBERS, true, &err), &err);
	harness_run(&m->h, &m->values);
	verify(m, net);
}

static double layers_us(struct measured *m)
{
	const double start = now_us();

	m->values.step++;
	harness_run(&m->h, &m->values);
	return now_us() - start;
}

static void close_measured(struct measured *m)
{
	gpu_buffer_free(m->values.input[0]);
	gpu_program_free(m->program);
	harness_close(&m->h);
}

/* ---- The network ---- */

static double step_us(struct model *model)
{
	const struct model_batch rows = batch();
	const double start = now_us();
	struct model_metrics metrics;
	struct error err = { 0 };

	harness_must(model_train(model, &rows, &err), &err);
	harness_must(model_metrics(model, &metrics, &err), &err);
	return now_us() - start;
}

static void measure(struct gpu *gpu, struct model *model, uint32_t rounds)
{
	static struct measured measured[NETS];
	double step[ROUNDS_MAX], middle;

	for (size_t i = 0; i < NETS; i++)
		open_measured(&measured[i], &nets[i], gpu);
	(void)step_us(model);
	for (uint32_t r = 0; r < rounds; r++) {
		step[r] = step_us(model);
		for (size_t i = 0; i < NETS; i++)
			measured[i].us[r] = layers_us(&measured[i]);
	}
	middle = median(step, rounds);
	for (size_t i = 0; i < NETS; i++) {
		const double us = median(measured[i].us, rounds);

		printf("{\"name\":\"%s\",\"case\":\"32 x 128 x 128 x "
		       "3\",\"value\":%.2f,\"unit\":\"ms\",\"step\":%.2f,"
		       "\"share\":%.4f}\n",
		       nets[i].name, us / 1000, middle / 1000, us / middle);
		close_measured(&measured[i]);
	}
}

int main(int argc, char **argv)
{
	const uint32_t asked = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 9,
		       rounds = asked && asked < ROUNDS_MAX ? asked : 9;
	const struct config config = config_of(network, sizeof(network) / sizeof(*network));
	struct model *model = NULL;
	struct error err = { 0 };
	struct gpu *gpu = open_device();

	pixels = aligned_alloc(4096, ROWS * NUMBERS);
	if (!pixels)
		abort();
	for (uint32_t i = 0; i < ROWS * NUMBERS; i++)
		pixels[i] = (uint8_t)(i * 2654435761u >> 24);
	for (uint32_t row = 0; row < ROWS; row++)
		label[row * 5 + row % 5] = 1;
	harness_must(model_open(gpu, &config, true, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	measure(gpu, model, rounds);
	model_close(model);
	close_device(gpu);
	free(pixels);
	return 0;
}
