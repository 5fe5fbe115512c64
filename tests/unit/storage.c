/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions to and from numbers of 16 bits: tensors of every kind of size, several in a launch, each number
 * rounded to the nearest. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "model/plan/storage.h"

/* A work-group converts 1024 numbers. There are more tensors than a launch has; those at odd places have ROWS
 * rows. */
static const uint64_t sizes[] = { 5, 1023, 1024, 1025, 1, 33 * 37, 100003, 4096, 64, 2051 };
#define TENSORS     (sizeof(sizes) / sizeof(*sizes))
#define ROWS        3u
#define NUMBERS_MAX 100003u

static struct gpu *gpu;
static float numbers[NUMBERS_MAX], found[NUMBERS_MAX];
static uint8_t bytes[NUMBERS_MAX];

/* Returns a normal number, rounded to `bits` bits; to the even one of two that are equally near. */
static float rounded(float x, int bits)
{
	int exponent;
	const double fraction = frexp((double)x, &exponent);

	return (float)ldexp(rint(ldexp(fraction, bits)), exponent - bits);
}

static uint64_t count_of(uint64_t tensor)
{
	return tensor % 2 ? ROWS * sizes[tensor] : sizes[tensor];
}

static uint32_t add_tensor(struct harness *h, enum dtype dtype, uint64_t tensor)
{
	return graph_tensor(&h->graph, &(struct tensor){ .dtype = dtype,
							 .role = ROLE_WORK,
							 .arena = ARENA_WORK,
							 .rows = tensor % 2,
							 .rank = 1,
							 .shape = { sizes[tensor] } });
}

static void fill(uint64_t tensor)
{
	uint64_t seed = tensor + 1;

	for (uint64_t i = 0; i < count_of(tensor); i++)
		numbers[i] = (i % 3 ? 1.0f : -1.0f) * (float)(4 + 3 * noise(&seed));
	numbers[0] = tensor % 2 ? NAN : INFINITY;
	for (uint64_t i = 0; i < count_of(tensor); i++)
		bytes[i] = (uint8_t)(i * 7 + tensor);
}

static void open_plan(struct harness *h, const struct config *config, enum dtype storage)
{
	harness_open(h, gpu, config, true);
	h->graph.storage = storage;
}

/* Compiles and binds the plan; the caller frees *ret_program. */
static void bind(struct harness *h, struct gpu_program **ret_program)
{
	struct error err = { 0 };

	harness_must(kernels_build(gpu, h->graph.storage, (const struct plan *const[]){ &h->plan }, 1,
				   ret_program, &err),
		     &err);
	harness_bind(h, *ret_program);
}

static void check_copies(enum dtype storage, int bits)
{
	const struct config config = model_config(NULL, 0, 1, 1, ROWS);
	const struct node node = { .name = "node" };
	const struct plan_values values = { .rows = ROWS, .update = 1 };
	uint32_t tensor[TENSORS], copy[TENSORS];
	struct gpu_program *program = NULL;
	char name[16];
	struct harness h;

	open_plan(&h, &config, storage);
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint64_t t = 0; t < TENSORS; t++) {
			(void)snprintf(name, sizeof(name), "copy_%lu", (unsigned long)t);
			if (pass == 0)
				tensor[t] = add_tensor(&h, DTYPE_F32, t);
			copy[t] = storage_copy(&h.plan, &node, name, tensor[t]);
		}
	assert_int_equal(h.plan.launches, 2);
	bind(&h, &program);
	for (uint64_t t = 0; t < TENSORS; t++) {
		fill(t);
		harness_put(&h, tensor[t], numbers);
	}
	harness_run(&h, &values);
	for (uint64_t t = 0; t < TENSORS; t++) {
		fill(t);
		harness_get_float(&h, copy[t], found);
		assert_true(t % 2 ? isnan(found[0]) : isinf(found[0]));
		for (uint64_t i = 1; i < count_of(t); i++)
			assert_true(found[i] == rounded(numbers[i], bits));
	}
	gpu_program_free(program);
	harness_close(&h);
}

static void test_copies(void **state)
{
	(void)state;
	check_copies(DTYPE_BF16, 8);
	check_copies(DTYPE_F16, 11);
}

static void emit(struct plan *plan, const char *kernel, uint32_t from, uint32_t to)
{
	const struct tensor *tensor = graph_at(plan->graph, from);
	const uint64_t rows = tensor->rows ? ROWS : 1;

	plan_emit(plan, &(struct launch){ .kernel = kernel,
					  .groups = { { .fixed = rows * tensor->elements, .tile = 1024 } },
					  ARGUMENTS(IN(from), OUT(to), INT(rows), INT(tensor->elements)) });
}

/* The type of activations has every byte, so bytes come back as they were. */
static void check_bytes(enum dtype storage)
{
	const struct config config = model_config(NULL, 0, 1, 1, ROWS);
	const struct plan_values values = { .rows = ROWS, .update = 1 };
	uint32_t tensor[TENSORS], back[TENSORS];
	struct gpu_program *program = NULL;
	struct harness h;

	open_plan(&h, &config, storage);
	for (uint64_t t = 0; t < TENSORS; t++) {
		const uint32_t stored = add_tensor(&h, storage, t);

		tensor[t] = add_tensor(&h, DTYPE_U8, t);
		back[t] = add_tensor(&h, DTYPE_F32, t);
		emit(&h.plan, "bytes_to_stored", tensor[t], stored);
		emit(&h.plan, "from_stored", stored, back[t]);
	}
	bind(&h, &program);
	for (uint64_t t = 0; t < TENSORS; t++) {
		fill(t);
		harness_put(&h, tensor[t], bytes);
	}
	harness_run(&h, &values);
	for (uint64_t t = 0; t < TENSORS; t++) {
		fill(t);
		harness_get(&h, back[t], found);
		for (uint64_t i = 0; i < count_of(t); i++)
			assert_true(found[i] == (float)bytes[i]);
	}
	gpu_program_free(program);
	harness_close(&h);
}

static void test_bytes(void **state)
{
	(void)state;
	check_bytes(DTYPE_BF16);
	check_bytes(DTYPE_F16);
}

static int open_all(void **state)
{
	(void)state;
	gpu = open_device();
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	close_device(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
