/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as features and vectors. The test reads an encoder's file with a simple reader of its own, and
 * computes the result of text_encode() again from the weights in the file.
 */
#include "data/text.h"

#include "data/crc32c.h"
#include "data/text_file.h"
#include "data/text_tokens.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define VECTOR_RMS 0.1

/* ---- Features ---- */

/* A text, its number of features, and another text with the same features (NULL: not compared). */
static const struct {
	const char *label, *text;
	int64_t count;
	const char *same_as;
} tokens[] = {
	{ "nothing", "", 0, NULL },
	{ "white space alone", " \t\n\r ", 0, NULL },
	{ "marks that say nothing", ". , - / < > & %", 0, NULL },
	{ "one word", "film", 1, NULL },
	{ "two words and their pair", "good film", 3, NULL },
	{ "three words, two pairs, a triple", "a good film", 6, NULL },
	{ "four words, three pairs, two triples", "a very good film", 9, NULL },
	{ "a set, not a list", "a a a a", 3, "a a a" },
	{ "case", "A Good FILM", 6, "a good film" },
	{ "what stands between words", "a,good--film.", 6, "a good film" },
	{ "digits are words", "10 of 10", 5, NULL },
	{ "HTML's line break", "a good<br />film", 6, "a good film" },
	{ "line breaks in a row", "a<br /><br />good film<br />", 6, "a good film" },
	{ "another tag is a word", "a <br> good film", 9, "a br good film" },
	{ "an apostrophe inside a word", "don't", 1, NULL },
	{ "one behind it", "don' t", 3, "don t" },
	{ "one in front", "'tis", 1, "tis" },
	{ "marks that say something", "bad!", 3, "bad !" },
	{ "each of them a word", "!?", 3, "! ?" },
	{ "letters beyond ASCII", "caf\xc3\xa9", 1, NULL },
	{ "two scripts", "\xd0\xba\xd0\xb8\xd0\xbd\xd0\xbe \xe6\x98\xa0\xe7\x94\xbb", 3, NULL },
	{ "beyond the first plane", "\xf0\x9f\x8e\xac", 1, NULL },
	{ "bytes that are no UTF-8", "\xff\xfe a", 3, NULL },
	{ "a word's end is the text's", "good'", 1, "good" },
};

static const char *const different[][2] = {
	{ "film", "films" },  { "good film", "film good" }, { "dont", "don't" }, { "caf\xc3\xa9", "cafe" },
	{ "a b c", "c b a" }, { "\xc3\xa9", "\xc3\x89" },   { "!", "?" },        { "ab", "a b" },
};

static int64_t features_of(const char *text, uint64_t **ret)
{
	/* Copies into memory of exactly this size, so that a sanitizer sees a read beyond the end. */
	size_t bytes = strlen(text);
	char *copy = malloc(bytes ? bytes : 1);
	int64_t count;

	assert_non_null(copy);
	memcpy(copy, text, bytes);
	count = text_features(copy, bytes, ret);
	free(copy);
	return count;
}

static bool same_features(const char *a, const char *b)
{
	uint64_t *left = NULL, *right = NULL;
	int64_t lefts = features_of(a, &left), rights = features_of(b, &right);
	bool same = lefts == rights && memcmp(left, right, (size_t)lefts * sizeof(*left)) == 0;

	free(left);
	free(right);
	return same;
}

static void words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		uint64_t *feature = NULL;
		int64_t count = features_of(tokens[i].text, &feature);

		if (count != tokens[i].count)
			print_error("# %s: %" PRId64 " features\n", tokens[i].label, count);
		assert_int_equal(count, tokens[i].count);
		for (int64_t f = 1; f < count; f++)
			assert_true(feature[f - 1] < feature[f]);
		if (tokens[i].same_as && !same_features(tokens[i].text, tokens[i].same_as))
			fail_msg("%s", tokens[i].label);
		free(feature);
	}
}

static void words_that_differ(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++)
		if (same_features(different[i][0], different[i][1]))
			fail_msg("\"%s\" and \"%s\"", different[i][0], different[i][1]);
}

/* Hashes are part of the encoder's format: an encoder fitted by one version is used by another. These
 * values were computed by a separate implementation, from FNV-1a and SplitMix64 as published. */
static void hashes_stay(void **state)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} golden[] = {
		{ "film", 0xa695eed7086b3b9b },      { "don't", 0xdc70291ff8088970 },
		{ "!", 0x1e403870e141292f },         { "caf\xc3\xa9", 0xe0c13ffc340b758f },
		{ "good film", 0x96c65b8065772c2d }, /* a pair of words */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		uint64_t *feature = NULL;
		int64_t count = features_of(golden[i].text, &feature), found = 0;

		for (int64_t f = 0; f < count; f++)
			found += feature[f] == golden[i].hash;
		if (found != 1)
			fail_msg("%s: its hash is another now", golden[i].text);
		free(feature);
	}
}

