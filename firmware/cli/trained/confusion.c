/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/confusion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MATRIX_CLASSES_MAX 20u
#define WIDTH_MIN          8
#define WIDTH_MAX          20
#define MEAN_NAME          "macro average"

/* ---- For people ---- */

/* Returns the bytes of the longest prefix of `name` that has at most WIDTH_MAX characters of UTF-8, and sets
 * *ret_width to the number of these characters. */
static int clip(const char *name, int *ret_width)
{
	int bytes = 0, width = 0;

	for (; name[bytes]; bytes++) {
		const bool begins = ((unsigned char)name[bytes] & 0xc0) != 0x80;

		if (begins && width == WIDTH_MAX)
			break;
		width += begins;
	}
	*ret_width = width;
	return bytes;
}

/* Prints a name in a column: at the left if `width` is negative, else at the right. */
static void print_name(const char *name, int width)
{
	int used;
	const int bytes = clip(name, &used), columns = width < 0 ? -width : width;

	printf("%*s%.*s%*s", width < 0 ? 0 : columns - used, "", bytes, name, width < 0 ? columns - used : 0,
	       "");
}

static int width_of(const char *name)
{
	int width;

	(void)clip(name, &width);
	return width > WIDTH_MIN ? width : WIDTH_MIN;
}

static int widest(const struct answers *answers, uint64_t classes)
{
	char text[ANSWER_CLASS_BYTES];
	int width = WIDTH_MIN;

	for (uint64_t i = 0; i < classes; i++) {
		const int own = width_of(answer_class_text(answers, i, text));

		width = own > width ? own : width;
	}
	return width;
}

static void print_matrix(const double *matrix, uint64_t classes, const struct answers *answers)
{
	const int first = widest(answers, classes);
	char text[ANSWER_CLASS_BYTES];

	printf("\nconfusion matrix: one row per label, one column per prediction\n%*s", first, "");
	for (uint64_t i = 0; i < classes; i++) {
		const char *name = answer_class_text(answers, i, text);

		putchar(' ');
		print_name(name, width_of(name));
	}
	for (uint64_t label = 0; label < classes; label++) {
		putchar('\n');
		print_name(answer_class_text(answers, label, text), -first);
		for (uint64_t i = 0; i < classes; i++)
			printf(" %*.10g", width_of(answer_class_text(answers, i, text)),
			       matrix[label * classes + i]);
	}
	putchar('\n');
}

static void print_class(const char *name, int width, const struct run_confusion_class *figures)
{
	print_name(name, -width);
	printf(" %9.10g %10.6f %10.6f %10.6f\n", figures->rows, figures->precision, figures->recall,
	       figures->f1);
}

static void print_classes(const struct metrics *metrics, uint64_t classes, const struct answers *answers)
{
	const struct run_confusion_class mean = metrics_class_mean(metrics);
	const int names = widest(answers, classes), least = (int)strlen(MEAN_NAME),
		  width = names > least ? names : least;
	char text[ANSWER_CLASS_BYTES];

	printf("\n%-*s %9s %10s %10s %10s\n", width, "class", "rows", "precision", "recall", "f1");
	for (uint64_t i = 0; i < classes; i++) {
		const struct run_confusion_class figures = metrics_class_of(metrics, i);

		print_class(answer_class_text(answers, i, text), width, &figures);
	}
	print_class(MEAN_NAME, width, &mean);
}

void confusion_print(const struct metrics *metrics, const struct answers *answers)
{
	uint64_t classes;
	const double *matrix = metrics_confusion(metrics, &classes);

	if (!matrix)
		return;
	if (classes <= MATRIX_CLASSES_MAX)
		print_matrix(matrix, classes, answers);
	print_classes(metrics, classes, answers);
}

/* ---- For programs ---- */

static void add_figures(cJSON *object, const struct run_confusion_class *figures)
{
	cJSON_AddNumberToObject(object, "rows", figures->rows);
	cJSON_AddNumberToObject(object, "precision", figures->precision);
	cJSON_AddNumberToObject(object, "recall", figures->recall);
	cJSON_AddNumberToObject(object, "f1", figures->f1);
}

static void add_matrix(const double *matrix, uint64_t classes, cJSON *object)
{
	cJSON *rows = cJSON_AddArrayToObject(object, "confusion");

	for (uint64_t label = 0; label < classes; label++) {
		cJSON *row = cJSON_CreateArray();

		for (uint64_t i = 0; i < classes; i++)
			cJSON_AddItemToArray(row, cJSON_CreateNumber(matrix[label * classes + i]));
		cJSON_AddItemToArray(rows, row);
	}
}

void confusion_json(const struct metrics *metrics, const struct answers *answers, cJSON *object)
{
	uint64_t classes;
	const double *matrix = metrics_confusion(metrics, &classes);
	char number[ANSWER_NUMBER_BYTES];
	struct run_confusion_class figures;
	cJSON *list, *item;

	if (!matrix)
		return;
	add_matrix(matrix, classes, object);
	list = cJSON_AddArrayToObject(object, "classes");
	for (uint64_t i = 0; i < classes; i++) {
		figures = metrics_class_of(metrics, i);
		item = cJSON_CreateObject();
		json_add_u64(item, "class", i);
		cJSON_AddStringToObject(item, "label", answer_class(answers, i, number));
		add_figures(item, &figures);
		cJSON_AddItemToArray(list, item);
	}
	figures = metrics_class_mean(metrics);
	add_figures(cJSON_AddObjectToObject(object, "macro_average"), &figures);
}
