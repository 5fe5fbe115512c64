/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const initializer_names[] = { "glorot_uniform", "glorot_normal",
					  "he_uniform",     "he_normal",
					  "lecun_uniform",  "lecun_normal",
					  "zeros",          "ones",
					  "random_normal",  "random_uniform",
					  "uniform",        "truncated_normal",
					  "orthogonal",     0 };

struct philox philox(const uint32_t counter[static 4], uint64_t key)
{
	struct philox c = { { counter[0], counter[1], counter[2], counter[3] } };
	uint32_t key_low = (uint32_t)key, key_high = (uint32_t)(key >> 32);

	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)c.word[0] * 0xD2511F53u, b = (uint64_t)c.word[2] * 0xCD9E8D57u;

		c = (struct philox){ { (uint32_t)(b >> 32) ^ c.word[1] ^ key_low, (uint32_t)b,
				       (uint32_t)(a >> 32) ^ c.word[3] ^ key_high, (uint32_t)a } };
		key_low += 0x9E3779B9u;
		key_high += 0xBB67AE85u;
	}
	return c;
}

uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

/* Computes fan-in and fan-out as Keras does: each is one of the last two dimensions (input, output) times the
 * product of the dimensions before them, the receptive field (HWIO). With a single dimension, fan-in and
 * fan-out are equal. */
static void fans(uint32_t rank, const uint64_t *shape, double *ret_in, double *ret_out)
{
	double field = 1;

	for (uint32_t i = 0; i + 2 < rank; i++)
		field *= (double)shape[i];
	*ret_out = rank ? (double)shape[rank - 1] * field : 1;
	*ret_in = rank > 1 ? (double)shape[rank - 2] * field : *ret_out;
}

enum distribution { CONSTANT, UNIFORM, NORMAL, TRUNCATED_NORMAL, ORTHOGONAL, FORGET };
enum fan { FAN_NONE, FAN_IN, FAN_AVERAGE };

/* The initializers of keras.io/api/layers/initializers. With a fan, the variance is scale / fan. Without one,
 * `scale` is the constant, the limit of the uniform distribution or the standard deviation. */
static const struct initializer {
	const char *name;
	enum distribution distribution;
	enum fan fan;
	double scale;
} initializers[] = {
	{ "glorot_uniform", UNIFORM, FAN_AVERAGE, 1 },
	{ "glorot_normal", TRUNCATED_NORMAL, FAN_AVERAGE, 1 },
	{ "he_uniform", UNIFORM, FAN_IN, 2 },
	{ "he_normal", TRUNCATED_NORMAL, FAN_IN, 2 },
	{ "lecun_uniform", UNIFORM, FAN_IN, 1 },
	{ "lecun_normal", TRUNCATED_NORMAL, FAN_IN, 1 },
	{ "zeros", CONSTANT, FAN_NONE, 0 },
	{ "ones", CONSTANT, FAN_NONE, 1 },
	{ "random_normal", NORMAL, FAN_NONE, 0.05 },
	{ "random_uniform", UNIFORM, FAN_NONE, 0.05 },
	{ "uniform", UNIFORM, FAN_NONE, 0.05 },
	{ "truncated_normal", TRUNCATED_NORMAL, FAN_NONE, 0.05 },
	{ "orthogonal", ORTHOGONAL, FAN_NONE, 1 },
	{ INITIALIZER_FORGET, FORGET, FAN_NONE, 1 },
};

static const struct initializer *initializer_find(const char *name)
{
	const struct initializer *found = initializers;

	while (strcmp(found->name, name) != 0)
		found++;
	return found;
}

/* Standard deviation of a normal distribution of deviation 1 that is cut at -2 and 2. */
#define TRUNCATED_DEVIATION 0.87962566103423978

static double spread_of(const struct initializer *initializer, uint32_t rank, const uint64_t *shape)
{
	double in, out, fan;

	if (initializer->fan == FAN_NONE)
		return initializer->scale;
	fans(rank, shape, &in, &out);
	fan = initializer->fan == FAN_IN ? in : (in + out) / 2;
	return initializer->distribution == UNIFORM ? sqrt(3 * initializer->scale / fan)
						    : sqrt(initializer->scale / fan) / TRUNCATED_DEVIATION;
}

