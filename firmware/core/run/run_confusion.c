/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/run_confusion.h"

#include <stdlib.h>
#include <string.h>

/* ---- Figures ---- */

static double share(double counted, double whole)
{
	return whole != 0 ? counted / whole : 0;
}

struct run_confusion_class run_confusion_class_of(const double *matrix, uint64_t classes, uint64_t class)
{
	const double hits = matrix[class * classes + class];
	struct run_confusion_class figures = { 0 };
	double predicted = 0;

	for (uint64_t i = 0; i < classes; i++) {
		figures.rows += matrix[class * classes + i];
		predicted += matrix[i * classes + class];
	}
	figures.precision = share(hits, predicted);
	figures.recall = share(hits, figures.rows);
	figures.f1 = share(2 * hits, figures.rows + predicted);
	return figures;
}

uint32_t run_confusion_pairs(const double *matrix, uint64_t classes, uint32_t most,
			     struct run_confusion_pair *ret_pair)
{
	uint32_t count = 0;

	for (uint64_t i = 0; i < classes * classes; i++) {
		const struct run_confusion_pair pair = { i / classes, i % classes, matrix[i] };
		uint32_t at = count;

		if (pair.label == pair.prediction || !(pair.rows > 0))
			continue;
		while (at > 0 && pair.rows > ret_pair[at - 1].rows)
			at--;
		if (at == most)
			continue;
		count += count < most;
		memmove(&ret_pair[at + 1], &ret_pair[at], (count - at - 1) * sizeof(*ret_pair));
		ret_pair[at] = pair;
	}
	return count;
}

/* ---- The member of run.json ---- */

static bool add_matrix(cJSON *member, const double *matrix, uint64_t classes)
{
	cJSON *rows = cJSON_AddArrayToObject(member, "matrix");
	bool done = rows;

	for (uint64_t label = 0; done && label < classes; label++)
		done = cJSON_AddItemToArray(rows,
					    cJSON_CreateDoubleArray(matrix + label * classes, (int)classes));
	return done;
}

static bool add_pairs(cJSON *member, const double *matrix, uint64_t classes)
{
	struct run_confusion_pair pair[RUN_CONFUSION_LISTED];
	const uint32_t count = run_confusion_pairs(matrix, classes, RUN_CONFUSION_LISTED, pair);
	cJSON *list = cJSON_AddArrayToObject(member, "pairs");
	bool done = list;

	for (uint32_t i = 0; done && i < count; i++) {
		cJSON *entry = cJSON_CreateObject();

		done = cJSON_AddItemToArray(list, entry) && json_add_u64(entry, "label", pair[i].label) &&
		       json_add_u64(entry, "prediction", pair[i].prediction) &&
		       cJSON_AddNumberToObject(entry, "rows", pair[i].rows);
	}
	return done;
}

struct weak {
	uint64_t class;
	struct run_confusion_class figures;
};

/* Finds the classes with the lowest recall; returns their count. */
static uint32_t find_weakest(const double *matrix, uint64_t classes,
			     struct weak ret_weak[static RUN_CONFUSION_LISTED])
{
	uint32_t count = 0;

	for (uint64_t class = 0; class < classes; class ++) {
		const struct weak weak = { class, run_confusion_class_of(matrix, classes, class) };
		uint32_t at = count;

		if (!(weak.figures.rows > 0))
			continue;
		while (at > 0 && weak.figures.recall < ret_weak[at - 1].figures.recall)
			at--;
		if (at == RUN_CONFUSION_LISTED)
			continue;
		count += count < RUN_CONFUSION_LISTED;
		memmove(&ret_weak[at + 1], &ret_weak[at], (count - at - 1) * sizeof(*ret_weak));
		ret_weak[at] = weak;
	}
	return count;
}

static bool add_weakest(cJSON *member, const double *matrix, uint64_t classes)
{
	struct weak weak[RUN_CONFUSION_LISTED];
	const uint32_t count = find_weakest(matrix, classes, weak);
	cJSON *list = cJSON_AddArrayToObject(member, "weakest");
	bool done = list;

	for (uint32_t i = 0; done && i < count; i++) {
		cJSON *entry = cJSON_CreateObject();

		done = cJSON_AddItemToArray(list, entry) && json_add_u64(entry, "class", weak[i].class) &&
		       cJSON_AddNumberToObject(entry, "rows", weak[i].figures.rows) &&
		       cJSON_AddNumberToObject(entry, "precision", weak[i].figures.precision) &&
		       cJSON_AddNumberToObject(entry, "recall", weak[i].figures.recall);
	}
	return done;
}

cJSON *run_confusion_member(const double *matrix, uint64_t classes)
{
	CLEANUP(json_free) cJSON *member = cJSON_CreateObject();
	double rows = 0;
	bool done;

	for (uint64_t i = 0; i < classes * classes; i++)
		rows += matrix[i];
	done = json_add_u64(member, "classes", classes) && cJSON_AddNumberToObject(member, "rows", rows);
	if (classes <= RUN_CONFUSION_WHOLE)
		done = done && add_matrix(member, matrix, classes);
	else
		done = done && add_pairs(member, matrix, classes) && add_weakest(member, matrix, classes);
	return done ? TAKE(member) : NULL;
}

static bool read_row(const cJSON *row, uint64_t classes, double *ret_row)
{
	const cJSON *item;
	uint64_t i = 0;

	if (cJSON_GetArraySize(row) != (int)classes)
		return false;
	cJSON_ArrayForEach(item, row) {
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 1e15))
			return false;
		ret_row[i++] = item->valuedouble;
	}
	return true;
}

uint64_t run_confusion_matrix(const cJSON *member, double **ret_matrix)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(member, "matrix"), *row;
	const uint64_t classes = cJSON_IsArray(rows) ? (uint64_t)cJSON_GetArraySize(rows) : 0;
	CLEANUP(free_ptr) double *matrix = NULL;
	uint64_t i = 0;

	if (classes < 2 || classes > RUN_CONFUSION_WHOLE)
		return 0;
	matrix = calloc(classes * classes, sizeof(*matrix));
	if (!matrix)
		return 0;
	cJSON_ArrayForEach(row, rows)
		if (!cJSON_IsArray(row) || !read_row(row, classes, matrix + classes * i++))
			return 0;
	*ret_matrix = TAKE(matrix);
	return classes;
}
