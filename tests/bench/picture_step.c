/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training steps of a network of pictures, for step_pictures.py, which compares them with PyTorch's:
 *   picture_step CONFIG IN OUT
 * IN, a safetensors file, holds the tensors of the layers by their names, and one batch: batch/image and
 * batch/label. Reads lines from the standard input and answers each with a line:
 *   steps N   makes N steps; answers with the microseconds of a step
 *   loss      answers with the mean loss of the steps since the last such line
 *   memory    answers with the largest resident memory since the weights were read, in bytes, less that
 *             before the model
 *   keep      keeps the compiled kernels for the next start
 *   write     writes the state to OUT
 */
#include "tests/bench/measure.h"

#include "drivers/gpu/gpu.h"
#include "model/formats/names.h"
#include "model/formats/safetensors.h"
#include "model/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct model *model;
static struct model_batch batch;
static uint64_t rss_before;

static void must(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "picture_step: %s\n", err->text);
	exit(1);
}

/* Returns a line of /proc/self/status in bytes. */
static uint64_t status_of(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t found = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			found = strtoull(line + strlen(key) + 1, NULL, 10) * 1024;
	if (!found)
		abort();
	(void)fclose(file);
	return found;
}

/* Lets the largest resident memory begin again at what is resident now. */
static void reset_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	if (!file || fputs("5\n", file) < 0 || fclose(file) != 0)
		abort();
}

static void *copy_of(const struct model_tensor *tensor)
{
	void *memory = aligned_alloc(4096, (tensor->bytes + 4095) / 4096 * 4096 + 4096);

	if (!memory)
		abort();
	return memcpy(memory, tensor->data, tensor->bytes);
}

static const struct model_tensor *find(const struct safetensors *file, const char *name)
{
	uint32_t count;
	const struct model_tensor *tensor = safetensors_tensors(file, &count), *found;

	found = name_find(tensor, count, name);
	if (!found) {
		(void)fprintf(stderr, "picture_step: %s is not in the file\n", name);
		exit(1);
	}
	return found;
}

static void read_batch(const struct safetensors *file, const struct config *config)
{
	batch = (struct model_batch){ .input = { copy_of(find(file, "batch/image")) },
				      .label = copy_of(find(file, "batch/label")),
				      .rows = (uint32_t)config->run.batch_rows,
				      .valid_rows = (uint32_t)config->run.batch_rows };
}

static void read_weights(const struct safetensors *file)
{
	const struct graph *graph = model_graph(model);
	struct error err = { 0 };

	for (uint32_t i = 0; i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);

		if (tensor->role != ROLE_PARAMETER && tensor->role != ROLE_STATE)
			continue;
		const struct model_tensor *from = find(file, tensor->name);

		must(model_tensor_load(model, from->name, from->data, from->bytes, &err), &err);
	}
}

static void write_state(const char *path)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	must(safetensors_write(path, tensors, count, NULL, 0, &err), &err);
	model_snapshot_release(model);
}

static double step_us(uint32_t steps)
{
	struct model_metrics metrics;
	struct error err = { 0 };
	const double start = now_us();

	for (uint32_t i = 0; i < steps; i++) {
		batch.first_row = model_step(model) * batch.rows;
		must(model_train(model, &batch, &err), &err);
	}
	must(model_metrics(model, &metrics, &err), &err);
	return (now_us() - start) / steps;
}

static void answer(const char *line, const char *out)
{
	struct model_metrics metrics;
	struct error err = { 0 };

	if (!strncmp(line, "steps ", 6)) {
		printf("%.1f\n", step_us((uint32_t)strtoul(line + 6, NULL, 10)));
	} else if (!strcmp(line, "loss\n")) {
		must(model_metrics(model, &metrics, &err), &err);
		must(model_metrics_reset(model, &err), &err);
		printf("%.9g\n", metrics.loss);
	} else if (!strcmp(line, "memory\n")) {
		printf("%" PRIu64 "\n", status_of("VmHWM:") - rss_before);
	} else if (!strcmp(line, "keep\n")) {
		must(model_keep_kernels(model, &err), &err);
		puts("kept");
	} else if (!strcmp(line, "write\n")) {
		write_state(out);
		puts("written");
	} else {
		(void)fprintf(stderr, "picture_step: found %s", line);
		exit(2);
	}
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	struct config config;
	struct gpu_wish wish;
	struct gpu *gpu = NULL;
	struct safetensors *file = NULL;
	struct error err = { 0 };
	char line[64];

	if (argc != 4) {
		(void)fprintf(stderr, "Usage: picture_step CONFIG IN OUT\n");
		return 2;
	}
	must(config_load(argv[1], &config, &err), &err);
	wish = gpu_wish_of(&config);
	must(gpu_open(&wish, &gpu, &err), &err);
	must(safetensors_open(argv[2], &file, &err), &err);
	read_batch(file, &config);
	rss_before = status_of("VmRSS:");
	must(model_open(gpu, &config, true, &model, &err), &err);
	must(model_init(model, &err), &err);
	read_weights(file);
	safetensors_close(file);
	reset_peak();
	(void)fprintf(stderr, "%s: %u launches a step\n", gpu_description(gpu), plan_enqueued(&model->train));
	while (fgets(line, sizeof(line), stdin))
		answer(line, argv[3]);
	model_close(model);
	gpu_close(gpu);
	config_done(&config);
	free((void *)(uintptr_t)batch.input[0]);
	free((void *)(uintptr_t)batch.label);
	return 0;
}
