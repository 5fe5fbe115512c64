/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labelled texts, read whole: `label<TAB>text` lines (gzip or not), or the Large Movie Review Dataset as its
 * authors ship it (a tar, compressed or not, of aclImdb/{train,test}/{pos,neg}/NAME.txt).
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define TEXTS_LABEL_BYTES 128u
#define TEXTS_LABELS_MAX  1024u

enum texts_split { TEXTS_TRAIN, TEXTS_TEST, TEXTS_SPLITS };

struct text_row {
	char *text;
	uint64_t bytes;
	uint32_t label; /* index into label[] */
};

struct texts {
	struct text_row *row[TEXTS_SPLITS];
	uint32_t rows[TEXTS_SPLITS], capacity[TEXTS_SPLITS];
	char label[TEXTS_LABELS_MAX][TEXTS_LABEL_BYTES]; /* sorted once texts_sort_labels() ran */
	uint32_t labels;
};

/* Add a file's rows; lines go to `split`, a tar's rows where its folders say. `name` stands for the path in
 * errors. Errors: -EBADMSG naming file and line or member, what was found and expected. */
MUST_CHECK int texts_read(struct texts *texts, const char *path, const char *name, enum texts_split split,
			  struct error *err);

/* Labels in bytewise order, so that a class's index does not depend on which row came first. */
void texts_sort_labels(struct texts *texts);

/* Deal `percent` of the train rows to the test split and put both into an order that only the seed decides.
 */
MUST_CHECK int texts_shuffle(struct texts *texts, uint64_t seed, uint32_t test_percent, struct error *err);

void texts_done(struct texts *texts);
