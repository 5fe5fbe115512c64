/* SPDX-License-Identifier: Apache-2.0 */
/* Model files that are not what they say: every one is refused with a sentence, before anybody reads a tensor
 * with the sizes of the configuration's network. */
#include "model/model_file.h"
#include "core/base/paths.h"
#include "model/build.h"
#include "model/checkpoint.h"
#include "model/export/export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

static const char config_text[] =
	"run: { name = \"t\"; };\n"
	"source: { url = \"file:///d\"; };\n"
	"sink: { url = \"file:///r\"; };\n"
	"schema = ( { name = \"sentence\"; dtype = \"float32\"; shape = [ 4 ]; },\n"
	"           { name = \"label\"; dtype = \"int64\"; shape = [ 3 ]; } );\n"
	"model: { layers = ( { op = \"dense\"; units = 3; }, { op = \"softmax\"; } ); };\n";
static char path[] = "/tmp/kiln-model-file-XXXXXX";

static const float numbers[64];

#define TENSORS_MAX 3u
#define TENSOR(n, d, b, r, ...)                                                                 \
	{                                                                                       \
		.name = (n), .dtype = (d), .bytes = (b), .rank = (r), .shape = { __VA_ARGS__ }, \
		.data = numbers                                                                 \
	}
#define KERNEL TENSOR("dense/kernel", "F32", 48, 2, 4, 3)
#define BIAS   TENSOR("dense/bias", "F32", 12, 1, 3)

static const struct {
	const char *label;
	struct model_tensor tensor[TENSORS_MAX];
	const char *format, *config, *hash; /* NULL: the right one */
	int code;
	const char *words;
} cases[] = {
	{ "whole", { KERNEL, BIAS }, .words = "" },
	{ "a kernel of fewer rows",
	  { TENSOR("dense/kernel", "F32", 12, 2, 1, 3), BIAS },
	  .code = -EBADMSG,
	  .words = "m: dense/kernel: found F32 [1, 3], expected F32 [4, 3]" },
	{ "as many numbers in another shape",
	  { TENSOR("dense/kernel", "F32", 48, 2, 3, 4), BIAS },
	  .code = -EBADMSG,
	  .words = "m: dense/kernel: found F32 [3, 4], expected F32 [4, 3]" },
	{ "another rank",
	  { TENSOR("dense/kernel", "F32", 48, 1, 12), BIAS },
	  .code = -EBADMSG,
	  .words = "m: dense/kernel: found F32 [12], expected F32 [4, 3]" },
	{ "another type",
	  { KERNEL, TENSOR("dense/bias", "F16", 6, 1, 3) },
	  .code = -EBADMSG,
	  .words = "m: dense/bias: found F16 [3], expected F32 [3]" },
	{ "a type of the same width",
	  { KERNEL, TENSOR("dense/bias", "I32", 12, 1, 3) },
	  .code = -EBADMSG,
	  .words = "m: dense/bias: found I32 [3], expected F32 [3]" },
	{ "no bias",
	  { KERNEL },
	  .code = -EBADMSG,
	  .words = "m: dense/bias: found nothing, expected F32 [3]" },
	{ "one more",
	  { KERNEL, BIAS, TENSOR("more", "F32", 4, 1, 1) },
	  .code = -EBADMSG,
	  .words = "m: more: found a tensor that the network does not have" },
	{ "one twice",
	  { KERNEL, BIAS, BIAS },
	  .code = -EBADMSG,
	  .words = "m: key \"dense/bias\" is there twice" },
	{ "another format",
	  { KERNEL, BIAS },
	  .format = "kiln/other",
	  .code = -EINVAL,
	  .words = "m: format: found kiln/other, expected kiln/model" },
	{ "a checkpoint, which has other tensors, too",
	  { KERNEL, BIAS, TENSOR("state/loss", "F32", 8, 1, 2) },
	  .format = CHECKPOINT_FORMAT,
	  .words = "" },
	{ "a checkpoint with a kernel of fewer rows",
	  { TENSOR("dense/kernel", "F32", 12, 2, 1, 3), BIAS },
	  .format = CHECKPOINT_FORMAT,
	  .code = -EBADMSG,
	  .words = "m: dense/kernel: found F32 [1, 3], expected F32 [4, 3]" },
	{ "a configuration that is none",
	  { KERNEL, BIAS },
	  .config = "model: {",
	  .code = -EINVAL,
	  .words = "m: " },
	{ "another network",
	  { KERNEL, BIAS },
	  .hash = "0",
	  .code = -EINVAL,
	  .words = "m: graph_hash: found 0, expected " },
};

