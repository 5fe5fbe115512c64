/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that a classifier gets most wrong: those whose own class has the smallest probability.
 *
 * Order: worst_open -> worst_add for each batch -> worst_print or worst_json -> worst_done. Memory: a row for
 * each record that is kept. Keys stay those of struct records, which must live as long.
 */
#pragma once

#include "cli/trained/answer.h"
#include "model/learn/metrics.h"
#include "trained/records.h"

#define WORST_MAX 100000u

struct worst_row {
	struct records_origin origin;
	uint64_t label, predicted;
	double label_probability, probability; /* probability of the label's class, and of the predicted
						one */
};

struct worst {
	struct metrics_shape shape;
	uint32_t count, max;
	struct worst_row *row; /* most wrong first */
};

/* Errors: -EINVAL the network has no classes; -ENOMEM. */
MUST_CHECK int worst_open(const struct metrics_shape *shape, uint64_t max, struct worst *ret_worst,
			  struct error *err);
void worst_add(struct worst *worst, const struct metrics_batch *batch, const struct records *records);
void worst_print(const struct worst *worst, const struct answers *answers);
/* Adds the member "worst". */
void worst_json(const struct worst *worst, const struct answers *answers, cJSON *object);
void worst_done(struct worst *worst);
