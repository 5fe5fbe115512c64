/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/texts.h"

#include "core/base/utf8.h"
#include "data/order.h"

#include <inttypes.h>
#include <string.h>

#define ROWS_MAX (1u << 28)

/* ---- Rows and labels ---- */

int texts_add(struct texts *texts, enum texts_split split, const char *text, uint64_t bytes, uint32_t label,
	      const char *group, uint64_t group_bytes, struct error *err)
{
	uint32_t rows = texts->rows[split];
	char *copy = malloc(bytes + 1 + group_bytes + 1);

	if (copy && rows == texts->capacity[split] && rows < ROWS_MAX) {
		uint32_t capacity = rows ? rows * 2 : 1024;
		struct text_row *row = realloc(texts->row[split], capacity * sizeof(*row));

		if (row) {
			texts->row[split] = row;
			texts->capacity[split] = capacity;
		}
	}
	if (!copy || rows == texts->capacity[split]) {
		free(copy);
		return error_set(err, -ENOMEM, "no memory for %u texts", rows);
	}
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	memcpy(copy + bytes + 1, group, group_bytes);
	copy[bytes + 1 + group_bytes] = '\0';
	texts->row[split][texts->rows[split]++] =
		(struct text_row){ copy, bytes, label, copy + bytes + 1, 0 };
	return 0;
}

int texts_regroup(struct text_row *row, const char *group, struct error *err)
{
	const size_t bytes = strlen(group) + 1;
	char *text = realloc(row->text, row->bytes + 1 + bytes);

	if (!text)
		return error_set(err, -ENOMEM, "no memory for %zu bytes", bytes);
	row->text = text;
	row->group = memcpy(text + row->bytes + 1, group, bytes);
	return 0;
}

int texts_label(struct texts *texts, const char *label, uint64_t bytes, uint32_t *ret_index,
		struct error *err)
{
	uint64_t valid;

	for (uint32_t i = 0; i < texts->labels; i++)
		if (strlen(texts->label[i]) == bytes && memcmp(texts->label[i], label, bytes) == 0) {
			*ret_index = i;
			return 0;
		}
	if (bytes == 0 || bytes >= TEXTS_LABEL_BYTES || memchr(label, '\0', bytes))
		return error_set(err, -EBADMSG, "a label of %" PRIu64 " bytes, expected 1 .. %u", bytes,
				 TEXTS_LABEL_BYTES - 1);
	valid = utf8_valid_bytes(label, bytes);
	if (valid < bytes)
		return error_set(err, -EBADMSG, "byte %" PRIu64 " of the label is not UTF-8", valid);
	if (texts->labels == TEXTS_LABELS_MAX)
		return error_set(err, -EBADMSG, "more than %u different labels", TEXTS_LABELS_MAX);
	memcpy(texts->label[texts->labels], label, bytes);
	*ret_index = texts->labels++;
	return 0;
}

/* ---- Order ---- */

static void renumber(struct texts *texts, const uint32_t *number)
{
	for (int s = 0; s < TEXTS_SPLITS; s++)
		for (uint32_t i = 0; i < texts->rows[s]; i++)
			texts->row[s][i].label = number[texts->row[s][i].label];
}

void texts_sort_labels(struct texts *texts)
{
	uint32_t rank[TEXTS_LABELS_MAX];
	char sorted[TEXTS_LABELS_MAX][TEXTS_LABEL_BYTES];

	for (uint32_t i = 0; i < texts->labels; i++) {
		rank[i] = 0;
		for (uint32_t j = 0; j < texts->labels; j++)
			rank[i] += strcmp(texts->label[j], texts->label[i]) < 0;
		memcpy(sorted[rank[i]], texts->label[i], TEXTS_LABEL_BYTES);
	}
	memcpy(texts->label, sorted, texts->labels * sizeof(sorted[0]));
	renumber(texts, rank);
}

int texts_use_labels(struct texts *texts, const char *const *names, uint32_t count, struct error *err)
{
	uint32_t number[TEXTS_LABELS_MAX];

	for (uint32_t i = 0; i < texts->labels; i++) {
		number[i] = 0;
		while (number[i] < count && strcmp(texts->label[i], names[number[i]]) != 0)
			number[i]++;
		if (number[i] == count)
			return error_set(err, -EINVAL,
					 "the label \"%s\" is not one of the %u classes of the set",
					 texts->label[i], count);
	}
	for (uint32_t i = 0; i < count; i++)
		(void)snprintf(texts->label[i], TEXTS_LABEL_BYTES, "%s", names[i]);
	texts->labels = count;
	renumber(texts, number);
	return 0;
}