/* Returns the four random words of attempt `attempt` for the block of four numbers in which number `e` is. */
static struct philox words_of(uint64_t e, uint32_t attempt, uint32_t hash, uint64_t seed)
{
	const uint32_t counter[4] = { (uint32_t)(e / 4), (uint32_t)(e / 4 >> 32), UINT32_MAX - attempt,
				      hash };

	return philox(counter, seed);
}

/* Box-Muller transform: words 0 and 1 make numbers 0 and 1 of a block, words 2 and 3 make the other two. */
static double normal_of(const struct philox *words, uint64_t e)
{
	const uint32_t *pair = &words->word[e % 4 / 2 * 2];
	const double radius = sqrt(-2 * log(((double)(pair[0] >> 8) + 1) * 0x1p-24)),
		     angle = 2 * M_PI * (double)(pair[1] >> 8) * 0x1p-24;

	return radius * (e % 2 ? sin(angle) : cos(angle));
}

static double number_of(enum distribution distribution, uint64_t e, uint32_t hash, uint64_t seed)
{
	struct philox words = words_of(e, 0, hash, seed);
	double x;

	if (distribution == UNIFORM)
		return ((double)(words.word[e % 4] >> 8) * 0x1p-24) * 2 - 1;
	x = normal_of(&words, e);
	for (uint32_t attempt = 1; distribution == TRUNCATED_NORMAL && fabs(x) > 2; attempt++) {
		words = words_of(e, attempt, hash, seed);
		x = normal_of(&words, e);
	}
	return x;
}

/* Makes the `count` vectors of v [count, length] orthogonal to each other and of length 1, in order: modified
 * Gram-Schmidt, twice, because rounding leaves the first result a little oblique. */
static void make_orthogonal(double *v, uint64_t count, uint64_t length)
{
	for (uint64_t i = 0; i < 2 * count; i++) {
		double *own = v + i / 2 * length, square = 0;

		for (uint64_t other = 0; other < i / 2; other++) {
			const double *along = v + other * length;
			double product = 0;

			for (uint64_t e = 0; e < length; e++)
				product += own[e] * along[e];
			for (uint64_t e = 0; e < length; e++)
				own[e] -= product * along[e];
		}
		for (uint64_t e = 0; e < length; e++)
			square += own[e] * own[e];
		for (uint64_t e = 0; e < length; e++)
			own[e] /= sqrt(square);
	}
}

/* Fills a matrix of the last dimension times all others, as Keras does: the vectors along its shorter side
 * are orthogonal. They come from random normal numbers. */
static void fill_orthogonal(uint64_t seed, uint32_t hash, uint64_t columns, uint64_t count, float *out)
{
	const uint64_t rows = count / columns, vectors = rows < columns ? rows : columns,
		       length = count / vectors;
	double *v = malloc(count * sizeof(*v));

	if (!v)
		abort();
	for (uint64_t e = 0; e < count; e++)
		v[e] = number_of(NORMAL, e, hash, seed);
	make_orthogonal(v, vectors, length);
	for (uint64_t e = 0; e < count; e++)
		out[e] = (float)(rows < columns ? v[e] : v[e % columns * length + e / columns]);
	free(v);
}

void initializer_fill(const char *name, uint64_t seed, const char *tensor, uint32_t rank,
		      const uint64_t *shape, uint64_t count, float *out)
{
	const struct initializer *initializer = initializer_find(name);
	const double spread = spread_of(initializer, rank, shape);
	const uint32_t hash = name_hash(tensor);

	if (initializer->distribution == ORTHOGONAL) {
		fill_orthogonal(seed, hash, shape[rank - 1], count, out);
		return;
	}
	for (uint64_t e = 0; e < count; e++)
		if (initializer->distribution == CONSTANT)
			out[e] = (float)spread;
		else if (initializer->distribution == FORGET)
			out[e] = e / (count / 4) == 1;
		else
			out[e] = (float)(number_of(initializer->distribution, e, hash, seed) * spread);
}

uint32_t dropout_threshold(double rate)
{
	return (uint32_t)(rate * 0x1p32);
}
