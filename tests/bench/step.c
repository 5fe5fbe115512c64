/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training step of the article's network (512-256-16-2, dropout 0.2, Adam, batch 128): microseconds a step,
 * against the five GEMMs of the same step in OpenBLAS where that is installed. Verified against the float64
 * reference first. Rounds of both alternate; medians. Usage: step [ROUNDS] [STEPS]
 */
#include "tests/bench/measure.h"
#include "tests/reference.h"

#include <dlfcn.h>
#include <inttypes.h>

#define ROWS       128u
#define INPUTS     512u
#define CLASSES    2u
#define BATCHES    8u
#define ROUNDS_MAX 101u

static float input[BATCHES][ROWS * INPUTS] __attribute__((aligned(4096)));
static int64_t label[BATCHES][ROWS * CLASSES] __attribute__((aligned(4096)));
static struct config_layer layers[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
					RELU,       DROPOUT(0.2), DENSE(2),     SOFTMAX };

static void must(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "step: %s\n", err->text);
	exit(1);
}

static struct model_batch batch_at(uint64_t step)
{
	const uint64_t b = step % BATCHES;

	return (struct model_batch){ .input = { input[b] },
				     .label = label[b],
				     .rows = ROWS,
				     .valid_rows = ROWS,
				     .first_row = step * ROWS };
}

static void train(struct model *model, uint64_t steps)
{
	struct model_metrics metrics;
	struct error err = { 0 };

	for (uint64_t i = 0; i < steps; i++) {
		const struct model_batch batch = batch_at(model_step(model));

		must(model_train(model, &batch, &err), &err);
	}
	must(model_metrics(model, &metrics, &err), &err);
}

static double worst_parameter(struct model *model, const struct reference *reference)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;
	double most = 0;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	for (uint32_t t = 0; t < count; t++)
		for (uint32_t i = 0; i < model->graph.tensors; i++) {
			const struct tensor *tensor = graph_at(&model->graph, i);

			if (tensor->role != ROLE_PARAMETER || strcmp(tensor->name, tensors[t].name) != 0)
				continue;
			for (uint64_t e = 0; e < tensor->elements; e++)
				most = fmax(most, fabs((double)((const float *)tensors[t].data)[e] -
						       reference->value[i][e]));
		}
	model_snapshot_release(model);
	return most;
}

/* Three steps beside float64: never fast and wrong. */
static void verify(struct model *model)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	struct reference reference;
	uint32_t count = 0;
	double most;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	reference_open(&reference, &model->graph);
	reference_load(&reference, tensors, count);
	model_snapshot_release(model);
	for (uint64_t step = 0; step < 3; step++) {
		const struct model_batch batch = batch_at(step);

		train(model, 1);
		reference_train(&reference, &batch, step);
	}
	most = worst_parameter(model, &reference);
	reference_close(&reference);
	if (most > 2e-5) {
		(void)fprintf(stderr, "step: parameters differ from float64 by %g after 3 steps\n", most);
		exit(1);
	}
}

/* ---- OpenBLAS: the same five products ---- */

typedef void sgemm_function(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
			    int lda, const float *b, int ldb, float beta, float *c, int ldc);

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

static sgemm_function *find_sgemm(void)
{
	static const char *const names[] = { "libopenblas.so.0", "libopenblas.so" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_NOW);

		if (library)
			return (sgemm_function *)dlsym(library, "cblas_sgemm");
	}
	return NULL;
}

/* x W1, h W2 forward; x^T dz1, h^T dz2 and dz2 W2^T backward (the third layer's are 1 % of them). */
static void five_gemms(sgemm_function *sgemm)
{
	static float a[INPUTS * 256], b[INPUTS * 256], c[INPUTS * 256];

	sgemm(ROW_MAJOR, PLAIN, PLAIN, ROWS, 256, INPUTS, 1, input[0], INPUTS, a, 256, 0, c, 256);
	sgemm(ROW_MAJOR, PLAIN, PLAIN, ROWS, 16, 256, 1, b, 256, a, 16, 0, c, 16);
	sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, INPUTS, 256, ROWS, 1, input[0], INPUTS, b, 256, 0, c, 256);
	sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, 256, 16, ROWS, 1, b, 256, a, 16, 0, c, 16);
	sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, ROWS, 256, 16, 1, b, 16, a, 16, 0, c, 256);
}

static void print(double value, const char *peer, double peer_value)
{
	printf("{\"name\":\"step\",\"case\":\"512-256-16-2, batch 128\",\"value\":%.1f,\"unit\":\"us\"",
	       value);
	if (peer)
		printf(",\"peer\":\"%s\",\"peer_value\":%.1f,\"ratio\":%.3f", peer, peer_value,
		       peer_value / value);
	printf("}\n");
}

int main(int argc, char **argv)
{
	const uint32_t asked = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 15;
	const uint32_t rounds = asked < 1 ? 1 : asked > ROUNDS_MAX ? ROUNDS_MAX : asked;
	const uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 300;
	const struct config config =
		model_config(layers, sizeof(layers) / sizeof(*layers), INPUTS, CLASSES, ROWS);
	double ours[ROUNDS_MAX], blas[ROUNDS_MAX];
	sgemm_function *sgemm = find_sgemm();
	/* OpenBLAS's threads spin for a while after their work. */
	const struct timespec rest = { .tv_nsec = 150000000 };
	struct gpu *gpu = open_device();
	struct model *model = NULL;
	struct error err = { 0 };

	for (uint64_t b = 0; b < BATCHES; b++)
		fill_batch(b, ROWS, INPUTS, CLASSES, input[b], label[b]);
	must(model_open(gpu, &config, true, &model, &err), &err);
	must(model_init(model, &err), &err);
	verify(model);
	(void)fprintf(stderr, "%s: %u launches a step\n", gpu_description(gpu), model->train.launches);
	train(model, steps);
	for (uint32_t r = 0; r < rounds; r++) {
		double start = now_us();

		train(model, steps);
		ours[r] = (now_us() - start) / (double)steps;
		start = now_us();
		for (uint64_t i = 0; sgemm && i < steps; i++)
			five_gemms(sgemm);
		blas[r] = (now_us() - start) / (double)steps;
		(void)nanosleep(&rest, NULL);
	}
	if (sgemm)
		print(median(ours, rounds), "openblas-5-gemms", median(blas, rounds));
	else
		print(median(ours, rounds), NULL, 0);
	model_close(model);
	close_device(gpu);
	return 0;
}
