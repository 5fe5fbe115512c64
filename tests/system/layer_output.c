/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what a layer makes of a batch, for tests that compare it with another program:
 *   layer_output CONFIG LAYER BATCH STEP FIRST_ROW training|prediction
 * BATCH is a file with the numbers of the first input of the network, run.batch_rows rows. The numbers of the
 * layer's output go to the standard output, as float32. Parameters have the value 0.
 */
#include "tests/reference.h"

struct wanted {
	const char *layer, *batch;
	uint32_t step, first_row;
	bool training;
};

static const struct node *node_of(const struct graph *graph, const char *layer)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!strcmp(graph->node[i].name, layer))
			return &graph->node[i];
	(void)fprintf(stderr, "layer_output: %s: no such layer\n", layer);
	exit(1);
}

static void *read_batch(const char *path, uint64_t bytes)
{
	void *data = malloc(bytes);
	FILE *file = fopen(path, "rb");

	if (!data || !file || fread(data, 1, bytes, file) != bytes) {
		(void)fprintf(stderr, "layer_output: %s: not %lu bytes\n", path, (unsigned long)bytes);
		exit(1);
	}
	(void)fclose(file);
	return data;
}

static void run(struct harness *h, const struct wanted *wanted)
{
	const struct tensor *input = graph_at(&h->graph, h->graph.input[0]);
	const uint64_t rows = h->graph.batch_rows, bytes = input->elements * dtype_bytes(input->dtype) * rows;
	CLEANUP(free_ptr) void *batch = read_batch(wanted->batch, bytes);
	struct plan_values values = { .rows = (int32_t)rows,
				      .valid_rows = (int32_t)rows,
				      .first_row = wanted->first_row,
				      .step = wanted->step };
	struct error err = { 0 };

	harness_must(gpu_buffer_create(h->gpu, bytes, &values.input[0], &err), &err);
	harness_must(gpu_write(h->gpu, values.input[0], 0, batch, bytes, true, &err), &err);
	harness_run(h, &values);
	gpu_buffer_free(values.input[0]);
}

/* Emits the layers up to the wanted one, runs them, and prints the output. */
static void print_output(struct gpu *gpu, const struct config *config, const struct wanted *wanted)
{
	CLEANUP(free_ptr) float *numbers = NULL;
	const struct plan *plans[1];
	struct gpu_program *program;
	struct error err = { 0 };
	const struct node *node;
	struct harness h;
	uint32_t output;

	harness_open(&h, gpu, config, true);
	node = node_of(&h.graph, wanted->layer);
	for (uint32_t i = 0; &h.graph.node[i] <= node; i++)
		op_emit_forward(&h.plan, &h.graph.node[i], wanted->training);
	plans[0] = &h.plan;
	harness_must(kernels_build(gpu, h.graph.storage, plans, 1, &program, &err), &err);
	harness_bind(&h, program);
	run(&h, wanted);
	output = plan_source(&h.plan, node->output);
	numbers = calloc(graph_at(&h.graph, output)->elements, h.graph.batch_rows * sizeof(*numbers));
	if (!numbers)
		abort();
	harness_get_float(&h, output, numbers);
	(void)fwrite(numbers, sizeof(*numbers), graph_at(&h.graph, output)->elements * h.graph.batch_rows,
		     stdout);
	gpu_program_free(program);
	harness_close(&h);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	struct config config = { 0 };
	struct wanted wanted;
	struct gpu *gpu;

	if (argc != 7) {
		(void)fprintf(stderr,
			      "usage: layer_output CONFIG LAYER BATCH STEP FIRST_ROW training|prediction\n");
		return 2;
	}
	wanted = (struct wanted){ .layer = argv[2],
				  .batch = argv[3],
				  .step = (uint32_t)strtoul(argv[4], NULL, 10),
				  .first_row = (uint32_t)strtoul(argv[5], NULL, 10),
				  .training = !strcmp(argv[6], "training") };
	harness_must(config_load(argv[1], &config, &err), &err);
	config.ranks.exact = false; /* a batch as a whole, whatever the number of lanes */
	gpu = open_device();
	print_output(gpu, &config, &wanted);
	close_device(gpu);
	config_done(&config);
	return fflush(stdout) != 0;
}
