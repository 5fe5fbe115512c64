/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that kiln prep reads, and the names of its shards. */
#include "cli/prep/idx.h"
#include "cli/prep/output.h"
#include "cli/prep/texts.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void write_file(const char *name, const void *data, size_t bytes, char path[static 128])
{
	FILE *file;

	(void)snprintf(path, 128, "%s/%s", root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

/* ---- Names ---- */

static void test_shard_key(void **state)
{
	char key[PREP_KEY_BYTES];

	(void)state;
	prep_shard_key(TEXTS_TRAIN, "", 3, 12, false, key);
	assert_string_equal(key, "train-00003-of-00012.tfrecord.gz");
	prep_shard_key(TEXTS_TEST, "", 123456, 1234567, false, key);
	assert_string_equal(key, "test-123456-of-1234567.tfrecord.gz");
	prep_shard_key(TEXTS_TRAIN, "01234567", 3, 12, false, key);
	assert_string_equal(key, "train-01234567-00003-of-00012.tfrecord.gz");
	prep_shard_key(TEXTS_VALIDATION, "", 0, 1, true, key);
	assert_string_equal(key, "validation-00000-of-00001.tfrecord");
}

static void test_labels_name(void **state)
{
	static const struct {
		const char *images, *labels;
	} cases[] = {
		{ "train-images-idx3-ubyte", "train-labels-idx1-ubyte" },
		{ "images/t10k-images-idx3-ubyte.gz", "images/t10k-labels-idx1-ubyte.gz" },
		{ "s3://b/images/images.idx4", "s3://b/images/labels.idx1" },
		{ "images/train-idx3-ubyte", NULL },
		{ "train-images-ubyte", NULL },
		{ "", NULL },
	};
	char labels[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool good = idx_labels_name(cases[i].images, labels, sizeof(labels));

		assert_int_equal(good, cases[i].labels != NULL);
		if (good)
			assert_string_equal(labels, cases[i].labels);
	}
	assert_false(idx_labels_name("train-images-idx3-ubyte", labels, 23));
	assert_true(idx_labels_name("train-images-idx3-ubyte", labels, 24));
}

/* ---- IDX ---- */

static const uint8_t two_images[] = { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20, 30, 40 };
static const uint8_t two_labels[] = { 0, 0, 8, 1, 0, 0, 0, 2, 7, 3 };

static void test_idx(void **state)
{
	CLEANUP(idx_done) struct idx_images images = { 0 };
	char path[128], labels[128];
	struct error err = { 0 };

	(void)state;
	write_file("images", two_images, sizeof(two_images), path);
	write_file("labels", two_labels, sizeof(two_labels), labels);
	assert_true(idx_is(path));
	assert_int_equal(idx_read(&images, path, "images", labels, "labels", &err), 0);
	assert_int_equal(idx_read(&images, path, "images", labels, "labels", &err), 0);
	assert_int_equal(images.images, 4);
	assert_int_equal(images.height, 1);
	assert_int_equal(images.width, 2);
	assert_int_equal(images.channels, 1);
	assert_int_equal(images.labels, 8);
	assert_memory_equal(images.pixel + 4, two_images + 16, 4);
	assert_memory_equal(images.label + 2, two_labels + 8, 2);
}

static void test_idx_damaged(void **state)
{
	static const struct {
		size_t images, labels;
		const char *words;
	} cases[] = {
		{ sizeof(two_images) - 1, sizeof(two_labels),
		  "images: ends at byte 19, 1 more were expected" },
		{ sizeof(two_images), sizeof(two_labels) - 1, "labels: ends at byte 9" },
		{ 10, sizeof(two_labels), "images: ends at byte 10" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(idx_done) struct idx_images images = { 0 };
		char path[128], labels[128];
		struct error err = { 0 };

		write_file("images", two_images, cases[i].images, path);
		write_file("labels", two_labels, cases[i].labels, labels);
		assert_int_equal(idx_read(&images, path, "images", labels, "labels", &err), -EBADMSG);
		if (!strstr(err.text, cases[i].words))
			fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].words);
	}
}

/* ---- Texts ---- */

static int read_texts(struct texts *texts, const char *lines, struct error *err)
{
	char path[128];

	write_file("texts.tsv", lines, strlen(lines), path);
	return texts_read(texts, path, "texts.tsv", TEXTS_TRAIN, err);
}

static void test_texts(void **state)
{
	CLEANUP(texts_done) struct texts texts = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(read_texts(&texts, "pos\tgood film\nneg\tbad\tfilm\npos\t\nneg\tlast line", &err),
			 0);
	assert_int_equal(texts.rows[TEXTS_TRAIN], 4);
	assert_int_equal(texts.labels, 2);
	assert_string_equal(texts.row[TEXTS_TRAIN][1].text, "bad\tfilm");
	assert_int_equal(texts.row[TEXTS_TRAIN][2].bytes, 0);
	assert_int_equal(texts.row[TEXTS_TRAIN][3].label, 1);
	texts_sort_labels(&texts);
	assert_string_equal(texts.label[0], "neg");
	assert_int_equal(texts.row[TEXTS_TRAIN][3].label, 0);
	assert_int_equal(texts_shuffle(&texts, 44, 25, &err), 0);
	assert_int_equal(texts.rows[TEXTS_TRAIN], 3);
	assert_int_equal(texts.rows[TEXTS_TEST], 1);
}

static void test_order_is_the_seed(void **state)
{
	static const char *const inputs[] = { "a\t1\na\t2\na\t3\na\t4\na\t5\n",
					      "a\t4\na\t2\na\t5\na\t1\na\t3\n" };
	char order[2][8] = { "", "" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		CLEANUP(texts_done) struct texts texts = { 0 };
		struct error err = { 0 };

		assert_int_equal(read_texts(&texts, inputs[i], &err), 0);
		assert_int_equal(texts_shuffle(&texts, 7, 0, &err), 0);
		for (uint32_t row = 0; row < 5; row++)
			order[i][row] = texts.row[TEXTS_TRAIN][row].text[0];
	}
	assert_string_equal(order[0], order[1]);
}

static void test_bad_texts(void **state)
{
	static const struct {
		const char *lines, *words;
	} cases[] = {
		{ "", "texts.tsv: empty" },
		{ "a\tb\nno tab\n", "texts.tsv:2: found no tab" },
		{ "\ttext\n", "texts.tsv:1: a label of 0 bytes" },
		{ "\xff\ttext\n", "texts.tsv:1: byte 0 of the label is not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(texts_done) struct texts texts = { 0 };
		struct error err = { 0 };

		assert_int_equal(read_texts(&texts, cases[i].lines, &err), -EBADMSG);
		if (!strstr(err.text, cases[i].words))
			fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shard_key), cmocka_unit_test(test_labels_name),
		cmocka_unit_test(test_idx),       cmocka_unit_test(test_idx_damaged),
		cmocka_unit_test(test_texts),     cmocka_unit_test(test_order_is_the_seed),
		cmocka_unit_test(test_bad_texts),
	};

	return cmocka_run_group_tests_name("cli_prep", tests, scratch_setup, scratch_teardown);
}