static void right_hash(char out[static GRAPH_HASH_BYTES])
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	struct graph graph;

	assert_int_equal(file_write_durable(path, config_text, strlen(config_text), &err), 0);
	if (config_load(path, &config, &err) < 0 || graph_build(&config, false, &graph, &err) < 0)
		fail_msg("%s", err.text);
	memcpy(out, graph.hash, GRAPH_HASH_BYTES);
	graph_done(&graph);
}

static int load(size_t i, const char *hash, struct error *err)
{
	CLEANUP(model_file_done) struct model_file model = { 0 };
	CLEANUP(free_ptr) char *bytes = NULL;
	const struct safetensors_note notes[] = {
		{ "format", cases[i].format ? cases[i].format : MODEL_FORMAT },
		{ "graph_hash", cases[i].hash ? cases[i].hash : hash },
		{ "config", cases[i].config ? cases[i].config : config_text },
	};
	uint32_t count = 0;
	uint64_t size = 0;

	while (count < TENSORS_MAX && cases[i].tensor[count].name)
		count++;
	if (safetensors_write(path, cases[i].tensor, count, notes, 3, err) < 0 ||
	    file_read(path, 1 << 20, &bytes, &size, err) < 0)
		fail_msg("%s", err->text);
	const int r = model_file_open("m", bytes, size, &model, err);

	return r < 0 ? r : model_file_build("m", NULL, &model, err);
}

static void test_cases(void **state)
{
	char hash[GRAPH_HASH_BYTES];

	(void)state;
	right_hash(hash);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		const int r = load(i, hash, &err);

		if (r != cases[i].code || strncmp(err.text, cases[i].words, strlen(cases[i].words)) != 0)
			fail_msg("%s: %d, \"%s\"", cases[i].label, r, err.text);
	}
}

static void test_no_configuration(void **state)
{
	static const struct safetensors_note notes[] = { { "format", MODEL_FORMAT } };
	CLEANUP(model_file_done) struct model_file model = { 0 };
	CLEANUP(free_ptr) char *bytes = NULL;
	struct error err = { 0 };
	uint64_t size = 0;

	(void)state;
	assert_int_equal(safetensors_write(path, cases[0].tensor, 2, notes, 1, &err), 0);
	assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), 0);
	assert_int_equal(model_file_open("m", bytes, size, &model, &err), 0);
	assert_int_equal(model_file_build("m", NULL, &model, &err), -EBADMSG);
	assert_string_equal(err.text, "m: the file holds no configuration, so Kiln did not write this model");
}

/* A trained model takes batches of any number of rows, also where a step of its training was cut by lanes. */
static void test_lanes(void **state)
{
	static const struct safetensors_note format = { "format", MODEL_FORMAT };
	CLEANUP(model_file_done) struct model_file model = { 0 };
	CLEANUP(free_ptr) char *bytes = NULL;
	char hash[GRAPH_HASH_BYTES], text[sizeof(config_text) + 64];
	const struct safetensors_note notes[] = { format, { "graph_hash", hash }, { "config", text } };
	struct error err = { 0 };
	struct graph graph;
	uint64_t size = 0;

	(void)state;
	right_hash(hash);
	(void)snprintf(text, sizeof(text), "%sorder: { lanes = 4; };\n", config_text);
	assert_int_equal(safetensors_write(path, cases[0].tensor, 2, notes, 3, &err), 0);
	assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), 0);
	assert_int_equal(model_file_open("m", bytes, size, &model, &err), 0);
	assert_int_equal(model_file_build("m", NULL, &model, &err), 0);
	assert_int_equal(graph_build(&model.config, true, &graph, &err), 0);
	assert_int_equal(graph.parts, 1);
	assert_int_equal(graph.batch_rows, model.config.run.batch_rows);
	graph_done(&graph);
}

