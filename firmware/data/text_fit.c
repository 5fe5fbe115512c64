/* SPDX-License-Identifier: Apache-2.0 */
#include "data/crc32c.h"
#include "data/text.h"
#include "data/text_file.h"
#include "data/text_regress.h"
#include "data/text_tokens.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define COUNT_MIN 3u /* a feature must occur in so many texts */
#define VECTOR_RMS \
	0.1 /* root mean square of the training vectors: with more, a network overfits in two epochs */
#define CHUNK_ROWS 256u

/* State that all jobs of a fit share. Jobs write to different elements, so they need no lock. */
struct fit {
	const struct text_corpus *corpus;
	uint32_t dims, columns, features;
	uint64_t **row_feature; /* per text: sorted hashes, until index_rows() frees them */
	uint32_t **row_index;   /* per text: indices in `feature`, made by index_rows() */
	uint64_t *row_count;
	uint64_t *feature;
	float *weight; /* [TEXT_FOLDS + 1][features * columns]: [f] fitted without fold f, the last on all */
	float *bias;   /* [TEXT_FOLDS + 1][columns] */
	float *vectors;
	uint8_t *right; /* per text: weights from the other folds classify it right */
	bool failed;
};

/* ---- Features ---- */

static uint32_t chunks(const struct fit *fit)
{
	return (fit->corpus->rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
}

static uint32_t chunk_end(const struct fit *fit, uint32_t chunk)
{
	uint32_t end = (chunk + 1) * CHUNK_ROWS;

	return end < fit->corpus->rows ? end : fit->corpus->rows;
}

static void tokenize(void *context, uint32_t chunk)
{
	struct fit *fit = context;

	for (uint32_t row = chunk * CHUNK_ROWS; row < chunk_end(fit, chunk); row++) {
		int64_t count = text_features(fit->corpus->text[row], fit->corpus->bytes[row],
					      &fit->row_feature[row]);

		if (count < 0)
			__atomic_store_n(&fit->failed, true, __ATOMIC_RELAXED);
		else
			fit->row_count[row] = (uint64_t)count;
	}
}

/* Sorts by digits of 16 bits, the least significant digit first. */
static bool radix_sort(uint64_t *keys, uint64_t count)
{
	CLEANUP(free_ptr) uint64_t *other = malloc((count + 1) * sizeof(*other));
	CLEANUP(free_ptr) uint64_t *start = malloc(65536 * sizeof(*start));

	if (!other || !start)
		return false;
	for (unsigned shift = 0; shift < 64; shift += 16) {
		uint64_t sum = 0;

		memset(start, 0, 65536 * sizeof(*start));
		for (uint64_t i = 0; i < count; i++)
			start[(keys[i] >> shift) & 0xffff]++;
		for (uint32_t d = 0; d < 65536; d++) {
			uint64_t n = start[d];

			start[d] = sum;
			sum += n;
		}
		for (uint64_t i = 0; i < count; i++)
			other[start[(keys[i] >> shift) & 0xffff]++] = keys[i];
		memcpy(keys, other, count * sizeof(*keys));
	}
	return true;
}

/* Makes the sorted list of the features that occur in COUNT_MIN texts or more. */
static int make_vocabulary(struct fit *fit, struct error *err)
{
	uint64_t total = 0, used = 0, frequent = 0, *all;

	for (uint32_t row = 0; row < fit->corpus->rows; row++)
		total += fit->row_count[row];
	all = malloc((total + 1) * sizeof(*all));
	if (!all)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " features", total);
	for (uint32_t row = 0; row < fit->corpus->rows; row++) {
		memcpy(all + used, fit->row_feature[row], fit->row_count[row] * sizeof(*all));
		used += fit->row_count[row];
	}
	fit->feature = all;
	if (!radix_sort(all, total))
		return error_set(err, -ENOMEM, "no memory to sort %" PRIu64 " features", total);
	for (uint64_t i = 0, run; i < total; i += run) {
		for (run = 1; i + run < total && all[i + run] == all[i]; run++)
			;
		if (run >= COUNT_MIN)
			all[frequent++] = all[i];
	}
	if (frequent == 0 || frequent > UINT32_MAX / 2)
		return error_set(err, -EINVAL,
				 "%" PRIu64
				 " words or pairs occur in %u texts or more, at least one is needed",
				 frequent, COUNT_MIN);
	fit->features = (uint32_t)frequent;
	return 0;
}

/* Replaces each text's hashes by indices in `feature`; drops hashes that are not in it. Both lists are
 * sorted, so each search begins where the last one ended. */
