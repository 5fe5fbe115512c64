/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text encoder: turns a text into a vector of `dims` floats, for a small network to learn from.
 *
 * The features of a text are its words and its runs of two and three neighbouring words; only presence
 * counts. Each feature has a weight, fitted on labelled texts. The weights of a text's features are summed in
 * hashed buckets and divided by the square root of their number.
 *
 * A weight is the log-count ratio of Naive Bayes, times the weight of a logistic regression on features that
 * are scaled by that ratio (Wang and Manning, "Baselines and Bigrams", ACL 2012, with logistic loss). With 2
 * classes each feature has one weight, and all buckets serve it. With K classes each feature has K weights,
 * each class against the rest, and each class has dims / K buckets.
 *
 * Why folds: weights know the labels of the texts that they were fitted on, so vectors of these same texts
 * look better than vectors of new texts, and the network would trust them too much. text_fit() therefore
 * divides the training texts into folds and computes the vectors of a fold from weights fitted on the other
 * folds. The encoder itself has weights fitted on all texts.
 *
 * Texts are UTF-8. ASCII letters are lower-cased, other letters stay as they are, HTML line breaks count as
 * white space. Pure functions on bytes; the result has the same bits with any number of threads.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define TEXT_DIMS_MAX    65536u
#define TEXT_CLASSES_MAX 1024u
#define TEXT_CLASS_BYTES 128u

struct text_encoder;

/* Makes an encoder from a file's bytes, which are input and checked as a whole. Copies the bytes.
 * Errors: -EBADMSG not an encoder, or damaged; -ENOMEM. */
MUST_CHECK int text_encoder_load(const void *data, uint64_t bytes, struct text_encoder **ret_encoder,
				 struct error *err);
void text_encoder_free(struct text_encoder *encoder);
void text_encoder_freep(struct text_encoder **encoder);

/* Returns the file's bytes; the encoder owns them. */
const void *text_encoder_bytes(const struct text_encoder *encoder, uint64_t *ret_bytes);

uint32_t text_encoder_dims(const struct text_encoder *encoder);
uint32_t text_encoder_classes(const struct text_encoder *encoder);
const char *text_encoder_class(const struct text_encoder *encoder, uint32_t index);

/* Encodes one text into `dims` floats; any thread. Errors: -ENOMEM. */
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
	double fold_accuracy; /* part of the texts that weights from the other folds classify right */
};

/* Fits an encoder. *ret_vectors are the training texts' vectors, rows x dims, malloc'ed.
 * Errors: -EINVAL the number of classes or dims is not allowed, or a class has too few texts; -ENOMEM. */
MUST_CHECK int text_fit(const struct text_corpus *corpus, uint32_t dims, text_parallel *parallel,
			struct text_encoder **ret_encoder, float **ret_vectors,
			struct text_fit_report *ret_report, struct error *err);
