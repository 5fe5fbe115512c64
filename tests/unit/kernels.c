/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/kernels.c" // NOLINT(bugprone-suspicious-include): its statics

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/plan/tiles.h"
#include "tests/reference.h"

static struct gpu *gpu;

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

/* A kernel of tiles has the name that a macro makes of a size. */
static const char *tile_definition(const char *text, const char *kernel)
{
#define NAME_OF_SIZE(size, ...) "_" #size,
	static const char *const sizes[] = { TILE_SIZES(NAME_OF_SIZE) };
	const char *size = strrchr(kernel, '_');
	char macro[64];
	bool is_tile = false;

	for (size_t i = 0; size && i < sizeof(sizes) / sizeof(*sizes); i++)
		is_tile |= !strcmp(size, sizes[i]);
	if (!is_tile)
		return NULL;
	(void)snprintf(macro, sizeof(macro), " %.*s_##size(", (int)(size - kernel), kernel);
	return strstr(text, macro);
}

/* The name of a kernel comes before its parameters, or is the first argument of the macro that makes the
 * kernel. */
static const char *definition(const char *text, const char *kernel)
{
	const size_t length = strlen(kernel);
	const char *tile = tile_definition(text, kernel);

	if (tile)
		return tile;

	while ((text = strstr(text, kernel))) {
		if (strchr(" \n(", text[-1]) && (text[length] == '(' || text[length] == ','))
			return text;
		text += length;
	}
	return NULL;
}

