/* SPDX-License-Identifier: Apache-2.0 */
/* The state of `kiln predict`. predict_texts.c turns texts into vectors or tokens and predicts them;
 * verbs/predict.c has everything else. */
#pragma once

#include "cli/prep/encode.h"
#include "cli/trained/answer.h"
#include "cli/trained/records.h"
#include "data/text.h"
#include "data/vocabulary.h"

struct predict {
	struct trained trained;
	const char *encoder_name;
	struct records_source source;
	bool reads_tokens;

	struct text_encoder *encoder;  /* NULL where a program encodes the texts (--encoder exec:PROGRAM), or
					  where `vocabulary` is used */
	struct vocabulary *vocabulary; /* not NULL: texts are turned into tokens */
	cJSON *dataset;                /* dataset.json; NULL: the model's folder has none */
	uint32_t rows, capacity;
	struct encode_text *text; /* owned */
	uint64_t dims;            /* length of a vector, or largest count of tokens in a text */
	struct answers answers;
};

/* Opens the encoder or the vocabulary that the network's input needs. Errors: those of a store; -EINVAL the
 * network's input cannot be made from texts. */
MUST_CHECK int predict_open_texts(struct predict *predict, struct error *err);
MUST_CHECK int predict_add_text(struct predict *predict, const char *text, size_t bytes, struct error *err);
/* Predicts the texts that were added, and prints one answer for each. */
MUST_CHECK int predict_texts(const struct predict *predict, struct error *err);
void predict_texts_done(struct predict *predict);
