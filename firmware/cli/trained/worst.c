/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/worst.h"

#include "core/base/visible.h"

#include <inttypes.h>
#include <string.h>

int worst_open(const struct metrics_shape *shape, uint64_t max, struct worst *ret_worst, struct error *err)
{
	if (shape->kind != METRICS_CLASSES)
		return error_set(err, -EINVAL,
				 "--worst: found a network without classes, expected a classifier");
	*ret_worst = (struct worst){ .shape = *shape,
				     .max = (uint32_t)max,
				     .row = calloc(max + 1, sizeof(struct worst_row)) };
	return ret_worst->row ? 0 : error_set(err, -ENOMEM, "no memory for %" PRIu64 " records", max);
}

void worst_done(struct worst *worst)
{
	free(worst->row);
}

/* Returns the class of a row's label: a number, or the largest element of a one-hot row. */
static uint64_t class_of(const struct worst *worst, const struct metrics_batch *batch, uint64_t row)
{
	const uint64_t elements = worst->shape.label_elements;
	uint64_t best = 0;

	if (elements == 1)
		return (uint64_t)metrics_label_at(&worst->shape, batch, row);
	for (uint64_t i = 1; i < elements; i++)
		if (metrics_label_at(&worst->shape, batch, row * elements + i) >
		    metrics_label_at(&worst->shape, batch, row * elements + best))
			best = i;
	return best;
}

/* A network with one output gives the probability of the class 1. */
static double probability_of(const struct worst *worst, const float *output, uint64_t class)
{
	if (worst->shape.outputs == 1)
		return class ? (double)*output : 1 - (double)*output;
	return (double)output[class];
}

static void keep(struct worst *worst, const struct worst_row *row)
{
	uint32_t at = worst->count;

	while (at > 0 && worst->row[at - 1].label_probability > row->label_probability)
		at--;
	if (at == worst->max)
		return;
	worst->count += worst->count < worst->max;
	memmove(&worst->row[at + 1], &worst->row[at], (worst->count - at - 1) * sizeof(*row));
	worst->row[at] = *row;
}

void worst_add(struct worst *worst, const struct metrics_batch *batch, const struct records *records)
{
	const uint64_t outputs = worst->shape.outputs, classes = outputs == 1 ? 2 : outputs;

	for (uint64_t i = 0; i < batch->rows; i++) {
		const float *output = batch->prediction + i * outputs;
		struct worst_row row = { .origin = records_origin(records, (uint32_t)i),
					 .label = class_of(worst, batch, i) };

		for (uint64_t class = 1; class < classes; class ++)
			if (probability_of(worst, output, class) >
			    probability_of(worst, output, row.predicted))
				row.predicted = class;
		row.label_probability = probability_of(worst, output, row.label);
		row.probability = probability_of(worst, output, row.predicted);
		keep(worst, &row);
	}
}

void worst_print(const struct worst *worst, const struct answers *answers)
{
	char label[ANSWER_CLASS_BYTES], predicted[ANSWER_CLASS_BYTES];

	printf("\nmost wrong: probability of the label's class, label, predicted class, its probability, "
	       "record\n");
	for (uint32_t i = 0; i < worst->count; i++) {
		const struct worst_row *row = &worst->row[i];

		printf("%.6f  %-12s %-12s %.6f  ", row->label_probability,
		       answer_class_text(answers, row->label, label),
		       answer_class_text(answers, row->predicted, predicted), row->probability);
		visible_print(row->origin.key ? row->origin.key : "line ", stdout);
		printf("%s%" PRIu64 "\n", row->origin.key ? ": record " : "", row->origin.record);
	}
}

void worst_json(const struct worst *worst, const struct answers *answers, cJSON *object)
{
	cJSON *list = cJSON_AddArrayToObject(object, "worst");
	char number[ANSWER_NUMBER_BYTES];

	for (uint32_t i = 0; i < worst->count; i++) {
		const struct worst_row *row = &worst->row[i];
		cJSON *item = cJSON_CreateObject();

		if (row->origin.key)
			cJSON_AddItemToObject(item, "shard", json_string(row->origin.key));
		json_add_u64(item, row->origin.key ? "record" : "line", row->origin.record);
		cJSON_AddStringToObject(item, "label", answer_class(answers, row->label, number));
		cJSON_AddNumberToObject(item, "label_probability", row->label_probability);
		cJSON_AddStringToObject(item, "predicted", answer_class(answers, row->predicted, number));
		cJSON_AddNumberToObject(item, "probability", row->probability);
		cJSON_AddItemToArray(list, item);
	}
}
