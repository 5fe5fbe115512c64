/* SPDX-License-Identifier: Apache-2.0 */
/* Initial weights by name, from the file of a trained net, and from files of other programs, into another
 * net. */
#include "model/weights.h"
#include "model/checkpoint.h"
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/state_of.h"

#define ROWS    8u
#define INPUTS  3u
#define CLASSES 2u

static struct gpu *gpu;
static char path[] = "/tmp/kiln-weights-XXXXXX";
/* The head has another name than in the file, so that it keeps its initial values. */
static struct config_layer layers[] = {
	NAMED("dense", "base", ATTRIBUTES(2, INT_ATTRIBUTE("units", 4), BOOL_ATTRIBUTE("trainable", false))),
	NAMED("batch_norm", "norm"),
	NAMED("dense", "head", ATTRIBUTES(1, INT_ATTRIBUTE("units", 2))),
	SOFTMAX,
};

static const float kernel[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12.5f };
static const float bias[4] = { 0.5f, -0.25f, 0, 65504 };
static const uint16_t half[4] = { 0x3800, 0xB400, 0x0001, 0x7BFF };  /* 0.5, -0.25, 2^-24, 65504 */
static const uint16_t brain[4] = { 0x3F00, 0xBE80, 0x4049, 0x7F7F }; /* 0.5, -0.25, 3.140625, 3.39e38 */
static const double wide[4] = { 0.5, -0.25, 1.0 / 3, 3e38 }, wider[4] = { 0.5, -0.25, 1.0 / 3, 1e300 };
static const float odd[6] = { 1, 2, 3, 4, 5, 6 };
static const int64_t step = 7;

#define KERNEL                                                                                       \
	{                                                                                            \
		.name = "base/kernel", .dtype = "F32", .rank = 2, .shape = { 3, 4 }, .data = kernel, \
		.bytes = 48                                                                          \
	}
#define BIAS(type, from)                                                                     \
	{                                                                                    \
		.name = "base/bias", .dtype = type, .rank = 1, .shape = { 4 }, .data = from, \
		.bytes = sizeof(from)                                                        \
	}
#define ODD(n)                                                                                    \
	{                                                                                         \
		.name = n, .dtype = "F32", .rank = 2, .shape = { 2, 3 }, .data = odd, .bytes = 24 \
	}
#define STEP                                                                    \
	{                                                                       \
		.name = "state/step", .dtype = "I64", .data = &step, .bytes = 8 \
	}

static struct config config_of(void)
{
	return model_config(layers, 4, INPUTS, CLASSES, ROWS);
}

static struct safetensors *file_of(const struct model_tensor *tensors, uint32_t count)
{
	struct safetensors *file = NULL;
	struct error err = { 0 };

	if (safetensors_write(path, tensors, count, NULL, 0, &err) < 0 ||
	    safetensors_open(path, &file, &err) < 0)
		fail_msg("%s", err.text);
	return file;
}

/* Tensors that both nets have are copied, the others stay as they were, and the slots are zero. */
static void test_by_name(void **state)
{
	const struct model_tensor tensors[] = { KERNEL, BIAS("F32", bias), ODD("old_head/kernel"), STEP };
	CLEANUP(safetensors_closep) struct safetensors *file = file_of(tensors, 4);
	const struct config config = config_of();
	char text[WEIGHTS_TEXT_BYTES];
	struct model *model = NULL;
	struct weights weights;
	struct error err = { 0 };
	float head[8];

	(void)state;
	assert_int_equal(model_open(gpu, &config, true, &model, &err), 0);
	assert_int_equal(model_init(model, &err), 0);
	memcpy(head, state_of(model, "head/kernel"), sizeof(head));
	assert_int_equal(weights_match(model_graph(model), "w", file, &weights, &err), 0);
	assert_string_equal(weights_text(&weights, text),
			    "2 of 8 tensors; norm, head as initialized; not used: old_head/kernel");
	assert_int_equal(weights_load(model, "w", &weights, &err), 0);
	weights_done(&weights);
	assert_memory_equal(state_of(model, "base/kernel"), kernel, sizeof(kernel));
	assert_memory_equal(state_of(model, "base/bias"), bias, sizeof(bias));
	assert_memory_equal(state_of(model, "head/kernel"), head, sizeof(head));
	assert_int_equal(model_step(model), 0);
	for (size_t i = 0; i < 8; i++)
		assert_true(state_of(model, "optimizer/m/head/kernel")[i] == 0);
	model_close(model);
}

