/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/texts.h"

#include "core/base/utf8.h"
#include "data/order.h"

#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#define TEXT_BYTES_MAX (16u << 20)
#define ROWS_MAX       (1u << 28)

static int add_row(struct texts *texts, enum texts_split split, const char *text, uint64_t bytes,
		   uint32_t label, const char *group, uint64_t group_bytes, struct error *err)
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
	texts->row[split][texts->rows[split]++] = (struct text_row){ copy, bytes, label, copy + bytes + 1 };
	return 0;
}

static int label_index(struct texts *texts, const char *label, uint64_t bytes, uint32_t *ret_index,
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

/* ---- Compressed files ---- */

/* Finds the true cause of an error in a compressed file. Where the compressed bytes are damaged, the inflated
 * text may be wrong long before zlib notices. So read to the end, where zlib compares the checksum, and
 * report zlib's error instead. Where zlib finds no error, returns `r` and does not change `err`. */
static int explain(gzFile file, const char *path, const char *name, int r, struct error *err)
{
	char rest[4096];
	const char *text;
	int z;

	while (gzread(file, rest, sizeof(rest)) > 0)
		;
	text = gzerror(file, &z);
	if (z >= 0)
		return r;
	/* zlib's text begins with the path, which may be the path of a temporary copy, so remove it. */
	if (strncmp(text, path, strlen(path)) == 0)
		text += strlen(path) + strlen(": ");
	return error_set(err, -EBADMSG, "%s: damaged or cut at byte %jd of the compressed file or before: %s",
			 name, (intmax_t)gzoffset(file), text);
}

/* ---- label<TAB>text ---- */

/* Adds a line without its label: the column of the group is taken out, the other columns are the text. */
static int add_grouped(struct texts *texts, enum texts_split split, const char *rest, const char *end,
		       uint32_t label, struct error *err)
{
	CLEANUP(free_ptr) char *text = malloc((size_t)(end - rest) + 1);
	const char *group = rest, *after;
	uint64_t before;
	uint32_t column = 2;

	if (!text)
		return error_set(err, -ENOMEM, "no memory for a line");
	for (; column < texts->group_column && (after = memchr(group, '\t', (size_t)(end - group))); column++)
		group = after + 1;
	after = memchr(group, '\t', (size_t)(end - group));
	if (column < texts->group_column || (column == 2 && !after))
		return error_set(err, -EBADMSG,
				 "found %u columns, expected the label, the group in column %u, and the text",
				 column, texts->group_column);
	/* The text: the columns before the group, without the tab between them, then those after the group.
	 */
	before = (uint64_t)(group - rest);
	before -= before > 0 && !after;
	memcpy(text, rest, before);
	if (after)
		memcpy(text + before, after + 1, (size_t)(end - after - 1));
	return add_row(texts, split, text, before + (after ? (uint64_t)(end - after - 1) : 0), label, group,
		       (uint64_t)((after ? after : end) - group), err);
}

static int add_line(struct texts *texts, enum texts_split split, const char *line, uint64_t bytes,
		    struct error *err)
{
	const char *tab = memchr(line, '\t', bytes);
	uint32_t label;
	int r;

	if (!tab)
		return error_set(err, -EBADMSG, "found no tab, expected label<TAB>text");
	r = label_index(texts, line, (uint64_t)(tab - line), &label, err);
	if (r < 0)
		return r;
	return texts->group_column ? add_grouped(texts, split, tab + 1, line + bytes, label, err)
				   : add_row(texts, split, tab + 1, bytes - (uint64_t)(tab + 1 - line), label,
					     "", 0, err);
}

/* Reads the next line, without its line end. Returns 1, or 0 at the end of the file. */
static int next_line(gzFile file, char *line, uint64_t *ret_bytes, struct error *err)
{
	z_off_t start = gztell(file);
	uint64_t bytes;

	if (!gzgets(file, line, (int)TEXT_BYTES_MAX))
		return 0;
	bytes = strlen(line);
	if (gztell(file) - start != (z_off_t)bytes)
		return error_set(err, -EBADMSG, "a NUL byte after byte %" PRIu64 ", expected text", bytes);
	if (bytes > 0 && line[bytes - 1] == '\n')
		bytes--;
	else if (!gzeof(file))
		return error_set(err, -EBADMSG, "a line of more than %u bytes", TEXT_BYTES_MAX - 2);
	*ret_bytes = bytes;
	return 1;
}

static int read_lines(struct texts *texts, gzFile file, const char *name, enum texts_split split,
		      struct error *err)
{
	CLEANUP(free_ptr) char *line = malloc(TEXT_BYTES_MAX);
	uint64_t number = 0, bytes = 0;
	int r;

	if (!line)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	while ((r = next_line(file, line, &bytes, err)) > 0) {
		number++;
		r = add_line(texts, split, line, bytes, err);
		if (r < 0)
			return error_prefix(err, "%s:%" PRIu64, name, number);
	}
	if (r < 0)
		return error_prefix(err, "%s:%" PRIu64, name, number + 1);
	texts->lines += number;
	return number ? 0 : error_set(err, -EBADMSG, "%s: empty, expected lines of label<TAB>text", name);
}

/* ---- aclImdb ---- */

/* Parses the path of a member of the archive, such as "aclImdb/train/pos/0_9.txt", as split and label.
 * Returns false for other members. */
static bool imdb_member(const char *path, enum texts_split *ret_split, const char **ret_label)
{
	static const char *const splits[] = { "train", "test" }, *const labels[] = { "neg", "pos" };
	const char *base = strstr(path, "aclImdb/");
	size_t length = strlen(path);

	if (!base || length < 4 || strcmp(path + length - 4, ".txt") != 0)
		return false;
	for (unsigned s = 0; s < 2; s++)
		for (unsigned l = 0; l < 2; l++) {
			char prefix[32];

			(void)snprintf(prefix, sizeof(prefix), "aclImdb/%s/%s/", splits[s], labels[l]);
			if (strncmp(base, prefix, strlen(prefix)) != 0)
				continue;
			*ret_split = (enum texts_split)s;
			*ret_label = labels[l];
			return true;
		}
	return false;
}

static int add_member(struct texts *texts, struct archive *archive, struct archive_entry *entry,
		      struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int64_t bytes = archive_entry_size(entry);
	enum texts_split split;
	const char *label, *nul;
	uint32_t index;
	int r;

	if (!imdb_member(archive_entry_pathname(entry), &split, &label))
		return 0;
	if (bytes < 0 || bytes > TEXT_BYTES_MAX)
		return error_set(err, -EBADMSG, "a text of %" PRId64 " bytes, at most %u", bytes,
				 TEXT_BYTES_MAX);
	text = malloc((size_t)bytes + 1);
	if (!text)
		return error_set(err, -ENOMEM, "no memory for %" PRId64 " bytes", bytes);
	if (archive_read_data(archive, text, (size_t)bytes) != bytes)
		return error_set(err, -EBADMSG, "cut or damaged: %s", archive_error_string(archive));
	nul = memchr(text, '\0', (size_t)bytes);
	if (nul)
		return error_set(err, -EBADMSG, "a NUL byte after byte %td, expected text", nul - text);
	r = label_index(texts, label, strlen(label), &index, err);
	return r < 0 ? r : add_row(texts, split, text, (uint64_t)bytes, index, "", 0, err);
}

struct unzip {
	gzFile file;
	uint8_t plain[65536];
};

static la_ssize_t unzip_some(struct archive *archive, void *context, const void **ret_plain)
{
	struct unzip *unzip = context;
	int bytes = gzread(unzip->file, unzip->plain, sizeof(unzip->plain));

	if (bytes < 0)
		archive_set_error(archive, EIO, "damaged or cut");
	*ret_plain = unzip->plain;
	return bytes < 0 ? ARCHIVE_FATAL : bytes;
}

/* Reads a tar archive. The order of the members does not matter, because texts_shuffle() sorts the texts
 * first. zlib inflates gzip, because libarchive does not compare gzip's checksums. zlib returns the bytes of
 * other files unchanged, and the filters of libarchive decompress them. */
static int read_tar(struct texts *texts, gzFile file, const char *name, struct error *err)
{
	struct archive *archive = archive_read_new();
	struct unzip unzip = { .file = file };
	struct archive_entry *entry;
	int z, r = 0;

	(void)archive_read_support_filter_all(archive);
	(void)archive_read_support_format_tar(archive);
	z = archive_read_open(archive, &unzip, NULL, unzip_some, NULL);
	while (z == ARCHIVE_OK && r == 0 && (z = archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
		r = add_member(texts, archive, entry, err);
		if (r < 0)
			(void)error_prefix(err, "%s: %s", name, archive_entry_pathname(entry));
	}
	if (r == 0 && z != ARCHIVE_EOF)
		r = error_set(err, -EBADMSG, "%s: expected a tar, compressed or not: %s", name,
			      archive_error_string(archive));
	(void)archive_read_free(archive);
	if (r == 0 && texts->rows[TEXTS_TRAIN] == 0)
		r = error_set(err, -EBADMSG, "%s: found no aclImdb/train/{pos,neg}/*.txt in it", name);
	return r;
}

/* Looks only at the file's name, not at the names of the folders. */
static bool is_tar(const char *name)
{
	static const char *const ends[] = { ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst" };
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	size_t length = strlen(base);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t bytes = strlen(ends[i]);

		if (length >= bytes && strcmp(base + length - bytes, ends[i]) == 0)
			return true;
	}
	return false;
}

int texts_read(struct texts *texts, const char *path, const char *name, enum texts_split split,
	       struct error *err)
{
	gzFile file = gzopen(path, "r");
	int r;

	if (!file)
		return error_set(err, -errno, "%s: cannot read it: %s", name, strerror(errno));
	if (is_tar(name))
		r = read_tar(texts, file, name, err);
	else
		r = read_lines(texts, file, name, split, err);
	r = explain(file, path, name, r, err);
	(void)gzclose(file);
	return r;
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
		r = add_row(texts, TEXTS_TEST, row->text, row->bytes, row->label, row->group,
			    strlen(row->group), err);
		if (r < 0)
			return r;
		free(row->text);
		(*rows)--;
	}
	return 0;
}

/* Refuses a group that the input puts into both splits. Both are sorted by group here. */
static int check_apart(const struct texts *texts, struct error *err)
{
	const struct text_row *train = texts->row[TEXTS_TRAIN], *test = texts->row[TEXTS_TEST];
	uint32_t i = 0, j = 0;

	while (i < texts->rows[TEXTS_TRAIN] && j < texts->rows[TEXTS_TEST]) {
		const int order = strcmp(train[i].group, test[j].group);

		if (order == 0 && *train[i].group)
			return error_set(
				err, -EINVAL,
				"--group: the group \"%s\" is among the training texts and the test texts",
				train[i].group);
		i += order <= 0;
		j += order > 0;
	}
	return 0;
}

static int sort_and_check(struct texts *texts, struct error *err)
{
	for (int s = 0; s < TEXTS_SPLITS; s++)
		if (texts->rows[s])
			qsort(texts->row[s], texts->rows[s], sizeof(*texts->row[s]), compare_rows);
	return check_apart(texts, err);
}

int texts_shuffle(struct texts *texts, uint64_t seed, uint32_t test_percent, struct error *err)
{
	uint32_t test = (uint32_t)((uint64_t)texts->rows[TEXTS_TRAIN] * test_percent / 100);
	int r;

	if (texts->group_column && (r = sort_and_check(texts, err)) < 0)
		return r;
	if ((r = shuffle(texts, TEXTS_TRAIN, seed, err)) < 0 || (r = move_to_test(texts, test, err)) < 0)
		return r;
	return shuffle(texts, TEXTS_TEST, seed, err);
}

void texts_done(struct texts *texts)
{
	for (int s = 0; s < TEXTS_SPLITS; s++) {
		for (uint32_t i = 0; i < texts->rows[s]; i++)
			free(texts->row[s][i].text);
		free(texts->row[s]);
	}
}
