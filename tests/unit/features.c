/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a base, and a run on its features: what is written, joined and refused.
 * tests/system/features.sh has the numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "model/build.h"
#include "model/config_text.h"
#include "model/features.h"
#include "model/formats/names.h"
#include "tests/unit/scratch.h"

#include <string.h>
#include <unistd.h>

#define COMMON                                                                \
	"source: { url = \"file:///a\"; }; sink: { url = \"file:///c\"; };\n" \
	"run: { batch_rows = 2; };\n"
#define LABEL   "{ name = \"label\"; dtype = \"int64\"; shape = [ 3 ]; } );\n"
#define PICTURE "schema = ( { name = \"image\"; dtype = \"picture\"; shape = [ 32, 32, 3 ]; }, " LABEL
#define WHOLE                                                                                          \
	COMMON PICTURE "model: { input = \"image\"; base = \"mobilenet_v2\"; base_trainable = false; " \
		       "base_pooling = \"avg\"; layers = ( { op = \"dense\"; units = 3; }, { op = "    \
		       "\"softmax\"; } ); };"
#define HEAD(width, of, more)                                                                              \
	COMMON "schema = ( { name = \"features\"; dtype = \"float32\"; shape = [ " width " ]; }, " LABEL   \
	       "model: { input = \"features\"; features_of = \"" of "\"; weights = \"base.safetensors\"; " \
	       "layers = ( " more                                                                          \
	       "{ op = \"dense\"; name = \"dense\"; units = 3; }, { op = \"softmax\"; } ); };"

/* The tests write into the folder that goes with them. */
static int in_scratch(void **state)
{
	return scratch_setup(state) || chdir(root) < 0;
}

static void load(const char *text, struct config *config)
{
	struct error err = { 0 };

	if (config_text_load(text, config, &err) < 0)
		fail_msg("%s", err.text);
}

/* Writes the base of WHOLE, and opens the file. */
static struct safetensors *write_base(void)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct safetensors *file = NULL;
	struct error err = { 0 };

	load(WHOLE, &config);
	if (features_write_base(&config, NULL, "", "base.safetensors", &err) < 0 ||
	    safetensors_open("base.safetensors", &file, &err) < 0)
		fail_msg("%s", err.text);
	return file;
}

static void test_base_graph(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(graph_done) struct graph base = { 0 }, whole = { 0 };
	struct error err = { 0 };

	(void)state;
	load(WHOLE, &config);
	assert_int_equal(graph_build_base(&config, &base, &err), 0);
	assert_int_equal(graph_build(&config, false, &whole, &err), 0);
	assert_string_equal(base.node[base.nodes - 1].name, "avg_pool");
	assert_int_equal(base.nodes + 2, whole.nodes);
	assert_int_equal(graph_at(&base, base.output)->elements, 1280);
	graph_done(&base);
	config_done(&config);
	load(COMMON PICTURE
	     "model: { input = \"image\"; layers = ( { op = \"flatten\"; }, { op = \"dense\"; units = 3; "
	     "}, { op = \"softmax\"; } ); };",
	     &config);
	assert_int_equal(graph_build_base(&config, &base, &err), -EINVAL);
	assert_non_null(strstr(err.text, "model.base: found nothing, expected one of vgg16"));
}