/* ---- A corpus: each class has words of its own, and all classes share other words ---- */

#define ROWS_MAX  700u
#define TEXT_ROOM 128u

struct made {
	struct text_corpus corpus;
	char text[ROWS_MAX][TEXT_ROOM];
	const char *texts[ROWS_MAX], *names[8];
	uint64_t bytes[ROWS_MAX];
	uint32_t label[ROWS_MAX];
};

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

static struct made *make_corpus(uint32_t rows, uint32_t classes)
{
	static const char *const names[8] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7" };
	struct made *made = calloc(1, sizeof(*made));
	uint64_t state = 7;

	assert_non_null(made);
	assert_true(rows <= ROWS_MAX && classes <= 8);
	memcpy(made->names, names, sizeof(names));
	for (uint32_t i = 0; i < rows; i++) {
		int used = 0;

		made->label[i] = draw(&state, classes);
		for (int w = 0; w < 6; w++)
			used += snprintf(made->text[i] + used, TEXT_ROOM - (size_t)used, "all%u ",
					 draw(&state, 30));
		used += snprintf(made->text[i] + used, TEXT_ROOM - (size_t)used, "own%uof%u", draw(&state, 4),
				 made->label[i]);
		made->texts[i] = made->text[i];
		made->bytes[i] = (uint64_t)used;
	}
	made->corpus =
		(struct text_corpus){ rows, classes, made->texts, made->bytes, made->label, made->names };
	return made;
}

/* ---- Ways to run the jobs ---- */

static void forwards(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs)
{
	for (uint32_t i = 0; i < jobs; i++)
		job(context, i);
}

static void backwards(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs)
{
	for (uint32_t i = jobs; i > 0; i--)
		job(context, i - 1);
}

static uint32_t threads;

struct loop {
	void (*job)(void *context, uint32_t index);
	void *context;
	uint32_t jobs, next;
};

static void *loop_thread(void *argument)
{
	struct loop *loop = argument;
	uint32_t index;

	while ((index = __atomic_fetch_add(&loop->next, 1, __ATOMIC_RELAXED)) < loop->jobs)
		loop->job(loop->context, index);
	return NULL;
}

static void on_threads(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs)
{
	struct loop loop = { job, context, jobs, 0 };
	pthread_t thread[16];

	for (uint32_t i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, loop_thread, &loop), 0);
	for (uint32_t i = 0; i < threads; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* ---- Fitting ---- */

struct fitted {
	struct text_encoder *encoder;
	float *vectors;
	struct text_fit_report report;
};

static struct fitted fit(const struct made *made, uint32_t dims, text_parallel *parallel)
{
	struct fitted fitted = { 0 };
	struct error err = { 0 };

	if (text_fit(&made->corpus, dims, parallel, &fitted.encoder, &fitted.vectors, &fitted.report, &err) <
	    0)
		fail_msg("%s", err.text);
	return fitted;
}

static void fitted_done(struct fitted *fitted)
{
	text_encoder_free(fitted->encoder);
	free(fitted->vectors);
}

static struct text_encoder view_of(const struct text_encoder *encoder)
{
	struct text_encoder view = { 0 };

	view.data = (uint8_t *)(uintptr_t)text_encoder_bytes(encoder, &view.bytes);
	view.header = (const struct text_header *)(const void *)view.data;
	text_file_map(&view);
	return view;
}

static void assert_same_fit(const struct fitted *a, const struct fitted *b, uint32_t rows)
{
	uint64_t left_bytes, right_bytes;
	const void *left = text_encoder_bytes(a->encoder, &left_bytes);
	const void *right = text_encoder_bytes(b->encoder, &right_bytes);

	assert_int_equal(left_bytes, right_bytes);
	assert_memory_equal(left, right, left_bytes);
	assert_memory_equal(a->vectors, b->vectors,
			    (size_t)rows * text_encoder_dims(a->encoder) * sizeof(float));
	assert_int_equal(a->report.features, b->report.features);
	assert_true(a->report.fold_accuracy == b->report.fold_accuracy);
}

static void threads_change_nothing(void **state)
{
	struct made *made = make_corpus(ROWS_MAX, 3);
	struct fitted one = fit(made, 64, forwards), other = fit(made, 64, backwards);

	(void)state;
	assert_same_fit(&one, &other, ROWS_MAX);
	fitted_done(&other);
	for (threads = 1; threads <= 16; threads *= 4) {
		other = fit(made, 64, on_threads);
		assert_same_fit(&one, &other, ROWS_MAX);
		fitted_done(&other);
	}
	fitted_done(&one);
	free(made);
}

/* Counts the features of at least three texts the slow way. */
static uint32_t count_features(const struct made *made)
{
	uint64_t *all = NULL, used = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < made->corpus.rows; i++) {
		uint64_t *feature = NULL;
		int64_t count = features_of(made->text[i], &feature);

		all = realloc(all, (used + (uint64_t)count) * sizeof(*all));
		assert_non_null(all);
		memcpy(all + used, feature, (size_t)count * sizeof(*all));
		used += (uint64_t)count;
		free(feature);
	}
	for (uint64_t i = 0; i < used; i++) {
		uint32_t before = 0, behind = 0;

		for (uint64_t j = 0; j < i && !before; j++)
			before = all[j] == all[i];
		for (uint64_t j = i; j < used && !before; j++)
			behind += all[j] == all[i];
		kept += behind >= 3;
	}
	free(all);
	return kept;
}