static void test_definitions_are_found(void **state)
{
	static const struct {
		const char *label, *text;
		bool is_found;
	} cases[] = {
		{ "after its type", "void bag(__global", true },
		{ "at the start of a line", "void\nbag(__global", true },
		{ "made by a macro", "POOL(bag, 8)", true },
		{ "behind its name in a comment", "/* bag of ids */ void bag(", true },
		{ "of a longer name", "void bag_mean(int x)", false },
		{ "the end of another name", "void tea_bag(int x)", false },
		{ "in a sentence", "/* as bag does */", false },
		{ "at the end", "/* of a bag", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!definition(cases[i].text, "bag") == cases[i].is_found)
			fail_msg("%s", cases[i].label);
}

/* The sources are the truth: where a kernel is defined, and whether SINGLE makes it. */
static void test_table_says_what_the_sources_say(void **state)
{
	const struct gpu_source source[SOURCES] = { SHARED_FILES(SOURCE) KERNEL_FILES(SOURCE) };
	const size_t single = sizeof("SINGLE");

	(void)state;
	for (uint32_t k = 0; k < kernel_table_count; k++) {
		const struct kernel *kernel = &kernel_table[k];

		for (enum kernel_file file = 0; file < KERNEL_FILE_MAX; file++) {
			const char *found = definition(source[file].text, kernel->name);

			if (!found != (file != kernel->file))
				fail_msg("%s: in %s", kernel->name, source[file].name);
			if (found && !strncmp(found - single, "SINGLE", single - 1) !=
					     ((kernel->properties & KERNEL_SINGLE) != 0))
				fail_msg("%s: single", kernel->name);
		}
	}
	assert_false(kernel_is_single("no"));
	assert_null(kernel_find("group_6x64"));
}

/* Collects every name that could be a kernel's; the compiled program knows which ones are. */
static void find_unlisted(struct gpu_program *program, const struct gpu_source *source)
{
	char name[64];

	for (const char *at = source->text; (at = strpbrk(at, "(,")); at++) {
		const char *from = at;
		struct gpu_kernel *object = NULL;
		struct error err;

		while (from > source->text && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
			from--;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(at - from), from);
		if (from == at || kernel_find(name) || gpu_kernel_create(program, name, &object, &err) < 0)
			continue;
		gpu_kernel_free(object);
		fail_msg("%s of %s is not in the table", name, source->name);
	}
}

static void test_every_kernel_is_in_the_table(void **state)
{
	const struct gpu_source source[SOURCES] = { SHARED_FILES(SOURCE) KERNEL_FILES(SOURCE) };
	struct gpu_program *program = NULL;
	struct error err;

	(void)state;
	harness_must(kernels_build(gpu, DTYPE_F32, NULL, 0, &program, &err), &err);
	for (enum kernel_file file = 0; file < KERNEL_FILE_MAX; file++)
		find_unlisted(program, &source[file]);
	gpu_program_free(program);
}

static void test_programs_of_gpus_lack_kernels_of_cpus(void **state)
{
	static const char *const of_cpus[] = { "metrics",         "adam_rows",        "embedding_clear",
					       "move_lines",      "conv_kernel_6x64", "conv_sum_lines",
					       "gemm_packed_8x16" };
	struct gpu_program *program = NULL;
	struct error err;

	(void)state;
	harness_must(kernels_build(gpu, DTYPE_F32, NULL, 0, &program, &err), &err);
	for (size_t i = 0; i < sizeof(of_cpus) / sizeof(*of_cpus); i++) {
		struct gpu_kernel *kernel = NULL;

		if ((gpu_kernel_create(program, of_cpus[i], &kernel, &err) == 0) != gpu_is_cpu(gpu))
			fail_msg("%s", of_cpus[i]);
		gpu_kernel_free(kernel);
	}
	gpu_program_free(program);
}

/* The names of the sources after the shared ones. */
static void chosen(const char *const *kernel, uint32_t kernels, char out[static 256])
{
	struct launch launch[8] = { 0 };
	struct plan with = { .launch = launch, .launches = kernels }, without = { 0 };
	const struct plan *const plans[] = { &without, &with };
	struct gpu_source source[SOURCES];

	assert_true(kernels <= sizeof(launch) / sizeof(*launch));
	for (uint32_t i = 0; i < kernels; i++)
		launch[i].kernel = kernel[i];
	*out = '\0';
	for (uint32_t i = SHARED_SOURCES, n = choose(plans, 2, source); i < n; i++) {
		(void)strncat(out, source[i].name, 255 - strlen(out));
		(void)strncat(out, " ", 255 - strlen(out));
	}
}

static void test_plans_choose_their_sources(void **state)
{
	static const char *const mlp[] = { "gemm_6x64", "gemm_packed_8x16",
					   "softmax",   "softmax_crossentropy",
					   "metrics",   "adam" };
	static const char *const image[] = { "conv_packed_8x32", "max_pool_backward", "sgd_momentum" };
	struct gpu_source source[SOURCES];
	char names[256];

	(void)state;
	chosen(mlp, 6, names);
	assert_string_equal(names, "gemm.cl gemm_packed.cl softmax.cl losses.cl metrics.cl update.cl ");
	chosen(image, 3, names);
	assert_string_equal(names, "update.cl conv_packed.cl pool.cl ");
	chosen(NULL, 0, names);
	assert_string_equal(names, "");
	assert_int_equal(choose(NULL, 0, source), SOURCES);
}

/* Each kernel but those of tiles, whose sizes have a condition of their own, is left out of a program that
 * does not use it. */
static void test_every_kernel_may_be_left_out(void **state)
{
	const struct gpu_source source[SOURCES] = { SHARED_FILES(SOURCE) KERNEL_FILES(SOURCE) };

	(void)state;
	for (uint32_t k = 0; k < kernel_table_count; k++) {
		const char *text = source[kernel_table[k].file].text;
		char condition[96];

		(void)snprintf(condition, sizeof(condition), " defined(USE_%s)\n", kernel_table[k].name);
		if (!strstr(text, "USED(size)") && !strstr(text, condition))
			fail_msg("%s is in every program with %s", kernel_table[k].name,
				 source[kernel_table[k].file].name);
	}
}

/* A program has the kernels of its plans, and no others. */
static void test_only_used_kernels_are_compiled(void **state)
{
	static struct launch launches[] = { { .kernel = "gemm_nn_64x32" },
					    { .kernel = "conv_kernel_64x64" },
					    { .kernel = "gemm_sum" },
					    { .kernel = "tanh_forward" },
					    { .kernel = "begin_part" } };
	const struct plan plan = { .launch = launches, .launches = 5 }, *const plans[] = { &plan };
	static const struct {
		const char *kernel;
		bool is_there;
	} cases[] = { { "gemm_nn_64x32", true },     { "gemm_tn_64x32", false }, { "gemm_nn_128x128", false },
		      { "conv_kernel_64x64", true }, { "conv_64x64", false },    { "gemm_sum", true },
		      { "gemm_16x16", false },       { "tanh_forward", true },   { "tanh_backward", false },
		      { "relu_limited", false },     { "begin_part", true },     { "add_part", true },
		      { "weigh_parts", false } };
	struct gpu_program *program;
	struct error err = { 0 };

	(void)state;
	harness_must(kernels_build(gpu, DTYPE_F32, plans, 1, &program, &err), &err);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpu_kernel *kernel = NULL;

		if ((gpu_kernel_create(program, cases[i].kernel, &kernel, &err) == 0) != cases[i].is_there)
			fail_msg("%s", cases[i].kernel);
		gpu_kernel_free(kernel);
	}
	gpu_program_free(program);
}

