/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text encoder: a text becomes `dims` floats. Words and runs of two and three of them (presence, not
 * count) carry a weight that was fitted on labelled texts; weights are summed in hashed buckets and divided
 * by the root of their number.
 *
 *   weight = log-count ratio of Naive Bayes x weight of a logistic regression on features scaled by that
 * ratio (Wang and Manning, "Baselines and Bigrams", ACL 2012, with logistic loss) two classes: one weight a
 * feature, all buckets; K classes: one-versus-rest, dims / K buckets a class
 *
 * Fitting gives the training texts vectors from weights fitted on the other folds: in-fold ones look better
 * than they are. Pure functions on bytes; the same bits for the same input whatever the number of threads.
 * Texts are UTF-8; ASCII is lower-cased, other letters are kept as they are, HTML line breaks are white
 * space.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define TEXT_DIMS_MAX    65536u
#define TEXT_CLASSES_MAX 1024u
#define TEXT_CLASS_BYTES 128u

struct text_encoder;

/* From a file's bytes, which are input: all of it is checked. The encoder keeps a copy.
 * Errors: -EBADMSG not an encoder, or damaged. */
MUST_CHECK int text_encoder_load(const void *data, uint64_t bytes, struct text_encoder **ret_encoder,
				 struct error *err);
void text_encoder_free(struct text_encoder *encoder);
void text_encoder_freep(struct text_encoder **encoder);

/* The file's bytes, the encoder's. */
const void *text_encoder_bytes(const struct text_encoder *encoder, uint64_t *ret_bytes);

uint32_t text_encoder_dims(const struct text_encoder *encoder);
uint32_t text_encoder_classes(const struct text_encoder *encoder);
const char *text_encoder_class(const struct text_encoder *encoder, uint32_t index);

/* One text; any thread. Errors: -ENOMEM. */
MUST_CHECK int text_encode(const struct text_encoder *encoder, const char *text, uint64_t bytes,
			   float *ret_vector, struct error *err);

/* ---- Fitting ---- */

struct text_corpus {
	uint32_t rows, classes;
	const char *const *text;
	const uint64_t *bytes;
	const uint32_t *label; /* 0 .. classes-1 */
	const char *const *class_name;
};

/* Runs job(context, 0 .. jobs-1), on as many threads as the caller likes, and returns when all are done. */
typedef void text_parallel(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs);

struct text_fit_report {
	uint32_t features;
	double fold_accuracy; /* of the linear scores, each text by weights that have not seen it */
};

/* Fits an encoder and the training texts' own vectors, rows x dims, malloc'ed.
 * Errors: -EINVAL fewer texts than folds, a class without texts; -ENOMEM. */
MUST_CHECK int text_fit(const struct text_corpus *corpus, uint32_t dims, text_parallel *parallel,
			struct text_encoder **ret_encoder, float **ret_vectors,
			struct text_fit_report *ret_report, struct error *err);
