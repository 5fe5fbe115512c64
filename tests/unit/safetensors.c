/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/safetensors.h"

#include "core/base/paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char folder[64], path[96];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/kiln-safetensors-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/x.safetensors", folder);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command); // NOLINT(cert-env33-c): the name is ours
}

static const float kernel[6] = { 1, 2, 3, -4, 5, 6.5f }, bias[3] = { 0.25f, 0, -1 };
static const int64_t step = 1234567890123;
static const uint8_t cursor[5] = { 1, 2, 3, 4, 5 };

static const struct model_tensor tensors[] = {
	{ .name = "state/cursor", .dtype = "U8", .rank = 1, .shape = { 5 }, .data = cursor, .bytes = 5 },
	{ .name = "dense/kernel", .dtype = "F32", .rank = 2, .shape = { 2, 3 }, .data = kernel, .bytes = 24 },
	{ .name = "dense/bias", .dtype = "F32", .rank = 1, .shape = { 3 }, .data = bias, .bytes = 12 },
	{ .name = "state/step", .dtype = "I64", .rank = 0, .data = &step, .bytes = 8 },
};
#define TENSORS (uint32_t)(sizeof(tensors) / sizeof(tensors[0]))

static const struct safetensors_note notes[] = { { "format", "kiln" }, { "run_id", "imdb \"1\"" } };

static void write_sample(void)
{
	struct error err = { 0 };

	assert_int_equal(safetensors_write(path, tensors, TENSORS, notes, 2, &err), 0);
}

static void test_round_trip(void **state)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	const struct model_tensor *found;
	struct error err = { 0 };
	uint32_t count;

	(void)state;
	write_sample();
	assert_int_equal(safetensors_open(path, &file, &err), 0);
	assert_string_equal(safetensors_value(file, "format"), "kiln");
	assert_string_equal(safetensors_value(file, "run_id"), "imdb \"1\"");
	assert_null(safetensors_value(file, "Format"));
	found = safetensors_tensors(file, &count);
	assert_int_equal(count, TENSORS);
	for (uint32_t i = 0; i < TENSORS; i++) {
		/* in the file, tensors with wider types come first */
		static const uint32_t order[] = { 3, 1, 2, 0 };
		const struct model_tensor *expected = &tensors[order[i]];

		assert_string_equal(found[i].name, expected->name);
		assert_string_equal(found[i].dtype, expected->dtype);
		assert_int_equal(found[i].rank, expected->rank);
		assert_memory_equal(found[i].shape, expected->shape, sizeof(expected->shape));
		assert_int_equal(found[i].bytes, expected->bytes);
		assert_memory_equal(found[i].data, expected->data, expected->bytes);
	}
	assert_int_equal((uintptr_t)found[0].data % 8, 0);
}

static void test_same_bytes(void **state)
{
	CLEANUP(free_ptr) char *first = NULL, *second = NULL;
	struct error err = { 0 };
	uint64_t bytes, bytes2;

	(void)state;
	write_sample();
	assert_int_equal(file_read(path, 1 << 20, &first, &bytes, &err), 0);
	write_sample();
	assert_int_equal(file_read(path, 1 << 20, &second, &bytes2, &err), 0);
	assert_int_equal(bytes, bytes2);
	assert_memory_equal(first, second, bytes);
}

/* Every truncation is refused. A flipped bit is refused unless it lies in the metadata's free text, where it
 * leaves the tensors whole. */
static void test_damage(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct error err = { 0 };
	uint64_t bytes, harmless = 0;

	(void)state;
	write_sample();
	assert_int_equal(file_read(path, 1 << 20, &data, &bytes, &err), 0);
	for (uint64_t cut = 0; cut < bytes; cut++) {
		struct safetensors *file;

		assert_int_equal(safetensors_parse("cut", data, cut, &file, &err), -EBADMSG);
	}
	for (uint64_t bit = 0; bit < 8 * bytes; bit++) {
		CLEANUP(safetensors_closep) struct safetensors *file = NULL;
		const struct model_tensor *found;
		uint32_t count;

		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
		if (safetensors_parse("flipped", data, bytes, &file, &err) == 0) {
			found = safetensors_tensors(file, &count);
			assert_int_equal(count, TENSORS);
			assert_memory_equal(found[1].data, kernel, sizeof(kernel));
			assert_memory_equal(found[1].shape, tensors[1].shape, sizeof(found[1].shape));
			harmless++;
		}
		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
	}
	/* Only flips in the free text of the two notes are harmless: their keys and values have about 240
	 * bits. */
	assert_true(harmless < 400);
}