/* Export reads the tensors with the sizes of the graph, so it checks them itself, whoever calls it. */
static void test_export(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct graph graph;

	(void)state;
	assert_int_equal(file_write_durable(path, config_text, strlen(config_text), NULL), 0);
	assert_int_equal(config_load(path, &config, NULL), 0);
	assert_int_equal(graph_build(&config, false, &graph, NULL), 0);
	for (enum export_form form = 0; form < EXPORT_FORMS; form++)
		for (size_t i = 0; i < 7; i++) {
			const struct export_weights weights = { cases[i].tensor,
								cases[i].tensor[1].name ? 2 : 1 };
			CLEANUP(free_ptr) uint8_t *data = NULL;
			struct error err = { 0 };
			uint64_t bytes = 0;

			assert_int_equal(export_model(&graph, &weights, NULL, form, &data, &bytes, &err),
					 cases[i].code);
			if (cases[i].code < 0)
				assert_non_null(strstr(err.text, cases[i].words + strlen("m: ")));
		}
	graph_done(&graph);
}

/* An export holds the texts about its data that there are. Other programs' readers find them:
 * tests/interop/pictures.py. */
static void test_about(void **state)
{
	static const char dataset_text[] = "{ \"classes\": [ \"a\\u001bb\", \"rose\" ], \"schema\": 3 }";
	static const char *const dataset[] = { dataset_text, "{ \"classes\": 2 }", "[ ]" };
	CLEANUP(config_done) struct config config = { 0 };
	struct graph graph;

	(void)state;
	assert_int_equal(file_write_durable(path, config_text, strlen(config_text), NULL), 0);
	assert_int_equal(config_load(path, &config, NULL), 0);
	assert_int_equal(graph_build(&config, false, &graph, NULL), 0);
	for (size_t i = 0; i < 2 * sizeof(dataset) / sizeof(*dataset); i++) {
		const struct export_weights weights = { cases[0].tensor, 2 };
		CLEANUP(about_done) struct about about = { 0 };
		CLEANUP(json_free) cJSON *json = NULL;
		CLEANUP(free_ptr) uint8_t *data = NULL;
		const char *text = dataset[i / 2];
		uint64_t bytes;

		assert_int_equal(json_parse("d", text, strlen(text), &json, NULL), 0);
		assert_int_equal(about_make(&config, json, &about, NULL), 0);
		assert_non_null(strstr(about.schema, "[4]"));
		assert_null(strchr(about.schema, '\n'));
		if (i < 2)
			assert_string_equal(about.classes, "[\"a\\u001bb\",\"rose\"]");
		else
			assert_null(about.classes);
		assert_int_equal(
			export_model(&graph, &weights, &about, i % 2, &data, &bytes, &(struct error){ 0 }),
			0);
		assert_non_null(memmem(data, bytes, about.schema, strlen(about.schema)));
		if (about.classes)
			assert_non_null(memmem(data, bytes, about.classes, strlen(about.classes)));
		else
			assert_null(memmem(data, bytes, "classes", strlen("classes")));
	}
	graph_done(&graph);
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases), cmocka_unit_test(test_no_configuration),
		cmocka_unit_test(test_lanes), cmocka_unit_test(test_export),
		cmocka_unit_test(test_about),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