static double rms(const float *vectors, uint64_t values)
{
	double sum = 0;

	for (uint64_t i = 0; i < values; i++)
		sum += (double)vectors[i] * vectors[i];
	return sqrt(sum / (double)values);
}

static void fits(void **state)
{
	(void)state;
	for (uint32_t classes = 2; classes <= 8; classes += 3) {
		struct made *made = make_corpus(400, classes);
		struct fitted fitted = fit(made, 50, forwards);
		const struct text_encoder view = view_of(fitted.encoder);

		assert_int_equal(fitted.report.features, count_features(made));
		assert_int_equal(view.header->features, fitted.report.features);
		/* The class of a text follows from its own word, which four folds have seen. */
		assert_true(fitted.report.fold_accuracy > 0.95);
		assert_int_equal(text_encoder_dims(fitted.encoder), 50);
		assert_int_equal(text_encoder_classes(fitted.encoder), classes);
		for (uint32_t c = 0; c < classes; c++)
			assert_string_equal(text_encoder_class(fitted.encoder, c), made->names[c]);
		assert_true(fabs(rms(fitted.vectors, 400 * 50) - VECTOR_RMS) < 1e-6);
		fitted_done(&fitted);
		free(made);
	}
}

/* Computes a vector from the weights in a file, bucket by bucket. */
static void expect_vector(const struct text_encoder *view, const char *text, double *ret)
{
	uint32_t columns = view->header->columns, buckets = view->header->dims / columns;
	uint64_t *feature = NULL;
	int64_t count = features_of(text, &feature), known = 0;

	memset(ret, 0, view->header->dims * sizeof(*ret));
	for (int64_t i = 0; i < count; i++)
		for (uint32_t f = 0; f < view->header->features; f++) {
			if (view->feature[f] != feature[i])
				continue;
			known++;
			for (uint32_t c = 0; c < columns; c++)
				ret[c * buckets + feature[i] % buckets] +=
					(double)view->weight[(size_t)f * columns + c];
		}
	for (uint32_t i = 0; i < view->header->dims; i++)
		ret[i] *= known ? (double)view->header->scale / sqrt((double)known) : 0;
	free(feature);
}

static const char *const probes[] = {
	"",
	"nothing that was ever seen",
	"own0of0",
	"own1of1 all3",
	"own2of2 all3 all4 all5",
	"own0of0 own1of1 own2of2",
	"ALL1, all2; own3of1!",
};

static void buckets(void **state)
{
	(void)state;
	for (uint32_t classes = 2; classes <= 3; classes++) {
		/* 3 classes share 50 numbers: 16 buckets each, and two numbers that stay 0. */
		struct made *made = make_corpus(400, classes);
		struct fitted fitted = fit(made, 50, forwards);
		const struct text_encoder view = view_of(fitted.encoder);
		struct error err = { 0 };

		assert_int_equal(view.header->columns, classes == 2 ? 1 : 3);
		for (size_t p = 0; p < sizeof(probes) / sizeof(probes[0]); p++) {
			double expected[50];
			float found[50];

			memset(found, 0xff, sizeof(found));
			assert_int_equal(
				text_encode(fitted.encoder, probes[p], strlen(probes[p]), found, &err), 0);
			expect_vector(&view, probes[p], expected);
			for (int i = 0; i < 50; i++)
				assert_true(fabs((double)found[i] - expected[i]) < 1e-5);
			for (int i = 48; classes == 3 && i < 50; i++)
				assert_true(found[i] == 0);
		}
		fitted_done(&fitted);
		free(made);
	}
}