#define TENSOR(name, dtype, shape, offsets) \
	"\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
	const char *label, *header, *words;
} hostile[] = {
	{ "good", "{" TENSOR("a", "F32", "[2]", "[0,8]") "}", NULL },
	{ "good, two", "{" TENSOR("a", "U8", "[2]", "[6,8]") "," TENSOR("b", "U8", "[3,2]", "[0,6]") "}",
	  NULL },
	{ "good, an empty one",
	  "{" TENSOR("a", "U8", "[0,9]", "[8,8]") "," TENSOR("b", "I64", "[]", "[0,8]") "}", NULL },
	{ "not JSON", "{", "not JSON" },
	{ "an array", "[]", "not a JSON object" },
	{ "no tensors", "{}", "8 bytes of data" },
	{ "twice", "{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("a", "F32", "[2]", "[0,8]") "}",
	  "twice" },
	{ "beyond the end", "{" TENSOR("a", "F32", "[3]", "[0,12]") "}", "of 8" },
	{ "reversed", "{" TENSOR("a", "F32", "[2]", "[8,0]") "}", "bytes 8 to 0" },
	{ "negative", "{" TENSOR("a", "F32", "[2]", "[-8,0]") "}", "whole numbers" },
	{ "fraction", "{" TENSOR("a", "F32", "[2]", "[0.5,8]") "}", "whole numbers" },
	{ "one offset", "{" TENSOR("a", "F32", "[2]", "[8]") "}", "two whole numbers" },
	{ "offsets as text", "{" TENSOR("a", "F32", "[2]", "[\"0\",\"8\"]") "}", "whole numbers" },
	{ "shape and bytes differ", "{" TENSOR("a", "F32", "[3]", "[0,8]") "}", "expected 12 bytes" },
	{ "unknown type", "{" TENSOR("a", "F33", "[2]", "[0,8]") "}", "F33" },
	{ "product overflows", "{" TENSOR("a", "U8", "[4294967296,4294967296,2]", "[0,0]") "}", "too large" },
	{ "negative size", "{" TENSOR("a", "U8", "[-8]", "[0,8]") "}", "dimension 0" },
	{ "nine dimensions", "{" TENSOR("a", "U8", "[8,1,1,1,1,1,1,1,1]", "[0,8]") "}", "dimension 8" },
	{ "shape missing", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,8]}}", "no shape" },
	{ "dtype missing", "{\"a\":{\"shape\":[8],\"data_offsets\":[0,8]}}", "dtype" },
	{ "not an object", "{\"a\":7}", "expected an object" },
	{ "overlap", "{" TENSOR("a", "U8", "[6]", "[0,6]") "," TENSOR("b", "U8", "[4]", "[4,8]") "}",
	  "overlap" },
	{ "gap", "{" TENSOR("a", "U8", "[2]", "[0,2]") "," TENSOR("b", "U8", "[4]", "[4,8]") "}", "gap" },
	{ "gap at the start", "{" TENSOR("a", "U8", "[4]", "[4,8]") "}", "gap" },
	{ "gap at the end", "{" TENSOR("a", "U8", "[4]", "[0,4]") "}", "8 bytes of data" },
	{ "metadata of a number", "{\"__metadata__\":{\"x\":1}," TENSOR("a", "U8", "[8]", "[0,8]") "}",
	  "not a string" },
	{ "metadata a list", "{\"__metadata__\":[]," TENSOR("a", "U8", "[8]", "[0,8]") "}", "not an object" },
	{ "wrong CRC", "{\"__metadata__\":{\"crc32c/a\":\"00000000\"}," TENSOR("a", "U8", "[8]", "[0,8]") "}",
	  "CRC" },
	{ "right CRC", "{\"__metadata__\":{\"crc32c/a\":\"46891f81\"}," TENSOR("a", "U8", "[8]", "[0,8]") "}",
	  NULL },
	{ "CRC of nothing",
	  "{\"__metadata__\":{\"crc32c/b\":\"00000000\"}," TENSOR("a", "U8", "[8]", "[0,8]") "}",
	  "no such tensor" },
};

static void test_hostile(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		uint64_t header = strlen(hostile[i].header);
		CLEANUP(safetensors_closep) struct safetensors *file = NULL;
		uint8_t bytes[512] = { (uint8_t)header, (uint8_t)(header >> 8) };
		struct error err = { 0 };
		int r;

		memcpy(bytes + 8, hostile[i].header, header);
		memcpy(bytes + 8 + header, "\1\2\3\4\5\6\7\10", 8);
		r = safetensors_parse("case", bytes, 8 + header + 8, &file, &err);
		if ((r == 0) != !hostile[i].words || (r && !strstr(err.text, hostile[i].words)))
			fail_msg("%s: %d, %s", hostile[i].label, r, err.text);
		assert_true(r == 0 || r == -EBADMSG);
	}
}

static void test_header_length(void **state)
{
	static const uint8_t huge[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct safetensors *file;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(safetensors_parse("huge", huge, sizeof(huge), &file, &err), -EBADMSG);
	assert_int_equal(safetensors_parse("short", huge, 7, &file, &err), -EBADMSG);
	assert_int_equal(safetensors_open("/nonexistent", &file, &err), -ENOENT);
	assert_int_equal(safetensors_open("/tmp", &file, &err), -EBADMSG);
}

/* A failed write leaves neither the file nor the temporary file. */
static void test_cannot_write(void **state)
{
	struct model_tensor wrong = tensors[1];
	struct error err = { 0 };

	(void)state;
	wrong.bytes--;
	assert_int_equal(safetensors_write(path, &wrong, 1, NULL, 0, &err), -EINVAL);
	assert_int_equal(safetensors_write("/nonexistent/x", tensors, TENSORS, NULL, 0, &err), -ENOENT);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest list[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_header_length),
		cmocka_unit_test_setup_teardown(test_cannot_write, setup, teardown),
	};

	return cmocka_run_group_tests(list, NULL, NULL);
}
