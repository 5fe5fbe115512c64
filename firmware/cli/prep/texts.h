/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labelled texts, all in memory. Input: lines of `label<TAB>text` (gzip or not), or the Large Movie Review
 * Dataset as its authors ship it: a tar, compressed or not, of aclImdb/{train,test}/{pos,neg}/NAME.txt.
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

/* Adds the rows of a file. Lines go to `split`, members of a tar to the split of their folder. Errors show
 * `name`, not the path. Errors: -EBADMSG names file and line or member, what was found and expected. */
MUST_CHECK int texts_read(struct texts *texts, const char *path, const char *name, enum texts_split split,
			  struct error *err);

/* Sorts the labels bytewise, so that a class's index does not depend on the order of the rows. */
void texts_sort_labels(struct texts *texts);

/* Moves `test_percent` of the train rows to the test split and shuffles both. The order depends on the texts
 * and the seed alone. */
MUST_CHECK int texts_shuffle(struct texts *texts, uint64_t seed, uint32_t test_percent, struct error *err);

void texts_done(struct texts *texts);
