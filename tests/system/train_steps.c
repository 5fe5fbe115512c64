/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains some steps from given weights on given batches, for tests that compare them with another program:
 *   train_steps CONFIG IN OUT
 * IN and OUT are safetensors files. IN holds
 *   batch/<column>      [steps, ...], for each column of the ring; batch/empty may be absent, and
 *                       batch/<model.sample_weight> is present if the configuration has sample weights
 *   at/<i>/<tensor>     written into the state before step i = 0, 1, ...; other tensors stay as they are
 * OUT gets `loss` [steps], and for the last step and each step with an at/<i>/
 *   output/<i>                  the prediction before the step
 *   gradient/<i>/<parameter>    the gradients of the step
 *   after/<i>/<tensor>          the state after the step
 * and adapted/<tensor>, the statistics over all batches, if layers adapt to the data.
 */
#include "drivers/gpu/gpu.h"
#include "model/adapt.h"
#include "model/formats/names.h"
#include "model/formats/safetensors.h"
#include "model/state.h"

#include <inttypes.h>
#include <string.h>

#define NAME_BYTES 256u
#define OUT_MAX    8192u

struct steps {
	struct config config;
	struct gpu *gpu;
	struct model *model;
	struct safetensors *in;
	uint64_t steps;
	struct model_input input[MODEL_INPUTS_MAX];
	uint32_t inputs;
	void *column[MODEL_INPUTS_MAX + 3]; /* aligned copies of one batch: inputs, label, empty, weight */
	uint32_t outs;
	struct model_tensor out[OUT_MAX];
};

static void *must_allocate(uint64_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096 + 4096);

	if (!memory)
		abort();
	return memory;
}

static const struct model_tensor *find(const struct steps *steps, const char *name)
{
	uint32_t count;
	const struct model_tensor *tensor = safetensors_tensors(steps->in, &count);

	return name_find(tensor, count, name);
}

/* Adds a copy of the data to the output. */
static void put(struct steps *steps, const char *name, const struct model_tensor *like, const void *data)
{
	struct model_tensor *out = &steps->out[steps->outs++];
	void *copy = must_allocate(like->bytes);

	if (steps->outs == OUT_MAX)
		abort();
	*out = *like;
	out->name = strdup(name);
	out->data = memcpy(copy, data, like->bytes);
}

/* ---- A batch ---- */

static int take_column(struct steps *steps, const char *column, uint64_t step, void **ret_data,
		       struct error *err)
{
	char name[NAME_BYTES];
	const struct model_tensor *tensor;
	uint64_t bytes;

	(void)snprintf(name, sizeof(name), "batch/%s", column);
	tensor = find(steps, name);
	if (!tensor || !tensor->rank || !tensor->shape[0])
		return error_set(err, -ENOENT, "%s: not in the file", name);
	steps->steps = tensor->shape[0];
	bytes = tensor->bytes / tensor->shape[0];
	if (!*ret_data)
		*ret_data = must_allocate(bytes);
	memcpy(*ret_data, (const uint8_t *)tensor->data + step * bytes, bytes);
	return 0;
}

static int take_batch(struct steps *steps, uint64_t step, struct model_batch *batch, struct error *err)
{
	void **label = &steps->column[MODEL_INPUTS_MAX], **empty = label + 1;
	int r = take_column(steps, steps->config.model.label, step, label, err);

	*batch = (struct model_batch){ .rows = (uint32_t)steps->config.run.batch_rows,
				       .valid_rows = (uint32_t)steps->config.run.batch_rows,
				       .first_row = step * steps->config.run.batch_rows };
	for (uint32_t i = 0; r == 0 && i < steps->inputs; i++) {
		r = take_column(steps, steps->input[i].name, step, &steps->column[i], err);
		batch->input[i] = steps->column[i];
	}
	batch->label = *label;
	if (r == 0 && model_sample_weight(steps->model).name)
		r = take_column(steps, model_sample_weight(steps->model).name, step, label + 2, err);
	batch->weight = label[2];
	if (r < 0 || !find(steps, "batch/empty"))
		return r;
	r = take_column(steps, "empty", step, empty, err);
	batch->empty = *empty;
	for (uint32_t row = 0; r == 0 && row < batch->rows; row++)
		batch->valid_rows -= batch->empty[row] != 0;
	return r;
}

/* ---- A step ---- */

/* Writes the tensors at/<i>/ of this step into the state. */
static int load_state(struct steps *steps, uint64_t step, bool *ret_any, struct error *err)
{
	char prefix[NAME_BYTES];
	uint32_t count;
	const struct model_tensor *tensor = safetensors_tensors(steps->in, &count);
	size_t bytes = (size_t)snprintf(prefix, sizeof(prefix), "at/%" PRIu64 "/", step);
	int r = 0;

	*ret_any = false;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		if (strncmp(tensor[i].name, prefix, bytes) != 0)
			continue;
		*ret_any = true;
		r = model_tensor_load(steps->model, tensor[i].name + bytes, tensor[i].data, tensor[i].bytes,
				      err);
	}
	return r;
}

static int put_output(struct steps *steps, uint64_t step, const struct model_batch *batch, struct error *err)
{
	const struct tensor *output = graph_at(&steps->model->graph, steps->model->graph.output);
	struct model_tensor like = { .dtype = "F32",
				     .rank = 2,
				     .shape = { batch->rows, output->elements },
				     .bytes = output->elements * batch->rows * sizeof(float) };
	CLEANUP(free_ptr) float *numbers = must_allocate(like.bytes);
	char name[NAME_BYTES];
	int r = model_predict(steps->model, batch->input, batch->rows, numbers, err);

	(void)snprintf(name, sizeof(name), "output/%" PRIu64, step);
	if (r == 0)
		put(steps, name, &like, numbers);
	return r;
}

