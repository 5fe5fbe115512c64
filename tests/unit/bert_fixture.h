/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small BERT of random numbers: its tensors with the names and layouts of Hugging Face, and the vectors
 * that it makes of ids, computed in float64 from these tensors alone, as the paper and Hugging Face's code
 * say.
 */
#pragma once

#include "core/config/config.h"
#include "model/formats/model_tensor.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BERT_TENSORS_MAX 128u
#define BERT_HIDDEN      16u
#define BERT_LAYERS      2u
#define BERT_HEADS       4u
#define BERT_INNER       40u
#define BERT_VOCABULARY  60u
#define BERT_POSITIONS   12u
#define BERT_TYPES_COUNT 2u
#define BERT_EPSILON     1e-12

static const struct config_bert bert_small = {
	.hidden_size = BERT_HIDDEN,
	.num_hidden_layers = BERT_LAYERS,
	.num_attention_heads = BERT_HEADS,
	.intermediate_size = BERT_INNER,
	.vocab_size = BERT_VOCABULARY,
	.max_position_embeddings = BERT_POSITIONS,
	.layer_norm_eps = BERT_EPSILON,
	.hidden_dropout_prob = 0.1,
	.attention_probs_dropout_prob = 0.1,
};

struct bert_fixture {
	struct model_tensor tensor[BERT_TENSORS_MAX];
	char name[BERT_TENSORS_MAX][128];
	uint32_t count;
	uint64_t state; /* of the random numbers */
};

/* Returns a number of -1 .. 1. */
static double bert_random(struct bert_fixture *fixture)
{
	fixture->state = fixture->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(fixture->state >> 40) / (double)(1u << 23) - 1;
}

/* Adds a tensor of random numbers around `middle`; `columns` 0: it has one dimension. */
__attribute__((format(printf, 6, 7))) static void bert_add(struct bert_fixture *fixture, uint64_t rows,
							   uint64_t columns, double middle, double width,
							   const char *format, ...)
{
	const uint64_t count = rows * (columns ? columns : 1);
	struct model_tensor *tensor = &fixture->tensor[fixture->count];
	float *numbers = malloc(count * sizeof(*numbers));
	va_list arguments;

	if (!numbers || fixture->count == BERT_TENSORS_MAX)
		abort();
	va_start(arguments, format);
	(void)vsnprintf(fixture->name[fixture->count], sizeof(fixture->name[0]), format, arguments);
	va_end(arguments);
	for (uint64_t i = 0; i < count; i++)
		numbers[i] = (float)(middle + width * bert_random(fixture));
	*tensor = (struct model_tensor){ .name = fixture->name[fixture->count++],
					 .dtype = "F32",
					 .rank = columns ? 2 : 1,
					 .shape = { rows, columns },
					 .data = numbers,
					 .bytes = count * sizeof(*numbers) };
}

static void bert_add_dense(struct bert_fixture *fixture, const char *module, uint64_t out, uint64_t in)
{
	bert_add(fixture, out, in, 0, 0.4, "%s.weight", module);
	bert_add(fixture, out, 0, 0, 0.2, "%s.bias", module);
}

static void bert_add_norm(struct bert_fixture *fixture, const char *module)
{
	bert_add(fixture, BERT_HIDDEN, 0, 1, 0.3, "%s.weight", module);
	bert_add(fixture, BERT_HIDDEN, 0, 0, 0.2, "%s.bias", module);
}

static void bert_add_layer(struct bert_fixture *fixture, unsigned layer)
{
	static const struct {
		const char *module;
		uint64_t out, in;
	} denses[] = { { "attention.self.query", BERT_HIDDEN, BERT_HIDDEN },
		       { "attention.self.key", BERT_HIDDEN, BERT_HIDDEN },
		       { "attention.self.value", BERT_HIDDEN, BERT_HIDDEN },
		       { "attention.output.dense", BERT_HIDDEN, BERT_HIDDEN },
		       { "intermediate.dense", BERT_INNER, BERT_HIDDEN },
		       { "output.dense", BERT_HIDDEN, BERT_INNER } };
	char module[96];

	for (size_t i = 0; i < sizeof(denses) / sizeof(*denses); i++) {
		(void)snprintf(module, sizeof(module), "encoder.layer.%u.%s", layer, denses[i].module);
		bert_add_dense(fixture, module, denses[i].out, denses[i].in);
	}
	(void)snprintf(module, sizeof(module), "encoder.layer.%u.attention.output.LayerNorm", layer);
	bert_add_norm(fixture, module);
	(void)snprintf(module, sizeof(module), "encoder.layer.%u.output.LayerNorm", layer);
	bert_add_norm(fixture, module);
}