static void test_join(void **state)
{
	CLEANUP(safetensors_closep) struct safetensors *file = write_base();
	CLEANUP(config_done) struct config whole = { 0 }, head = { 0 };
	CLEANUP(graph_done) struct graph graph = { 0 };
	CLEANUP(features_done) struct features features = { 0 };
	CLEANUP(free_ptr) struct model_tensor *list = NULL;
	static const float kernel[1280 * 3], bias[3];
	const struct model_tensor of_head[] = {
		{ .name = "dense/kernel",
		  .dtype = "F32",
		  .rank = 2,
		  .shape = { 1280, 3 },
		  .data = kernel,
		  .bytes = sizeof(kernel) },
		{ .name = "dense/bias",
		  .dtype = "F32",
		  .rank = 1,
		  .shape = { 3 },
		  .data = bias,
		  .bytes = sizeof(bias) },
	};
	struct error err = { 0 };
	uint32_t count = 0;

	(void)state;
	load(WHOLE, &whole);
	load(HEAD("1280", "mobilenet_v2", ""), &head);
	if (features_open(&head, "base.safetensors", file, &features, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(graph_build(&whole, false, &graph, &err), 0);
	assert_string_equal(features.graph.hash, graph.hash);
	assert_string_equal(features.config.model.base, "mobilenet_v2");
	assert_string_equal(features.config.model.features_of, "");
	assert_int_equal(features.config.feature[0].dtype, CONFIG_PICTURE);
	assert_null(strstr(features.text, "# default"));
	assert_int_equal(features_tensors(&features, of_head, 2, &list, &count, &err), 0);
	assert_ptr_equal(name_find(list, count, "dense/kernel")->data, kernel);
	assert_non_null(name_find(list, count, "Conv1/kernel"));
	free(TAKE(list));
	assert_int_equal(features_tensors(&features, of_head, 1, &list, &count, &err), -EBADMSG);
	assert_string_equal(err.text, "dense/bias: found in neither base nor head");
}

/* A head that reads the features by name reads the output of the base in the finished model. */
static void test_named_input(void **state)
{
	CLEANUP(safetensors_closep) struct safetensors *file = write_base();
	CLEANUP(config_done) struct config head = { 0 };
	CLEANUP(features_done) struct features features = { 0 };
	struct error err = { 0 };

	(void)state;
	load(HEAD("1280", "mobilenet_v2", "{ op = \"relu\"; inputs = [ \"features\" ]; }, "), &head);
	assert_int_equal(features_open(&head, "base.safetensors", file, &features, &err), 0);
	assert_string_equal(features.config.model.layer[0].input[0], "avg_pool");
}

static void test_refusals(void **state)
{
	CLEANUP(safetensors_closep) struct safetensors *file = write_base();
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ HEAD("1280", "vgg16", ""), "base: found mobilenet_v2, expected vgg16" },
		{ HEAD("512", "mobilenet_v2", ""), "model.input: found 'features' of shape [512], expected "
						   "with model.features_of a float32 feature of "
						   "shape [1280]" },
		{ HEAD("1280", "mobilenet_v2", "{ op = \"dense\"; name = \"Conv1\"; units = 8; }, "),
		  "a name that no other layer has" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(config_done) struct config head = { 0 };
		struct error err = { 0 };

		load(cases[i].text, &head);
		assert_int_equal(features_check(&head, "base.safetensors", file, &err), -EINVAL);
		if (!strstr(err.text, cases[i].words))
			fail_msg("found: %s\nexpected: %s", err.text, cases[i].words);
	}
}

/* A file of weights that is no base, and a base of which a tensor is missing. */
static void test_files(void **state)
{
	CLEANUP(config_done) struct config head = { 0 };
	CLEANUP(safetensors_closep) struct safetensors *base = write_base(), *file = NULL;
	const struct safetensors_note none[] = { { "format", "kiln/weights" } };
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(base, &count);
	const struct safetensors_note notes[] = { { "format", FEATURES_FORMAT },
						  { "version", FEATURES_VERSION },
						  { "base", "mobilenet_v2" },
						  { "config", safetensors_value(base, "config") } };
	struct error err = { 0 };

	(void)state;
	load(HEAD("1280", "mobilenet_v2", ""), &head);
	assert_int_equal(safetensors_write("w", tensors, count, none, 1, &err), 0);
	assert_int_equal(safetensors_open("w", &file, &err), 0);
	assert_int_equal(features_check(&head, "w", file, &err), -EINVAL);
	assert_non_null(strstr(err.text, "w: format: found kiln/weights, expected kiln/base"));
	safetensors_close(TAKE(file));
	assert_int_equal(safetensors_write("w", tensors, count - 1, notes, 4, &err), 0);
	assert_int_equal(safetensors_open("w", &file, &err), 0);
	assert_int_equal(features_check(&head, "w", file, &err), -EBADMSG);
	assert_non_null(strstr(err.text, ": found nothing, expected "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base_graph),  cmocka_unit_test(test_join),
		cmocka_unit_test(test_named_input), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, in_scratch, scratch_teardown);
}
