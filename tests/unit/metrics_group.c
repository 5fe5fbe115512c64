/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the kernel metrics_group, for devices that are not CPUs, with the kernel metrics: sums,
 * compensation and faults have the same bits. Devices without the latter compare two runs of the former. */
#include "tests/unit/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "model/plan/kernels.h"

#define LIMIT 10
/* The entries of the table, more than the items load at once. */
#define CHUNKS_MAX 20003u
/* Behind the table lie numbers that are no faults. */
#define SLACK (TENSOR_SLACK / sizeof(uint32_t))

static int open_gpu(void **state)
{
	(void)state;
	open_kernels();
	return 0;
}

/* A batch, and what is wrong in it: a row or a chunk; -1: none. */
struct batch {
	uint64_t rows;
	int32_t wrong_row, nan_row, faulty_chunk;
	uint32_t chunks;
};

static const struct batch batches[] = {
	{ 1, -1, -1, -1, 700 },      { 33, -1, -1, -1, 700 },    { 512, 40, -1, -1, 700 },
	{ 8192, -1, -1, 699, 700 },  { 8193, -1, 17, -1, 700 },  { 20011, -1, -1, 256, 700 },
	{ 20011, 8200, 3, 5, 700 },  { 300, -1, -1, 0, 700 },    { 9, -1, -1, -1, 1 },
	{ 9, -1, -1, 0, 1 },         { 9, -1, -1, -1, 3 },       { 9, -1, -1, 2, 3 },
	{ 9, -1, -1, 1024, 1025 },   { 9, -1, -1, 1023, 1025 },  { 9, -1, -1, -1, 1025 },
	{ 9, -1, -1, 8190, 8191 },   { 9, -1, -1, -1, 8191 },    { 9, -1, -1, 8192, 8193 },
	{ 9, -1, -1, 1024, 8193 },   { 9, -1, -1, 7168, 8193 },  { 9, -1, -1, -1, 8193 },
	{ 9, -1, -1, 20002, 20003 }, { 9, -1, -1, 9216, 20003 }, { 9, -1, -1, 16384, 20003 },
	{ 9, -1, -1, -1, 20003 },
};

struct sums {
	float loss[2];
	int64_t correct, top, rows;
	uint32_t fault[FAULT_WORDS + 1]; /* so that there is no padding */
};

/* The flags are those of kernels/labels.cl. */
enum { HIT = 1, TOP = 2, WRONG = 4 };

struct numbers {
	float *loss;
	uint32_t *hit, faults[CHUNKS_MAX + SLACK];
	int64_t *label;
};

static struct numbers numbers_open(const struct batch *batch)
{
	struct numbers n = { calloc(batch->rows, sizeof(float)),
			     calloc(batch->rows, sizeof(uint32_t)),
			     { 0 },
			     calloc(batch->rows, sizeof(int64_t)) };
	uint64_t seed = 3;

	for (uint64_t r = 0; r < batch->rows; r++) {
		n.loss[r] = (float)noise(&seed);
		n.hit[r] = (r % 3 ? HIT : 0u) | (r % 5 ? TOP : 0u);
	}
	for (int32_t r = batch->wrong_row; r >= 0 && r < (int32_t)batch->rows; r += 40) {
		n.hit[r] |= WRONG;
		n.label[r] = LIMIT + r;
	}
	if (batch->nan_row >= 0)
		n.loss[batch->nan_row] = NAN;
	for (uint32_t c = batch->chunks; c < batch->chunks + SLACK; c++)
		n.faults[c] = 1;
	for (int32_t c = batch->faulty_chunk; c >= 0 && c < (int32_t)batch->chunks; c += 3)
		n.faults[c] = 1000 + (uint32_t)c;
	return n;
}

static void numbers_close(struct numbers *n)
{
	free(n->loss);
	free(n->hit);
	free(n->label);
}

enum {
	ROW_LOSS,
	ROW_FLAGS,
	LOSS_SUM,
	CORRECT,
	TOP_SUM,
	ROWS_SUM,
	LABEL,
	PENALTY,
	CHUNK_FAULT,
	FAULT,
	TENSORS
};

static void emit(struct harness *h, const char *kernel, const struct batch *batch,
		 uint32_t tensor[static TENSORS])
{
	static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_U32, DTYPE_F32, DTYPE_I64, DTYPE_I64,
					     DTYPE_I64, DTYPE_I64, DTYPE_F32, DTYPE_U32, DTYPE_U32 };
	const uint64_t rows = batch->rows;
	const uint64_t sizes[] = { rows, rows, 2, 1, 1, 1, rows, 1, batch->chunks + SLACK, FAULT_WORDS };

	for (uint32_t i = 0; i < TENSORS; i++)
		tensor[i] = harness_tensor(h, dtypes[i], sizes[i]);
	plan_emit(&h->plan,
		  &(struct launch){
			  .kernel = kernel,
			  ARGUMENTS(IN(tensor[ROW_LOSS]), IN(tensor[ROW_FLAGS]), AT(ROWS), AT(VALID_ROWS),
				    INOUT(tensor[LOSS_SUM]), INOUT(tensor[CORRECT]), INOUT(tensor[TOP_SUM]),
				    INOUT(tensor[ROWS_SUM]), IN(tensor[LABEL]), { .kind = ARGUMENT_NULL },
				    INT(1), INT(LIMIT), AT(FIRST_ROW), IN(tensor[PENALTY]),
				    IN(tensor[CHUNK_FAULT]), INT(batch->chunks), INT(batch->chunks > 0),
				    AT(STEP), AT(PART), INOUT(tensor[FAULT])) });
}

static struct sums run(const char *kernel, const struct batch *batch)
{
	const struct config config = model_config(NULL, 0, 1, 1, batch->rows);
	const struct plan_values values = { .rows = (int32_t)batch->rows,
					    .valid_rows = (int32_t)batch->rows - 1,
					    .first_row = 5000,
					    .step = 12,
					    .update = 1 };
	struct sums sums = { .loss = { 3, 1e-7f }, .correct = 40, .top = 50, .rows = 60 };
	struct numbers n = numbers_open(batch);
	float penalty = 0.125f;
	void *const data[] = { n.loss,     n.hit,   sums.loss, &sums.correct, &sums.top,
			       &sums.rows, n.label, &penalty,  n.faults,      sums.fault };
	uint32_t tensor[TENSORS];
	struct harness h;

	harness_open(&h, gpu, &config, true);
	emit(&h, kernel, batch, tensor);
	harness_bind(&h, program);
	for (uint32_t i = 0; i < TENSORS; i++)
		harness_put(&h, tensor[i], data[i]);
	harness_run(&h, &values);
	for (uint32_t i = 0; i < TENSORS; i++)
		harness_get(&h, tensor[i], data[i]);
	harness_close(&h);
	numbers_close(&n);
	return sums;
}

static void test_the_same_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
		const struct sums one = run(gpu_is_cpu(gpu) ? "metrics" : "metrics_group", &batches[i]),
				  group = run("metrics_group", &batches[i]);

		assert_memory_equal(&one, &group, sizeof(one));
		assert_int_equal(one.rows, 60 + batches[i].rows - 1);
		assert_int_equal(one.fault[0], batches[i].wrong_row >= 0      ? 3
					       : batches[i].nan_row >= 0      ? 1
					       : batches[i].faulty_chunk >= 0 ? 2
									      : 0);
		if (batches[i].wrong_row >= 0)
			assert_int_equal(one.fault[2], batches[i].wrong_row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_bits),
	};

	return cmocka_run_group_tests(tests, open_gpu, close_kernels);
}