static double sum_of(const float *vector, uint32_t first, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = first; i < first + count; i++)
		sum += (double)vector[i];
	return sum;
}

/* A word of a class increases the sum of this class, and decreases the others. */
static void classes_speak(void **state)
{
	static const uint32_t class_counts[] = { 2, 3, 5 };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		uint32_t classes = class_counts[k];
		struct made *made = make_corpus(600, classes);
		struct fitted fitted = fit(made, 60, forwards);
		struct error err = { 0 };

		for (uint32_t c = 0; c < classes; c++) {
			char text[32];
			float vector[60];

			(void)snprintf(text, sizeof(text), "own0of%u", c);
			assert_int_equal(text_encode(fitted.encoder, text, strlen(text), vector, &err), 0);
			if (classes == 2)
				assert_true((sum_of(vector, 0, 60) > 0) == (c == 1));
			for (uint32_t other = 0; classes > 2 && other < classes; other++)
				assert_true((sum_of(vector, other * (60 / classes), 60 / classes) > 0) ==
					    (other == c));
		}
		fitted_done(&fitted);
		free(made);
	}
}

/* The vector of a training text comes from the other folds: labels of its own fold have no influence. Only
 * the scale, which all folds share, changes. */
static void own_fold_is_left_out(void **state)
{
	struct made *made = make_corpus(400, 2);
	struct fitted one = fit(made, 32, forwards), other;
	float ratio;

	(void)state;
	for (uint32_t row = 0; row < 400; row += 5)
		made->label[row] = !made->label[row];
	other = fit(made, 32, forwards);
	ratio = view_of(other.encoder).header->scale / view_of(one.encoder).header->scale;
	for (uint32_t row = 0; row < 400; row++) {
		double furthest = 0;

		for (uint32_t i = 0; i < 32; i++)
			furthest = fmax(furthest, fabs((double)(one.vectors[row * 32 + i] * ratio -
								other.vectors[row * 32 + i])));
		if (row % 5 == 0)
			assert_true(furthest < 1e-6);
		else
			assert_true(furthest > 1e-4);
	}
	fitted_done(&one);
	fitted_done(&other);
	free(made);
}

static void refuses_to_fit(void **state)
{
	static const struct {
		const char *label, *words;
		uint32_t rows, classes, dims;
	} cases[] = {
		{ "one class", "1 classes in 8 dims, allowed: 2 .. 1024 classes", 100, 1, 8 },
		{ "more classes than dims", "5 classes in 4 dims", 100, 5, 4 },
		{ "no dims", "2 classes in 0 dims", 100, 2, 0 },
		{ "too many dims", "2 classes in 65537 dims", 100, 2, 65537 },
		{ "too few texts", "training texts, at least 10 are needed", 15, 2, 8 },
		{ "no texts", "class \"c0\" has 0 training texts", 0, 2, 8 },
	};
	struct made *made;
	struct fitted fitted = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		made = make_corpus(cases[i].rows, cases[i].classes);
		assert_int_equal(text_fit(&made->corpus, cases[i].dims, forwards, &fitted.encoder,
					  &fitted.vectors, &fitted.report, &err),
				 -EINVAL);
		if (!strstr(err.text, cases[i].words))
			fail_msg("%s: %s", cases[i].label, err.text);
		assert_null(fitted.encoder);
		free(made);
	}
	made = make_corpus(40, 2);
	for (uint32_t i = 0; i < 40; i++)
		made->bytes[i] = 0;
	assert_int_equal(
		text_fit(&made->corpus, 8, forwards, &fitted.encoder, &fitted.vectors, &fitted.report, &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "0 words or pairs occur in 3 texts or more"));
	free(made);
}

/* ---- The file ---- */

static void reloads(void **state)
{
	struct made *made = make_corpus(400, 3);
	struct fitted fitted = fit(made, 50, forwards);
	struct text_encoder *again = NULL;
	struct error err = { 0 };
	uint64_t bytes, again_bytes;
	const void *data = text_encoder_bytes(fitted.encoder, &bytes);

	(void)state;
	assert_int_equal(text_encoder_load(data, bytes, &again, &err), 0);
	assert_memory_equal(text_encoder_bytes(again, &again_bytes), data, bytes);
	assert_int_equal(again_bytes, bytes);
	for (uint32_t i = 0; i < 400; i++) {
		float one[50], other[50];

		assert_int_equal(text_encode(fitted.encoder, made->texts[i], made->bytes[i], one, &err), 0);
		assert_int_equal(text_encode(again, made->texts[i], made->bytes[i], other, &err), 0);
		assert_memory_equal(one, other, sizeof(one));
	}
	text_encoder_free(again);
	fitted_done(&fitted);
	free(made);
}

