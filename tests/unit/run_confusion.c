/* SPDX-License-Identifier: Apache-2.0 */
/* The member "confusion" of run.json: the whole matrix of few classes, what stands out of many, its size, and
 * members from outside. tests/unit/metrics.c has the figures of a class. */
#include "core/run/run_confusion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const cJSON *json, const char *text)
{
	char *found = cJSON_PrintUnformatted(json);

	assert_string_equal(found, text);
	cJSON_free(found);
}

static void test_whole(void **state)
{
	static const double matrix[] = { 5, 1, 0, 3 };
	CLEANUP(json_free) cJSON *member = run_confusion_member(matrix, 2);
	CLEANUP(free_ptr) double *read = NULL;

	(void)state;
	expect(member, "{\"classes\":2,\"rows\":9,\"matrix\":[[5,1],[0,3]]}");
	assert_int_equal(run_confusion_matrix(member, &read), 2);
	assert_memory_equal(read, matrix, sizeof(matrix));
}

/* A class in ten is taken for the next one in so many rows as its number says. */
static double *large(uint64_t classes)
{
	double *matrix = calloc(classes * classes, sizeof(*matrix));

	assert_non_null(matrix);
	for (uint64_t i = 0; i + 1 < classes; i++) {
		matrix[i * classes + i] = 1000;
		if (i % 10 == 1)
			matrix[i * classes + i + 1] = (double)i;
	}
	return matrix;
}

static void test_many_classes(void **state)
{
	CLEANUP(free_ptr) double *matrix = large(101), *read = NULL;
	CLEANUP(json_free) cJSON *member = run_confusion_member(matrix, 101);

	(void)state;
	assert_null(json_member(member, "matrix"));
	assert_int_equal(run_confusion_matrix(member, &read), 0);
	assert_true(json_number(member, "rows", 0) ==
		    100000 + 1 + 11 + 21 + 31 + 41 + 51 + 61 + 71 + 81 + 91);
	assert_int_equal(cJSON_GetArraySize(json_member(member, "pairs")), 10);
	expect(cJSON_GetArrayItem(json_member(member, "pairs"), 0),
	       "{\"label\":91,\"prediction\":92,\"rows\":91}");
	assert_int_equal(cJSON_GetArraySize(json_member(member, "weakest")), RUN_CONFUSION_LISTED);
	assert_int_equal((int)json_number(cJSON_GetArrayItem(json_member(member, "weakest"), 0), "class", -1),
			 91);
	assert_true(json_number(cJSON_GetArrayItem(json_member(member, "weakest"), 63), "recall", -1) == 1);
}

/* Whatever is counted, a record keeps room for everything else. */
static void test_bytes(void **state)
{
	static const uint64_t classes[] = { 2, RUN_CONFUSION_WHOLE, RUN_CONFUSION_WHOLE + 1, 1000 };

	(void)state;
	for (size_t c = 0; c < sizeof(classes) / sizeof(*classes); c++) {
		const uint64_t cells = classes[c] * classes[c];
		CLEANUP(free_ptr) double *matrix = calloc(cells, sizeof(*matrix));
		CLEANUP(json_free) cJSON *member = NULL;
		CLEANUP(free_ptr) char *text = NULL;
		struct error err;

		for (uint64_t i = 0; i < cells; i++)
			matrix[i] = UINT32_MAX - (double)(i % 3);
		member = run_confusion_member(matrix, classes[c]);
		assert_int_equal(json_print(member, &text, &err), 0);
		if (strlen(text) > 52u << 10)
			fail_msg("%ju classes: %zu bytes", (uintmax_t)classes[c], strlen(text));
	}
}

static void test_pairs(void **state)
{
	static const double matrix[] = { 9, 2, 0, 3, 9, 2, 1, 0, 9 };
	struct run_confusion_pair pair[3];

	(void)state;
	assert_int_equal(run_confusion_pairs(matrix, 3, 3, pair), 3);
	assert_true(pair[0].label == 1 && pair[0].prediction == 0 && pair[0].rows == 3);
	assert_true(pair[1].label == 0 && pair[1].prediction == 1 && pair[1].rows == 2);
	assert_true(pair[2].label == 1 && pair[2].prediction == 2 && pair[2].rows == 2);
	assert_int_equal(run_confusion_pairs(matrix, 3, 1, pair), 1);
	assert_true(pair[0].label == 1 && pair[0].prediction == 0);
}

static void test_members_from_outside(void **state)
{
	static const char *const wrong[] = {
		"null",
		"7",
		"{}",
		"{\"matrix\": 3}",
		"{\"matrix\": []}",
		"{\"matrix\": [[1]]}",
		"{\"matrix\": [[1, 2], [3]]}",
		"{\"matrix\": [[1, 2], 3]}",
		"{\"matrix\": [[1, 2], {\"a\": 1, \"b\": 2}]}",
		"{\"matrix\": [[1, 2], [3, null]]}",
		"{\"matrix\": [[1, 2], [3, -1]]}",
		"{\"matrix\": [[1, 2], [3, 1e300]]}",
		"{\"matrix\": [[1, 2], [3, \"4\"]]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		CLEANUP(json_free) cJSON *member = cJSON_Parse(wrong[i]);
		double *matrix = NULL;

		if (run_confusion_matrix(member, &matrix) != 0 || matrix)
			fail_msg("%s", wrong[i]);
	}
	assert_int_equal(run_confusion_matrix(NULL, &(double *){ NULL }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_many_classes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_members_from_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