static void bert_open(struct bert_fixture *fixture)
{
	*fixture = (struct bert_fixture){ .state = 44 };
	bert_add(fixture, BERT_VOCABULARY, BERT_HIDDEN, 0, 1, "embeddings.word_embeddings.weight");
	bert_add(fixture, BERT_POSITIONS, BERT_HIDDEN, 0, 1, "embeddings.position_embeddings.weight");
	bert_add(fixture, BERT_TYPES_COUNT, BERT_HIDDEN, 0, 1, "embeddings.token_type_embeddings.weight");
	bert_add_norm(fixture, "embeddings.LayerNorm");
	for (unsigned layer = 0; layer < BERT_LAYERS; layer++)
		bert_add_layer(fixture, layer);
	bert_add_dense(fixture, "pooler.dense", BERT_HIDDEN, BERT_HIDDEN);
}

static void bert_close(struct bert_fixture *fixture)
{
	for (uint32_t i = 0; i < fixture->count; i++)
		free((void *)(uintptr_t)fixture->tensor[i].data);
}

/* ---- In float64 ---- */

__attribute__((format(printf, 2, 3))) static const float *bert_numbers(const struct bert_fixture *fixture,
								       const char *format, ...)
{
	char name[128];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	for (uint32_t i = 0; i < fixture->count; i++)
		if (!strcmp(fixture->name[i], name))
			return fixture->tensor[i].data;
	(void)fprintf(stderr, "no tensor %s\n", name);
	abort();
}

/* y [steps, out] = x [steps, in] times the module's weight, plus its bias. */
static void bert_dense(const struct bert_fixture *fixture, unsigned layer, const char *module,
		       const double *x, uint64_t steps, uint64_t in, uint64_t out, double *y)
{
	const float *weight = bert_numbers(fixture, "encoder.layer.%u.%s.weight", layer, module),
		    *bias = bert_numbers(fixture, "encoder.layer.%u.%s.bias", layer, module);

	for (uint64_t t = 0; t < steps; t++)
		for (uint64_t o = 0; o < out; o++) {
			double sum = (double)bias[o];

			for (uint64_t i = 0; i < in; i++)
				sum += x[t * in + i] * (double)weight[o * in + i];
			y[t * out + o] = sum;
		}
}

static void bert_norm(const float *weight, const float *bias, double *x, uint64_t steps)
{
	for (uint64_t t = 0; t < steps; t++, x += BERT_HIDDEN) {
		double mean = 0, variance = 0;

		for (uint32_t i = 0; i < BERT_HIDDEN; i++)
			mean += x[i] / BERT_HIDDEN;
		for (uint32_t i = 0; i < BERT_HIDDEN; i++)
			variance += (x[i] - mean) * (x[i] - mean) / BERT_HIDDEN;
		for (uint32_t i = 0; i < BERT_HIDDEN; i++)
			x[i] = (x[i] - mean) / sqrt(variance + BERT_EPSILON) * (double)weight[i] +
			       (double)bias[i];
	}
}

/* Adds what the layer's module makes of `x`, and norms the sum. */
static void bert_add_and_norm(const struct bert_fixture *fixture, unsigned layer, const char *module,
			      const double *more, double *x, uint64_t steps)
{
	for (uint64_t i = 0; i < steps * BERT_HIDDEN; i++)
		x[i] += more[i];
	bert_norm(bert_numbers(fixture, "encoder.layer.%u.%s.LayerNorm.weight", layer, module),
		  bert_numbers(fixture, "encoder.layer.%u.%s.LayerNorm.bias", layer, module), x, steps);
}

