/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln predict: a verb in predict.c, texts and what makes numbers of them in predict_texts.c.
 */
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
	bool takes_tokens;

	struct text_encoder *encoder;  /* NULL with exec: or vocabulary */
	struct vocabulary *vocabulary; /* not NULL: texts become tokens */
	cJSON *dataset;                /* NULL: none beside the model */
	uint32_t rows, room;
	struct encode_text *text; /* owned */
	uint64_t dims;            /* of a vector, or the most tokens of a text */
	struct answers answers;
};

/* What turns texts into what the network takes. Errors: those of a store; -EINVAL it takes other than texts.
 */
MUST_CHECK int predict_open_texts(struct predict *predict, struct error *err);
MUST_CHECK int predict_add_text(struct predict *predict, const char *text, size_t bytes, struct error *err);
/* The answer to each of them, printed. */
MUST_CHECK int predict_texts(const struct predict *predict, struct error *err);
void predict_texts_done(struct predict *predict);
