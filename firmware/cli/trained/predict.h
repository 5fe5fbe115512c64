/* SPDX-License-Identifier: Apache-2.0 */
/* The state of `kiln predict`. predict_texts.c turns texts into vectors or tokens and predicts them,
 * predict_pictures.c decodes picture files; verbs/predict.c has everything else. */
#pragma once

#include "cli/prep/encode_bert.h"
#include "cli/trained/answer.h"
#include "data/example.h"
#include "data/text.h"
#include "data/tokenizer/tokenizer.h"
#include "data/vocabulary.h"
#include "trained/records.h"

struct predict {
	struct trained trained;
	bool json;
	const char *encoder_name;
	struct records_source source;
	bool reads_tokens;
	struct example_feature padded; /* the feature of tokens, where each text has `dims` of them; no name:
					  the feature is ragged */

	struct text_encoder *encoder;  /* NULL where a program or a BERT encodes the texts (--encoder
					  exec:PROGRAM, bert:DIR), or where texts are turned into tokens */
	struct bert_encoder *bert;     /* NULL without --encoder bert:DIR */
	struct vocabulary *vocabulary; /* one of both is not NULL: it turns texts into tokens */
	struct tokenizer *tokenizer;
	cJSON *dataset; /* dataset.json; NULL: the model's folder has none */
	uint32_t rows, capacity;
	struct encode_text *text; /* owned */
	uint64_t dims;            /* length of a vector, or largest count of tokens of a text */
	struct answers answers;
};

/* Opens the encoder or the vocabulary that the network's input needs. Errors: those of a store; -EINVAL the
 * network's input cannot be made from texts. */
MUST_CHECK int predict_open_texts(struct predict *predict, struct error *err);
MUST_CHECK int predict_add_text(struct predict *predict, const char *text, size_t bytes, struct error *err);
/* Predicts the texts that were added, and prints one answer for each. */
MUST_CHECK int predict_texts(const struct predict *predict, struct error *err);
void predict_texts_done(struct predict *predict);

/* Tells whether the network's only input is a feature of dtype "picture", or pixels: uint8 of three
 * dimensions. */
bool predict_reads_pictures(const struct predict *predict);
/* Predicts files, the files below folders, and objects, and prints an answer for each. Pixels are made as
 * `kiln prep --raw` made them. A file that is no
 * picture is named on standard error and left out. Errors: -EBADMSG there was one, after the answers for the
 * others; -EINVAL dataset.json does not say how pixels are made; those of model_predict(). */
MUST_CHECK int predict_pictures(const struct predict *predict, int names, char **name, struct error *err);