bool texts_same_group(const struct text_row *a, const struct text_row *b)
{
	return *a->group && strcmp(a->group, b->group) == 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct text_row *x = a, *y = b;
	int order = strcmp(x->group, y->group);

	if (order == 0)
		order = strcmp(x->text, y->text);
	return order ? order : (x->label > y->label) - (x->label < y->label);
}

/* Writes the first row of each group, and the number of rows behind the last one. Returns the number of
 * groups. */
static uint32_t find_groups(const struct text_row *row, uint32_t rows, uint32_t *first)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < rows; i++)
		if (i == 0 || !texts_same_group(&row[i - 1], &row[i]))
			first[groups++] = i;
	first[groups] = rows;
	return groups;
}

/* Permutes the groups, and the rows of each. Without groups each row is one. */
static int shuffle(struct texts *texts, enum texts_split split, uint64_t seed, struct error *err)
{
	struct order_key key = { .seed = seed, .source = split };
	uint32_t rows = texts->rows[split], at = 0, groups;
	CLEANUP(free_ptr) uint32_t *first = malloc(((size_t)rows + 1) * sizeof(*first));
	struct text_row *row = malloc(((size_t)rows + 1) * sizeof(*row));

	if (!row || !first) {
		free(row);
		return error_set(err, -ENOMEM, "no memory for %u texts", rows);
	}
	/* Sort before shuffling, so that the result does not depend on the order of the input. */
	if (rows)
		qsort(texts->row[split], rows, sizeof(*row), compare_rows);
	groups = find_groups(texts->row[split], rows, first);
	for (uint32_t i = 0; i < groups; i++) {
		const uint32_t group = (uint32_t)order_permute(&key, groups, i);
		const uint32_t size = first[group + 1] - first[group];
		const struct order_key inside = { .seed = seed, .source = split, .window = group, .lane = 1 };

		for (uint32_t j = 0; j < size; j++)
			row[at++] = texts->row[split][first[group] +
						      (size > 1 ? order_permute(&inside, size, j) : 0)];
	}
	free(texts->row[split]);
	texts->row[split] = row;
	texts->capacity[split] = rows + 1;
	return 0;
}

/* Moves the last training rows to the test split: `test` of them, and the other rows of the last one's group.
 */
static int move_to_test(struct texts *texts, uint32_t test, struct error *err)
{
	uint32_t *rows = &texts->rows[TEXTS_TRAIN];

	for (uint32_t moved = 0; *rows > 0; moved++) {
		struct text_row *row = &texts->row[TEXTS_TRAIN][*rows - 1];
		int r;

		if (moved >= test &&
		    (moved == 0 ||
		     !texts_same_group(row, &texts->row[TEXTS_TEST][texts->rows[TEXTS_TEST] - 1])))
			return 0;
		r = texts_add(texts, TEXTS_TEST, row->text, row->bytes, row->label, row->group,
			      strlen(row->group), err);
		if (r < 0)
			return r;
		free(row->text);
		(*rows)--;
	}
	return 0;
}

const struct text_row *texts_shared_group(struct texts *texts)
{
	const struct text_row *const *rows = (const struct text_row *const *)texts->row;
	uint32_t i = 0, j = 0;

	for (int s = 0; s < TEXTS_SPLITS; s++)
		if (texts->rows[s])
			qsort(texts->row[s], texts->rows[s], sizeof(*texts->row[s]), compare_rows);
	while (i < texts->rows[TEXTS_TRAIN] && j < texts->rows[TEXTS_TEST]) {
		const struct text_row *train = &rows[TEXTS_TRAIN][i], *test = &rows[TEXTS_TEST][j];
		const int order = strcmp(train->group, test->group);

		if (texts_same_group(train, test))
			return train;
		i += order <= 0;
		j += order > 0;
	}
	return NULL;
}

int texts_shuffle(struct texts *texts, uint64_t seed, uint32_t test_percent, struct error *err)
{
	const struct text_row *shared = texts->group_column ? texts_shared_group(texts) : NULL;
	uint32_t test = (uint32_t)((uint64_t)texts->rows[TEXTS_TRAIN] * test_percent / 100);
	int r;

	if (shared)
		return error_set(err, -EINVAL,
				 "--group: the group \"%s\" is among the training texts and the test texts",
				 shared->group);
	if ((r = shuffle(texts, TEXTS_TRAIN, seed, err)) < 0 || (r = move_to_test(texts, test, err)) < 0 ||
	    (r = shuffle(texts, TEXTS_TEST, seed, err)) < 0)
		return r;
	return shuffle(texts, TEXTS_VALIDATION, seed, err);
}

void texts_done(struct texts *texts)
{
	for (int s = 0; s < TEXTS_SPLITS; s++) {
		for (uint32_t i = 0; i < texts->rows[s]; i++)
			free(texts->row[s][i].text);
		free(texts->row[s]);
	}
}
