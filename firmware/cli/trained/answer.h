/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the outputs of a network as answers. There are three kinds of networks: a classifier has one
 * probability for each class; a regression has numbers; and a network with one output between 0 and 1 has two
 * classes, and chooses the second class for an output above 0.5, as Keras's accuracy does.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"
#include "data/text.h"

struct answers {
	uint64_t outputs;
	bool numbers;         /* the network is a regression: its outputs are numbers, not classes */
	const cJSON *dataset; /* dataset.json, with the names of the classes; NULL: the model has no
				 dataset.json */
	const struct text_encoder *encoder; /* has the names where dataset.json has none; NULL: no encoder */
};

#define ANSWER_NUMBER_BYTES 24u
#define ANSWER_TOP_MAX      16u

/* Chooses the kind by the loss function of the configuration. */
struct answers answers_of(const struct config *config, uint64_t outputs);

/* Returns the name of a class: from dataset.json, or else from the encoder, or else the number as text, which
 * is written to `number`. "neg" and "pos" of film reviews become "negative" and "positive". */
const char *answer_class(const struct answers *answers, uint64_t class,
			 char number[static ANSWER_NUMBER_BYTES]);

#define ANSWER_CLASS_BYTES 512u
/* Writes the name of a class as text may show it (core/base/visible.h), cut to ANSWER_CLASS_BYTES. Returns
 * `out`. */
const char *answer_class_text(const struct answers *answers, uint64_t class,
			      char out[static ANSWER_CLASS_BYTES]);

/* Prints one line: the class, its probability and the visible form of the text `what`; for a regression the
 * numbers and `what`. Errors: -EDOM an output is not a finite number; then it prints nothing. */
MUST_CHECK int answer_print(const struct answers *answers, const float *output, const char *what,
			    struct error *err);
/* Prints one line: the visible form of `what`, and the classes with the largest probabilities, at most
 * `most`, the largest first; for a regression its numbers. Errors: as for answer_print(). */
MUST_CHECK int answer_print_top(const struct answers *answers, const float *output, uint64_t most,
				const char *what, struct error *err);
/* Adds the member "top": [{label, probability}, ...], as answer_print_top(); nothing for a regression. */
void answer_top_json(const struct answers *answers, const float *output, uint64_t most, cJSON *object);
/* Adds the answer to a JSON object. For classes: the members class, label, probability, and probabilities
 * {label: probability}. For a regression: value, or values for several outputs. Errors: -EDOM an output is
 * not a finite number. */
MUST_CHECK int answer_json(const struct answers *answers, const float *output, cJSON *object,
			   struct error *err);