static void test_other_floats(void **state)
{
	static const struct {
		struct model_tensor tensor;
		float expected[4];
	} cases[] = {
		{ BIAS("F16", half), { 0.5f, -0.25f, 0x1p-24f, 65504 } },
		{ BIAS("BF16", brain), { 0.5f, -0.25f, 3.140625f, 0x1.fep127f } },
		{ BIAS("F64", wide), { 0.5f, -0.25f, 1.0f / 3, 3e38f } },
	};
	const struct config config = config_of();
	struct model *model = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(model_open(gpu, &config, true, &model, &err), 0);
	assert_int_equal(model_init(model, &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CLEANUP(safetensors_closep) struct safetensors *file = file_of(&cases[i].tensor, 1);
		struct weights weights;

		assert_int_equal(weights_match(model_graph(model), "w", file, &weights, &err), 0);
		assert_int_equal(weights_load(model, "w", &weights, &err), 0);
		weights_done(&weights);
		assert_memory_equal(state_of(model, "base/bias"), cases[i].expected,
				    sizeof(cases[i].expected));
	}
	const struct model_tensor beyond = BIAS("F64", wider);
	CLEANUP(safetensors_closep) struct safetensors *file = file_of(&beyond, 1);
	struct weights weights;

	assert_int_equal(weights_match(model_graph(model), "w", file, &weights, &err), 0);
	assert_int_equal(weights_load(model, "w", &weights, &err), -EBADMSG);
	assert_string_equal(err.text,
			    "w: base/bias: found 1e+300 in element 3, allowed: finite numbers of float32");
	weights_done(&weights);
	model_close(model);
}

/* Refused files, and files that the configuration allows. */
static void test_choices(void **state)
{
	static const struct model_tensor whole = KERNEL, short_one = ODD("base/kernel"),
					 foreign = ODD("x/kernel"),
					 number = { .name = "base/bias",
						    .dtype = "I64",
						    .rank = 1,
						    .shape = { 4 },
						    .data = wide,
						    .bytes = 32 };
	static const struct {
		const struct model_tensor *tensor;
		const char *list;
		bool skip;
		int code;
		const char *words;
	} cases[] = {
		{ &whole, "", false, 0, "1 of 8 tensors; base/bias, norm, head as initialized" },
		{ &whole, "base", false, 0, "1 of 8" },
		{ &whole, "base, head", false, -EINVAL,
		  "w: found no tensor for layer 'head' of model.weights_layers" },
		{ &short_one, "", false, -EINVAL,
		  "w: base/kernel: found [2, 3], allowed: [3, 4]; give the layer another name" },
		{ &short_one, "", true, -EINVAL,
		  "none of its tensors fits a layer: found base/kernel, the layers are base" },
		{ &foreign, "", false, -EINVAL,
		  "none of its tensors fits a layer: found x/kernel, the layers are base, norm, head" },
		{ &number, "", false, -EBADMSG, "w: base/bias: found I64, allowed: F16, BF16, F32, F64" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CLEANUP(safetensors_closep) struct safetensors *file = file_of(cases[i].tensor, 1);
		CLEANUP(graph_done) struct graph graph = { 0 };
		struct config config = config_of();
		char text[WEIGHTS_TEXT_BYTES];
		struct weights weights;
		struct error err = { 0 };

		config.model.weights_layers = cases[i].list;
		config.model.weights_skip_mismatch = cases[i].skip;
		assert_int_equal(graph_build(&config, true, &graph, &err), 0);
		assert_int_equal(weights_match(&graph, "w", file, &weights, &err), cases[i].code);
		if (cases[i].code == 0)
			(void)snprintf(err.text, sizeof(err.text), "%s", weights_text(&weights, text));
		if (!strstr(err.text, cases[i].words))
			fail_msg("%s: not \"%s\"", err.text, cases[i].words);
		if (cases[i].code == 0)
			weights_done(&weights);
	}
}

static void test_wrong_layer(void **state)
{
	CLEANUP(graph_done) struct graph graph = { 0 };
	struct config config = config_of();
	struct error err = { 0 };

	(void)state;
	config.model.weights_layers = "base,softmax";
	assert_int_equal(graph_build(&config, true, &graph, &err), -EINVAL);
	assert_non_null(
		strstr(err.text, "model.weights_layers: found \"softmax\", allowed: layers with parameters"));
}

/* A file written by Kiln has a CRC for each tensor, so a file that lacks one is damaged. */
static void test_own_file(void **state)
{
	static const struct safetensors_note notes[] = { { "format", MODEL_FORMAT } };
	const struct model_tensor tensors[] = { KERNEL };
	CLEANUP(graph_done) struct graph graph = { 0 };
	CLEANUP(free_ptr) char *bytes = NULL;
	const struct config config = config_of();
	struct weights weights;
	struct error err = { 0 };
	uint64_t size = 0;
	char *crc;

	(void)state;
	assert_int_equal(graph_build(&config, true, &graph, &err), 0);
	assert_int_equal(safetensors_write(path, tensors, 1, notes, 1, &err), 0);
	assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), 0);
	for (int lost = 0; lost < 2; lost++) {
		CLEANUP(safetensors_closep) struct safetensors *file = NULL;

		assert_int_equal(safetensors_parse("w", bytes, size, &file, &err), 0);
		assert_int_equal(weights_match(&graph, "w", file, &weights, &err), lost ? -EBADMSG : 0);
		if (!lost)
			weights_done(&weights);
		crc = memmem(bytes, size, lost ? "Crc32c/base" : "crc32c/base", 11);
		assert_non_null(crc);
		crc[0] = 'C';
	}
	assert_non_null(strstr(err.text, "w: base/kernel: found no CRC"));
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	gpu = open_device();
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	close_device(gpu);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_name),  cmocka_unit_test(test_other_floats),
		cmocka_unit_test(test_choices),  cmocka_unit_test(test_wrong_layer),
		cmocka_unit_test(test_own_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
