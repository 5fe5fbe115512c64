/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labelled texts, all in memory. Input: lines of `label<TAB>text`, with a column more where the rows have
 * groups (with gzip or without), or the Large Movie Review Dataset as its authors publish it: a tar archive,
 * compressed or not, with the files aclImdb/{train,test}/{pos,neg}/NAME.txt. Its reviews are grouped by film.
 *
 *     texts.c       rows, labels, and their order
 *     texts_read.c  reads a file of lines
 *     texts_tar.c   reads the archive
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define TEXTS_LABEL_BYTES 128u
#define TEXTS_LABELS_MAX  1024u
#define TEXTS_TEXT_BYTES  (16u << 20) /* longest text */

/* TEXTS_VALIDATION: of pictures alone, which may have a folder for it. */
enum texts_split { TEXTS_TRAIN, TEXTS_TEST, TEXTS_VALIDATION, TEXTS_SPLITS };

struct text_row {
	char *text;
	uint64_t bytes;
	uint32_t label;    /* index into label[] */
	const char *group; /* stands behind the text in the same memory; "" = the row is a group of its own */
	uint32_t item;     /* of pictures: index in struct pictures */
};

struct texts {
	struct text_row *row[TEXTS_SPLITS];
	uint32_t rows[TEXTS_SPLITS], capacity[TEXTS_SPLITS];
	char label[TEXTS_LABELS_MAX][TEXTS_LABEL_BYTES]; /* sorted after texts_sort_labels() */
	uint32_t labels;
	uint64_t lines;        /* lines that were read */
	uint32_t group_column; /* column of a line that names its group, from 1; 0 = no groups */
	uint64_t films;        /* texts of archives whose group is known: their film */
};

/* Adds a row with copies of the text and of the group. The text may hold any byte. Errors: -ENOMEM. */
MUST_CHECK int texts_add(struct texts *texts, enum texts_split split, const char *text, uint64_t bytes,
			 uint32_t label, const char *group, uint64_t group_bytes, struct error *err);
/* Gives a row another group, and copies it. Errors: -ENOMEM. */
MUST_CHECK int texts_regroup(struct text_row *row, const char *group, struct error *err);
/* Returns the index of a label; a new one is added. Errors: -EBADMSG with what is wrong with it. */
MUST_CHECK int texts_label(struct texts *texts, const char *label, uint64_t bytes, uint32_t *ret_index,
			   struct error *err);

/* Adds the rows of a file. Lines are added to `split`; a member of a tar archive is added to the split in its
 * path. Error texts show `name` instead of the path. Errors: -EBADMSG with the file, the line or member, what
 * was found and what was expected. */
MUST_CHECK int texts_read(struct texts *texts, const char *path, const char *name, enum texts_split split,
			  struct error *err);

/* Sorts the labels by their bytes, so that the index of a class does not depend on the order of the rows. */
void texts_sort_labels(struct texts *texts);

/* Replaces the labels by `names`, in this order. Errors: -EINVAL a label is not among the names. */
MUST_CHECK int texts_use_labels(struct texts *texts, const char *const *names, uint32_t count,
				struct error *err);

/* Tells whether two rows belong to one group. */
bool texts_same_group(const struct text_row *a, const struct text_row *b);
/* Returns a row of the first group, by their names, that is in both splits; NULL: none. Sorts the rows. */
const struct text_row *texts_shared_group(struct texts *texts);

/* Moves `test_percent` percent of the training rows to the test split and shuffles each split. The order
 * depends only on the texts and the seed. Rows of a group stay together: in one split, next to each other.
 * Errors: -EINVAL a group of lines is in both splits already; -ENOMEM. */
MUST_CHECK int texts_shuffle(struct texts *texts, uint64_t seed, uint32_t test_percent, struct error *err);

void texts_done(struct texts *texts);