/* context [steps, hidden] of queries, keys and values of the same shape. */
static void bert_attend(const double *q, const double *k, const double *v, uint64_t steps, double *context)
{
	const uint32_t size = BERT_HIDDEN / BERT_HEADS;

	for (uint32_t h = 0; h < BERT_HEADS; h++)
		for (uint64_t t = 0; t < steps; t++) {
			double weight[BERT_POSITIONS], sum = 0, *at = context + t * BERT_HIDDEN + h * size;

			for (uint64_t s = 0; s < steps; s++) {
				double score = 0;

				for (uint32_t i = 0; i < size; i++)
					score += q[t * BERT_HIDDEN + h * size + i] *
						 k[s * BERT_HIDDEN + h * size + i];
				weight[s] = exp(score / sqrt(size));
				sum += weight[s];
			}
			for (uint32_t i = 0; i < size; i++) {
				at[i] = 0;
				for (uint64_t s = 0; s < steps; s++)
					at[i] += weight[s] / sum * v[s * BERT_HIDDEN + h * size + i];
			}
		}
}

static void bert_layer(const struct bert_fixture *fixture, unsigned layer, double *x, uint64_t steps)
{
	double q[BERT_POSITIONS * BERT_HIDDEN], k[BERT_POSITIONS * BERT_HIDDEN],
		v[BERT_POSITIONS * BERT_HIDDEN], y[BERT_POSITIONS * BERT_HIDDEN],
		inner[BERT_POSITIONS * BERT_INNER];

	bert_dense(fixture, layer, "attention.self.query", x, steps, BERT_HIDDEN, BERT_HIDDEN, q);
	bert_dense(fixture, layer, "attention.self.key", x, steps, BERT_HIDDEN, BERT_HIDDEN, k);
	bert_dense(fixture, layer, "attention.self.value", x, steps, BERT_HIDDEN, BERT_HIDDEN, v);
	bert_attend(q, k, v, steps, y);
	bert_dense(fixture, layer, "attention.output.dense", y, steps, BERT_HIDDEN, BERT_HIDDEN, q);
	bert_add_and_norm(fixture, layer, "attention.output", q, x, steps);
	bert_dense(fixture, layer, "intermediate.dense", x, steps, BERT_HIDDEN, BERT_INNER, inner);
	for (uint64_t i = 0; i < steps * BERT_INNER; i++)
		inner[i] *= 0.5 * (1 + erf(inner[i] / sqrt(2)));
	bert_dense(fixture, layer, "output.dense", inner, steps, BERT_INNER, BERT_HIDDEN, y);
	bert_add_and_norm(fixture, layer, "output", y, x, steps);
}

/* Computes the mean of the vectors of `steps` ids. */
static void bert_mean(const struct bert_fixture *fixture, const int64_t *ids, uint64_t steps,
		      double mean[static BERT_HIDDEN])
{
	const float *words = bert_numbers(fixture, "embeddings.word_embeddings.weight"),
		    *positions = bert_numbers(fixture, "embeddings.position_embeddings.weight"),
		    *types = bert_numbers(fixture, "embeddings.token_type_embeddings.weight");
	double x[BERT_POSITIONS * BERT_HIDDEN];

	for (uint64_t t = 0; t < steps; t++)
		for (uint32_t i = 0; i < BERT_HIDDEN; i++)
			x[t * BERT_HIDDEN + i] = (double)words[(uint64_t)ids[t] * BERT_HIDDEN + i] +
						 (double)positions[t * BERT_HIDDEN + i] + (double)types[i];
	bert_norm(bert_numbers(fixture, "embeddings.LayerNorm.weight"),
		  bert_numbers(fixture, "embeddings.LayerNorm.bias"), x, steps);
	for (unsigned layer = 0; layer < BERT_LAYERS; layer++)
		bert_layer(fixture, layer, x, steps);
	for (uint32_t i = 0; i < BERT_HIDDEN; i++) {
		mean[i] = 0;
		for (uint64_t t = 0; t < steps; t++)
			mean[i] += x[t * BERT_HIDDEN + i] / (double)steps;
	}
}

/* Returns the cosine of the angle between a vector and a reference. */
static double bert_cosine(const float *found, const double *wanted)
{
	double product = 0, a = 0, b = 0;

	for (uint32_t i = 0; i < BERT_HIDDEN; i++) {
		product += (double)found[i] * wanted[i];
		a += (double)found[i] * (double)found[i];
		b += wanted[i] * wanted[i];
	}
	return product / sqrt(a * b);
}