static int put_gradients(struct steps *steps, uint64_t step, struct error *err)
{
	const struct graph *graph = &steps->model->graph;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);
		struct model_tensor like = { .dtype = "F32", .rank = tensor->rank, .bytes = tensor->bytes };
		CLEANUP(free_ptr) void *numbers = NULL;
		char name[NAME_BYTES];

		if (tensor->role != ROLE_PARAMETER || tensor->gradient == GRAPH_NO_TENSOR)
			continue;
		numbers = must_allocate(tensor->bytes);
		memcpy(like.shape, tensor->shape, sizeof(like.shape));
		r = gpu_read(steps->gpu, steps->model->buffer[tensor->gradient], 0, numbers, tensor->bytes,
			     NULL, err);
		(void)snprintf(name, sizeof(name), "gradient/%" PRIu64 "/%.190s", step, tensor->name);
		if (r == 0)
			put(steps, name, &like, numbers);
	}
	return r;
}

static int put_state(struct steps *steps, const char *prefix, struct error *err)
{
	const struct model_tensor *tensor = NULL;
	uint32_t count = 0;
	int r = model_snapshot(steps->model, err);

	if (r < 0)
		return r;
	r = model_snapshot_tensors(steps->model, &tensor, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		char name[NAME_BYTES];

		(void)snprintf(name, sizeof(name), "%s%.190s", prefix, tensor[i].name);
		put(steps, name, &tensor[i], tensor[i].data);
	}
	model_snapshot_release(steps->model);
	return r;
}

static int take_step(struct steps *steps, uint64_t step, float *ret_loss, struct error *err)
{
	struct model_metrics metrics = { 0 };
	struct model_batch batch;
	char after[32];
	bool given;
	int r = load_state(steps, step, &given, err);

	if (r < 0 || (r = take_batch(steps, step, &batch, err)) < 0)
		return r;
	given |= step + 1 == steps->steps;
	if ((given && (r = put_output(steps, step, &batch, err)) < 0) ||
	    (r = model_metrics_reset(steps->model, err)) < 0 ||
	    (r = model_train(steps->model, &batch, err)) < 0 ||
	    (r = model_metrics(steps->model, &metrics, err)) < 0)
		return r;
	*ret_loss = (float)metrics.loss;
	(void)snprintf(after, sizeof(after), "after/%" PRIu64 "/", step);
	if (given && (r = put_gradients(steps, step, err)) == 0)
		r = put_state(steps, after, err);
	return r;
}

static int put_adapted(struct steps *steps, struct error *err)
{
	CLEANUP(adapt_closep) struct adapt *adapt = NULL;
	struct model_batch batch;
	int r = adapt_open(model_graph(steps->model), NULL, &adapt, err);

	if (r < 0 || !adapt)
		return r;
	for (uint64_t step = 0; r == 0 && step < steps->steps; step++)
		if ((r = take_batch(steps, step, &batch, err)) == 0)
			r = adapt_batch(adapt, &batch, err);
	if (r < 0 || (r = adapt_end(adapt, steps->model, err)) < 0)
		return r;
	return put_state(steps, "adapted/", err);
}

static int take_steps(struct steps *steps, const char *path, struct error *err)
{
	CLEANUP(free_ptr) float *loss = NULL;
	struct model_tensor losses = { .dtype = "F32", .rank = 1 };
	struct model_batch batch;
	int r = take_batch(steps, 0, &batch, err);

	loss = must_allocate(steps->steps * sizeof(*loss));
	for (uint64_t step = 0; r == 0 && step < steps->steps; step++) {
		r = take_step(steps, step, &loss[step], err);
		if (r < 0)
			return error_prefix(err, "step %" PRIu64, step);
	}
	if (r < 0)
		return r;
	if ((r = put_adapted(steps, err)) < 0)
		return r;
	losses.shape[0] = steps->steps;
	losses.bytes = steps->steps * sizeof(*loss);
	put(steps, "loss", &losses, loss);
	return safetensors_write(path, steps->out, steps->outs,
				 &(struct safetensors_note){ "graph_hash", model_graph_hash(steps->model) },
				 1, err);
}

static int run(struct steps *steps, char **argument, struct error *err)
{
	struct gpu_wish wish;
	int r = config_load(argument[1], &steps->config, err);

	if (r < 0)
		return r;
	wish = gpu_wish_of(&steps->config);
	if ((r = safetensors_open(argument[2], &steps->in, err)) < 0 ||
	    (r = gpu_open(&wish, &steps->gpu, err)) < 0 ||
	    (r = model_open(steps->gpu, &steps->config, true, &steps->model, err)) < 0 ||
	    (r = model_init(steps->model, err)) < 0)
		return r;
	steps->inputs = model_inputs(steps->model, steps->input);
	return take_steps(steps, argument[3], err);
}

int main(int argc, char **argv)
{
	static struct steps steps;
	struct error err = { 0 };
	int r;

	if (argc != 4) {
		(void)fprintf(stderr, "usage: train_steps CONFIG IN OUT\n");
		return 2;
	}
	r = run(&steps, argv, &err);
	if (r < 0)
		(void)fprintf(stderr, "train_steps: %s\n", err.text);
	model_close(steps.model);
	gpu_close(steps.gpu);
	safetensors_close(steps.in);
	config_done(&steps.config);
	for (uint32_t i = 0; i < steps.outs; i++) {
		free((void *)(uintptr_t)steps.out[i].name);
		free((void *)(uintptr_t)steps.out[i].data);
	}
	for (size_t i = 0; i < MODEL_INPUTS_MAX + 2; i++)
		free(steps.column[i]);
	return r < 0;
}
