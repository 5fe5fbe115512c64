/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a network's outputs say: classes with their probabilities, the numbers of a regression, or, of one
 * output between 0 and 1, two classes of which the second begins above 0.5, as Keras's accuracy has it.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"
#include "data/text.h"

struct answers {
	uint64_t outputs;
	bool numbers;                       /* of a regression: there are no classes */
	const cJSON *dataset;               /* dataset.json, whose `classes` are names; NULL: none */
	const struct text_encoder *encoder; /* that has names, else; NULL: none */
};

/* By the loss that it was trained with. */
struct answers answers_of(const struct config *config, uint64_t outputs);

/* One line: the class, its probability, `what`; or the numbers and `what`. */
void answer_print(const struct answers *answers, const float *output, const char *what);
/* Members class, label, probability, probabilities {label: probability}; or value, or values. Errors: -EDOM
 * an output is no number. */
MUST_CHECK int answer_json(const struct answers *answers, const float *output, cJSON *object,
			   struct error *err);