/* Makes the file of a small encoder, malloc'ed to its exact size. */
static uint8_t *small_file(uint64_t *ret_bytes)
{
	struct made *made = make_corpus(60, 3);
	struct fitted fitted;
	const void *data;
	uint8_t *copy;

	for (uint32_t i = 0; i < 60; i++) { /* only the last word of each text: a dozen features */
		char *word = strrchr(made->text[i], ' ') + 1;

		memmove(made->text[i], word, strlen(word) + 1);
		made->bytes[i] = strlen(made->text[i]);
	}
	fitted = fit(made, 6, forwards);
	data = text_encoder_bytes(fitted.encoder, ret_bytes);
	copy = malloc(*ret_bytes);
	assert_non_null(copy);
	memcpy(copy, data, *ret_bytes);
	fitted_done(&fitted);
	free(made);
	return copy;
}

static void assert_refused(const uint8_t *data, uint64_t bytes)
{
	struct text_encoder *encoder = NULL;
	struct error err = { 0 };
	int r = text_encoder_load(data, bytes, &encoder, &err);

	assert_int_equal(r, -EBADMSG);
	assert_null(encoder);
	assert_true(err.text[0] != '\0');
}

static void damage_is_found(void **state)
{
	uint64_t bytes;
	uint8_t *data = small_file(&bytes);

	(void)state;
	for (uint64_t cut = 0; cut < bytes; cut++) {
		uint8_t *exact = malloc(cut ? cut : 1);

		assert_non_null(exact);
		memcpy(exact, data, cut);
		assert_refused(exact, cut);
		free(exact);
	}
	for (uint64_t bit = 0; bit < bytes * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_refused(data, bytes);
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(data);
}

/* Files with a correct CRC and wrong content: `words` words of `value` at `offset`. */
#define NAMES_AT    sizeof(struct text_header)
#define FEATURES_AT (NAMES_AT + 3 * TEXT_CLASS_BYTES)
#define LAST_WORD   UINT64_MAX

static void lies_are_found(void **state)
{
	static const struct {
		const char *label, *says;
		uint64_t offset;
		uint32_t value, words;
	} cases[] = {
		{ "another magic", "not a Kiln text encoder of version 1", 0, 0, 1 },
		{ "another version", "not a Kiln text encoder of version 1", 8, 2, 1 },
		{ "no dims", "0 dims, 3 classes", 16, 0, 1 },
		{ "fewer dims than classes", "2 dims, 3 classes", 16, 2, 1 },
		{ "too many dims", "65537 dims", 16, 65537, 1 },
		{ "one class", "1 classes", 20, 1, 1 },
		{ "more classes than bytes", "1000 classes", 20, 1000, 1 },
		{ "columns of two classes", "does not fit its", 24, 1, 1 },
		{ "more features than bytes", "4294967295 features", 28, UINT32_MAX, 1 },
		{ "no features", "0 features", 28, 0, 1 },
		{ "a scale that is no number", "does not fit its", 32, 0x7fc00000, 1 },
		{ "an endless class name", "class name 0 does not end", NAMES_AT, 0x78787878,
		  TEXT_CLASS_BYTES / 4 },
		{ "features out of order", "feature 1 is out of order", FEATURES_AT, UINT32_MAX, 2 },
		{ "an infinite weight", "is not a number", LAST_WORD, 0x7f800000, 1 },
	};
	uint64_t bytes;
	uint8_t *good = small_file(&bytes), *data = malloc(bytes);

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t offset = cases[i].offset == LAST_WORD ? bytes - 4 : cases[i].offset;
		struct text_encoder *encoder = NULL;
		struct error err = { 0 };
		uint32_t crc;

		memcpy(data, good, bytes);
		for (uint32_t w = 0; w < cases[i].words; w++)
			memcpy(data + offset + w * 4, &cases[i].value, 4);
		crc = crc32c(0, data + 16, bytes - 16);
		memcpy(data + 12, &crc, sizeof(crc));
		assert_int_equal(text_encoder_load(data, bytes, &encoder, &err), -EBADMSG);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].label, err.text);
	}
	free(data);
	free(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(words_that_differ),
		cmocka_unit_test(hashes_stay),
		cmocka_unit_test(threads_change_nothing),
		cmocka_unit_test(fits),
		cmocka_unit_test(buckets),
		cmocka_unit_test(classes_speak),
		cmocka_unit_test(own_fold_is_left_out),
		cmocka_unit_test(refuses_to_fit),
		cmocka_unit_test(reloads),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(lies_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