static void index_rows(void *context, uint32_t chunk)
{
	struct fit *fit = context;

	for (uint32_t row = chunk * CHUNK_ROWS; row < chunk_end(fit, chunk); row++) {
		uint64_t *feature = fit->row_feature[row], known = 0;
		uint32_t *index = malloc((fit->row_count[row] + 1) * sizeof(*index)), low = 0;

		for (uint64_t i = 0; index && i < fit->row_count[row]; i++) {
			uint32_t high = fit->features;

			while (low < high) {
				uint32_t middle = low + (high - low) / 2;

				if (fit->feature[middle] < feature[i])
					low = middle + 1;
				else
					high = middle;
			}
			if (low < fit->features && fit->feature[low] == feature[i])
				index[known++] = low;
		}
		if (!index)
			__atomic_store_n(&fit->failed, true, __ATOMIC_RELAXED);
		free(feature);
		fit->row_feature[row] = NULL;
		fit->row_index[row] = index;
		fit->row_count[row] = index ? known : 0;
	}
}

/* ---- Weights ---- */

/* Fits the weights of one column without one fold; job = fold * columns + column. */
static void fit_one(void *context, uint32_t job)
{
	struct fit *fit = context;
	const struct text_sets texts = { fit->corpus->rows, fit->features, fit->corpus->label, fit->row_index,
					 fit->row_count };
	uint32_t fold = job / fit->columns, column = job % fit->columns;
	float *weight = fit->weight + (uint64_t)fold * fit->features * fit->columns + column;
	/* With two classes there is one column: positive scores mean class 1. */
	uint32_t positive = fit->columns == 1 ? 1 : column;

	if (!text_regress(&texts, fold, positive, weight, fit->columns, &fit->bias[job]))
		__atomic_store_n(&fit->failed, true, __ATOMIC_RELAXED);
}

/* ---- Vectors ---- */

static bool scored_right(const struct fit *fit, uint32_t row, const float *weight, const float *bias)
{
	uint32_t best = 0;
	double best_score = 0;

	for (uint32_t c = 0; c < fit->columns; c++) {
		double sum = bias[c];

		for (uint64_t i = 0; i < fit->row_count[row]; i++)
			sum += weight[(uint64_t)fit->row_index[row][i] * fit->columns + c];
		if (fit->columns == 1)
			return (sum > 0) == (fit->corpus->label[row] == 1);
		if (c == 0 || sum > best_score) {
			best = c;
			best_score = sum;
		}
	}
	return best == fit->corpus->label[row];
}

static void make_vectors(void *context, uint32_t chunk)
{
	struct fit *fit = context;

	for (uint32_t row = chunk * CHUNK_ROWS; row < chunk_end(fit, chunk); row++) {
		const float *weight =
			fit->weight + (uint64_t)text_fold_of(row) * fit->features * fit->columns;

		text_accumulate(fit->feature, weight, fit->columns, fit->dims, fit->row_index[row],
				fit->row_count[row], fit->vectors + (uint64_t)row * fit->dims);
		fit->right[row] =
			scored_right(fit, row, weight, fit->bias + text_fold_of(row) * fit->columns);
	}
}

/* Scales the training vectors to VECTOR_RMS and returns the factor. One thread sums in the rows' order, so
 * the factor has the same bits with any number of threads. */
static float scale_vectors(struct fit *fit)
{
	uint64_t values = (uint64_t)fit->corpus->rows * fit->dims;
	double sum = 0;
	float scale;

	for (uint64_t i = 0; i < values; i++)
		sum += (double)fit->vectors[i] * fit->vectors[i];
	scale = sum > 0 ? (float)(VECTOR_RMS / sqrt(sum / (double)values)) : 1;
	for (uint64_t i = 0; i < values; i++)
		fit->vectors[i] *= scale;
	return scale;
}

static int make_encoder(const struct fit *fit, float scale, struct text_encoder **ret_encoder,
			struct error *err)
{
	uint64_t bytes = text_file_bytes(fit->corpus->classes, fit->columns, fit->features);
	uint64_t weights = (uint64_t)fit->features * fit->columns;
	CLEANUP(free_ptr) uint8_t *data = calloc(1, bytes);
	struct text_header *header = (struct text_header *)(void *)data;
	struct text_encoder view = { .data = data };

	if (!data)
		return error_set(err, -ENOMEM, "no memory for an encoder of %" PRIu64 " bytes", bytes);
	*header = (struct text_header){ .magic = TEXT_MAGIC,
					.version = TEXT_VERSION,
					.dims = fit->dims,
					.classes = fit->corpus->classes,
					.columns = fit->columns,
					.features = fit->features,
					.scale = scale };
	text_file_map(&view);
	for (uint32_t c = 0; c < fit->corpus->classes; c++)
		(void)snprintf((char *)(uintptr_t)text_encoder_class(&view, c), TEXT_CLASS_BYTES, "%s",
			       fit->corpus->class_name[c]);
	memcpy((void *)(uintptr_t)view.feature, fit->feature, fit->features * sizeof(*view.feature));
	memcpy((void *)(uintptr_t)view.weight, fit->weight + TEXT_FOLDS * weights,
	       weights * sizeof(*view.weight));
	header->crc = crc32c(0, data + 16, bytes - 16);
	return text_encoder_load(data, bytes, ret_encoder, err);
}

