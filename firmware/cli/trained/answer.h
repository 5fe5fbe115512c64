/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network's outputs for people. Three kinds: classes with their probabilities; the numbers of a regression;
 * and one output between 0 and 1, which is two classes: above 0.5 it is the second, as in Keras's accuracy.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"
#include "data/text.h"

struct answers {
	uint64_t outputs;
	bool numbers;                       /* a regression: no classes */
	const cJSON *dataset;               /* dataset.json with the names of the classes; NULL: none */
	const struct text_encoder *encoder; /* has the names where dataset.json has none; NULL: none */
};

/* Tells the kind by the loss that the network was trained with. */
struct answers answers_of(const struct config *config, uint64_t outputs);

/* Prints one line: the class, its probability and `what`; or the numbers and `what`. */
void answer_print(const struct answers *answers, const float *output, const char *what);
/* Adds class, label, probability and probabilities {label: probability}; or value, or values, of a
 * regression. Errors: -EDOM an output is not a finite number. */
MUST_CHECK int answer_json(const struct answers *answers, const float *output, cJSON *object,
			   struct error *err);
