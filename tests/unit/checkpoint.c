/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint of a real model: the CRC of every tensor is checked, and a tensor of another model is refused
 * by name. */
#include "model/checkpoint.h"
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define ROWS    8u
#define INPUTS  6u
#define CLASSES 3u

static struct gpu *gpu;
static struct config_layer layers[] = { DENSE(5), RELU, DENSE(3), SOFTMAX };
static struct config_layer wider[] = { DENSE(7), RELU, DENSE(3), SOFTMAX };
static struct config_layer plainer[] = { DENSE(5), DENSE(3), SOFTMAX };
static char path[] = "/tmp/kiln-checkpoint-XXXXXX";

static struct config config_of(struct config_layer *list, uint32_t count)
{
	return model_config(list, count, INPUTS, CLASSES, ROWS);
}

static struct model *open_model(const struct config *config)
{
	struct error err = { 0 };
	struct model *model = NULL;

	if (model_open(gpu, config, true, &model, &err) < 0 || model_init(model, &err) < 0)
		fail_msg("%s", err.text);
	return model;
}

static void write_checkpoint(struct model *model)
{
	const struct safetensors_note notes[] = { { "graph_hash", model_graph_hash(model) } };
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;

	if (model_snapshot(model, &err) < 0 || model_snapshot_tensors(model, &tensors, &count, &err) < 0 ||
	    safetensors_write(path, tensors, count, notes, 1, &err) < 0)
		fail_msg("%s", err.text);
	model_snapshot_release(model);
}

static void flip(const char *bytes, uint64_t count, uint64_t at)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, at, out), at);
	assert_int_equal(fputc(bytes[at] ^ 1, out), (unsigned char)(bytes[at] ^ 1));
	assert_int_equal(fwrite(bytes + at + 1, 1, count - at - 1, out), count - at - 1);
	assert_int_equal(fclose(out), 0);
}

/* Flips one bit of each tensor: parameters, slots, sums, step and cursor. */
static void test_each_tensor_is_checked(void **state)
{
	const struct config config = config_of(layers, 4);
	struct model *model = open_model(&config);
	CLEANUP(safetensors_closep) struct safetensors *whole = NULL;
	CLEANUP(free_ptr) char *bytes = NULL;
	const struct model_tensor *tensors;
	struct error err = { 0 };
	uint64_t size = 0, data;
	uint32_t count = 0;

	(void)state;
	write_checkpoint(model);
	assert_int_equal(safetensors_open(path, &whole, &err), 0);
	assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), 0);
	assert_int_equal(checkpoint_load(model, path, whole, false, &err), 0);
	tensors = safetensors_tensors(whole, &count);
	assert_true(count >= 4 * 3 + 5);
	data = size;
	for (uint32_t i = 0; i < count; i++)
		data -= tensors[i].bytes;
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t first = data + (uint64_t)((const char *)tensors[i].data -
							 (const char *)tensors[0].data),
			       at[] = { first, first + tensors[i].bytes / 2, first + tensors[i].bytes - 1 };

		for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
			struct safetensors *file;

			flip(bytes, size, at[k]);
			assert_int_equal(safetensors_open(path, &file, &err), -EBADMSG);
			assert_non_null(strstr(err.text, path));
			assert_non_null(strstr(err.text, tensors[i].name));
			assert_non_null(strstr(err.text, "CRC"));
		}
	}
	model_close(model);
}

static void test_crc_must_be_there(void **state)
{
	const struct config config = config_of(layers, 4);
	struct model *model = open_model(&config);
	CLEANUP(free_ptr) char *bytes = NULL;
	struct error err = { 0 };
	uint64_t size = 0;

	(void)state;
	write_checkpoint(model);
	assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), 0);
	for (uint64_t at = 0; at + 20 < size; at++)
		if (memcmp(bytes + at, "\"crc32c/dense/bias\"", 19) == 0) {
			CLEANUP(safetensors_closep) struct safetensors *file = NULL;

			flip(bytes, size, at + 1);
			assert_int_equal(safetensors_open(path, &file, &err), 0);
			assert_int_equal(checkpoint_load(model, path, file, false, &err), -EBADMSG);
			assert_non_null(strstr(err.text, "dense/bias: found no CRC"));
			model_close(model);
			return;
		}
	fail_msg("no CRC of dense/bias");
}

/* A checkpoint of another model: the error names the tensor that differs, or says that none does. */
static void test_foreign(void **state)
{
	const struct {
		struct config_layer *list;
		uint32_t count;
		const char *words;
	} others[] = {
		{ wider, 4, "dense/kernel: found F32 [6, 7], expected F32 [6, 5]" },
		{ plainer, 3, "each tensor fits" },
	};
	const struct config config = config_of(layers, 4);
	struct model *model = open_model(&config);

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct config other = config_of(others[i].list, others[i].count);
		struct model *theirs = open_model(&other);
		CLEANUP(safetensors_closep) struct safetensors *file = NULL;
		struct error err = { 0 };

		write_checkpoint(theirs);
		model_close(theirs);
		assert_int_equal(safetensors_open(path, &file, &err), 0);
		assert_int_equal(checkpoint_expect_graph(model, path, file, false, &err), -EINVAL);
		if (!strstr(err.text, "graph_hash: found ") || !strstr(err.text, others[i].words))
			fail_msg("%s", err.text);
	}
	model_close(model);
}

static int open_all(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	gpu = open_device();
	return fd < 0 ? -1 : close(fd);
}

static int close_all(void **state)
{
	(void)state;
	close_device(gpu);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_tensor_is_checked),
		cmocka_unit_test(test_crc_must_be_there),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