/* The option of the program follows from the kernels: a binary must have what the option promises. */
static void test_cores_are_those_of_the_kernels(void **state)
{
	static const struct {
		const char *kernel;
		enum tensor_cores device, used;
	} cases[] = {
		{ "wgmma_nn_128x128", TENSOR_CORES_WARP_GROUPS, TENSOR_CORES_WARP_GROUPS },
		{ "wgmma_conv_kernel_128x64", TENSOR_CORES_WARP_GROUPS, TENSOR_CORES_WARP_GROUPS },
		{ "mma_tn_64x64", TENSOR_CORES_WARP_GROUPS, TENSOR_CORES_WARPS },
		{ "mma_tn_64x64", TENSOR_CORES_WARPS, TENSOR_CORES_WARPS },
		{ "gemm_nn_64x64", TENSOR_CORES_WARP_GROUPS, TENSOR_CORES_NONE },
		{ "mma_nt_64x64", TENSOR_CORES_NONE, TENSOR_CORES_NONE },
		{ "wgmma_nn_128x128", TENSOR_CORES_NONE, TENSOR_CORES_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct launch launches[] = { { .kernel = "gemm_sum" }, { .kernel = cases[i].kernel } };
		const struct plan plan = { .launch = launches,
					   .launches = 2,
					   .tensor_cores = cases[i].device },
				  *const plans[] = { &plan };

		assert_int_equal(used_cores(plans, 1), cases[i].used);
	}
	assert_int_equal(used_cores(NULL, 0), TENSOR_CORES_NONE);
}

/* A plan may need any source without the others. */
static void test_each_source_builds_alone(void **state)
{
	const struct gpu_source all[SOURCES] = { SHARED_FILES(SOURCE) KERNEL_FILES(SOURCE) };
	struct gpu_source source[SHARED_SOURCES + 1];
	struct error err = { 0 };
	const char *options = gpu_is_cpu(gpu) ? PROGRAM_OPTIONS
				      " -DUPDATE_GROUP=1 -DUPDATE_RUN=256 -DCPU_DEVICE"
					      : PROGRAM_OPTIONS " -DUPDATE_GROUP=64 -DUPDATE_RUN=1";

	(void)state;
	memcpy(source, all, sizeof(source));
	for (uint32_t i = SHARED_SOURCES; i < SOURCES; i++) {
		struct gpu_program *program = NULL;

		source[SHARED_SOURCES] = all[i];
		harness_must(gpu_program_build(gpu, source, SHARED_SOURCES + 1, options, &program, &err),
			     &err);
		gpu_program_free(program);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions_are_found),
		cmocka_unit_test(test_table_says_what_the_sources_say),
		cmocka_unit_test(test_every_kernel_is_in_the_table),
		cmocka_unit_test(test_programs_of_gpus_lack_kernels_of_cpus),
		cmocka_unit_test(test_plans_choose_their_sources),
		cmocka_unit_test(test_every_kernel_may_be_left_out),
		cmocka_unit_test(test_only_used_kernels_are_compiled),
		cmocka_unit_test(test_cores_are_those_of_the_kernels),
		cmocka_unit_test(test_each_source_builds_alone),
	};

	return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
