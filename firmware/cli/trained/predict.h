/* SPDX-License-Identifier: Apache-2.0 */
/* The state of `kiln predict`. Texts become vectors or tokens in predict_texts.c; the rest is
 * verbs/predict.c. */
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

	struct text_encoder *encoder;  /* NULL with --encoder exec:PROGRAM or with a vocabulary */
	struct vocabulary *vocabulary; /* not NULL: texts become tokens */
	cJSON *dataset;                /* dataset.json; NULL: none beside the model */
	uint32_t rows, capacity;
	struct encode_text *text; /* owned */
	uint64_t dims;            /* size of a vector, or the largest count of tokens of a text */
	struct answers answers;
};

/* Opens the encoder or the vocabulary that the network's input needs. Errors: those of a store; -EINVAL the
 * network's input is not made of texts. */
MUST_CHECK int predict_open_texts(struct predict *predict, struct error *err);
MUST_CHECK int predict_add_text(struct predict *predict, const char *text, size_t bytes, struct error *err);
/* Prints the answer to each text. */
MUST_CHECK int predict_texts(const struct predict *predict, struct error *err);
void predict_texts_done(struct predict *predict);