/* ---- The whole fit ---- */

static int check_corpus(const struct text_corpus *corpus, uint32_t dims, struct error *err)
{
	CLEANUP(free_ptr) uint32_t *count = calloc(corpus->classes ? corpus->classes : 1, sizeof(*count));

	if (!count)
		return error_set(err, -ENOMEM, "no memory");
	if (corpus->classes < 2 || corpus->classes > TEXT_CLASSES_MAX ||
	    dims < text_columns(corpus->classes) || dims > TEXT_DIMS_MAX)
		return error_set(
			err, -EINVAL,
			"%u classes in %u dims, allowed: 2 .. %u classes, dims from their number to %u",
			corpus->classes, dims, TEXT_CLASSES_MAX, TEXT_DIMS_MAX);
	for (uint32_t row = 0; row < corpus->rows; row++)
		count[corpus->label[row]]++;
	for (uint32_t c = 0; c < corpus->classes; c++)
		if (count[c] < 2 * TEXT_FOLDS)
			return error_set(err, -EINVAL,
					 "class \"%s\" has %u training texts, at least %u are needed",
					 corpus->class_name[c], count[c], 2 * TEXT_FOLDS);
	return 0;
}

static bool reserve_rows(struct fit *fit)
{
	uint32_t rows = fit->corpus->rows;

	fit->row_feature = calloc(rows, sizeof(*fit->row_feature));
	fit->row_index = calloc(rows, sizeof(*fit->row_index));
	fit->row_count = calloc(rows, sizeof(*fit->row_count));
	fit->right = calloc(rows, sizeof(*fit->right));
	fit->vectors = malloc((uint64_t)rows * fit->dims * sizeof(*fit->vectors));
	return fit->row_feature && fit->row_index && fit->row_count && fit->right && fit->vectors;
}

static bool reserve_weights(struct fit *fit)
{
	fit->weight = calloc((uint64_t)(TEXT_FOLDS + 1) * fit->features * fit->columns, sizeof(*fit->weight));
	fit->bias = calloc((size_t)(TEXT_FOLDS + 1) * fit->columns, sizeof(*fit->bias));
	return fit->weight && fit->bias;
}

static int run(struct fit *fit, text_parallel *parallel, struct error *err)
{
	int r;

	if (!reserve_rows(fit))
		return error_set(err, -ENOMEM, "no memory for %u texts", fit->corpus->rows);
	parallel(tokenize, fit, chunks(fit));
	if (fit->failed)
		return error_set(err, -ENOMEM, "no memory for the texts' words");
	r = make_vocabulary(fit, err);
	if (r < 0)
		return r;
	parallel(index_rows, fit, chunks(fit));
	if (fit->failed || !reserve_weights(fit))
		return error_set(err, -ENOMEM, "no memory for %u features", fit->features);
	parallel(fit_one, fit, (TEXT_FOLDS + 1) * fit->columns);
	if (fit->failed)
		return error_set(err, -ENOMEM, "no memory to fit %u features", fit->features);
	parallel(make_vectors, fit, chunks(fit));
	return 0;
}

static void done(struct fit *fit)
{
	for (uint32_t row = 0; row < fit->corpus->rows; row++) {
		if (fit->row_feature)
			free(fit->row_feature[row]);
		if (fit->row_index)
			free(fit->row_index[row]);
	}
	free(fit->row_feature);
	free(fit->row_index);
	free(fit->row_count);
	free(fit->feature);
	free(fit->weight);
	free(fit->bias);
	free(fit->right);
	free(fit->vectors);
}

int text_fit(const struct text_corpus *corpus, uint32_t dims, text_parallel *parallel,
	     struct text_encoder **ret_encoder, float **ret_vectors, struct text_fit_report *ret_report,
	     struct error *err)
{
	CLEANUP(done)
	struct fit fit = { .corpus = corpus, .dims = dims, .columns = text_columns(corpus->classes) };
	int r = check_corpus(corpus, dims, err);
	uint64_t right = 0;

	if (r == 0)
		r = run(&fit, parallel, err);
	if (r == 0)
		r = make_encoder(&fit, scale_vectors(&fit), ret_encoder, err);
	if (r < 0)
		return r;
	for (uint32_t row = 0; row < corpus->rows; row++)
		right += fit.right[row];
	*ret_report = (struct text_fit_report){ fit.features, (double)right / corpus->rows };
	*ret_vectors = TAKE(fit.vectors);
	return 0;
}
