/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/texts_tar.h"

#include "cli/prep/tar.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define CLASSES 2u
#define SPLITS  2u /* train and test */

static const char *const split_names[SPLITS] = { [TEXTS_TRAIN] = "train", [TEXTS_TEST] = "test" };
static const char *const class_names[CLASSES] = { "neg", "pos" };

/* One of the archive's lists of URLs. */
struct list {
	char *text; /* its lines, each ended by a NUL */
	const char **line;
	uint32_t lines;
};

/* An archive that is read. */
struct reading {
	struct texts *texts;
	uint32_t first[SPLITS]; /* the first row that the archive gave */
	struct list list[SPLITS][CLASSES];
};

/* ---- Members ---- */

enum member { MEMBER_OTHER, MEMBER_REVIEW, MEMBER_LIST };

/* Parses the path of a member, such as "aclImdb/train/pos/0_9.txt" or "aclImdb/train/urls_pos.txt", as split
 * and class. */
static enum member member_of(const char *path, enum texts_split *ret_split, uint32_t *ret_class)
{
	const char *base = strstr(path, "aclImdb/");
	const size_t length = strlen(path);

	if (!base || length < 4 || strcmp(path + length - 4, ".txt") != 0)
		return MEMBER_OTHER;
	for (unsigned split = 0; split < SPLITS; split++)
		for (unsigned class = 0; class < CLASSES; class ++) {
			char folder[48], list[48];

			(void)snprintf(folder, sizeof(folder), "aclImdb/%s/%s/", split_names[split],
				       class_names[class]);
			(void)snprintf(list, sizeof(list), "aclImdb/%s/urls_%s.txt", split_names[split],
				       class_names[class]);
			*ret_split = (enum texts_split)split;
			*ret_class = class;
			if (strncmp(base, folder, strlen(folder)) == 0)
				return MEMBER_REVIEW;
			if (strcmp(base, list) == 0)
				return MEMBER_LIST;
		}
	return MEMBER_OTHER;
}

/* Reads a member as text, with a NUL after it. */
static int read_text(struct archive *archive, struct archive_entry *entry, char **ret_text,
		     uint64_t *ret_bytes, struct error *err)
{
	const int64_t bytes = archive_entry_size(entry);
	CLEANUP(free_ptr) char *text = NULL;
	const char *nul;

	if (bytes < 0 || bytes > TEXTS_TEXT_BYTES)
		return error_set(err, -EBADMSG, "a text of %" PRId64 " bytes, at most %u", bytes,
				 TEXTS_TEXT_BYTES);
	text = malloc((size_t)bytes + 1);
	if (!text)
		return error_set(err, -ENOMEM, "no memory for %" PRId64 " bytes", bytes);
	if (archive_read_data(archive, text, (size_t)bytes) != bytes)
		return error_set(err, -EBADMSG, "cut or damaged: %s", archive_error_string(archive));
	nul = memchr(text, '\0', (size_t)bytes);
	if (nul)
		return error_set(err, -EBADMSG, "a NUL byte after byte %td, expected text", nul - text);
	text[bytes] = '\0';
	*ret_bytes = (uint64_t)bytes;
	*ret_text = TAKE(text);
	return 0;
}

/* Adds a review. Its group is the number in its file name, "0" of "0_9.txt", until name_films(). */
static int add_review(struct texts *texts, enum texts_split split, const char *path, const char *text,
		      uint64_t bytes, const char *label, struct error *err)
{
	const char *number = strrchr(path, '/') + 1;
	uint32_t index;
	int r = texts_label(texts, label, strlen(label), &index, err);

	return r < 0 ? r
		     : texts_add(texts, split, text, bytes, index, number, strspn(number, "0123456789"), err);
}

/* Divides a list into lines, and takes the text. */
static int keep_list(struct list *list, char **text, struct error *err)
{
	char *rest, *line;
	uint32_t lines = 1;

	for (const char *at = *text; *at; at++)
		lines += *at == '\n';
	free(list->text);
	free(list->line);
	*list = (struct list){ .text = TAKE(*text), .line = calloc(lines, sizeof(*list->line)) };
	if (!list->line)
		return error_set(err, -ENOMEM, "no memory for %u lines", lines);
	for (rest = list->text; (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		list->line[list->lines++] = line;
	}
	return 0;
}

static int read_member(void *context, struct archive *archive, struct archive_entry *entry, struct error *err)
{
	struct reading *reading = context;
	const char *path = archive_entry_pathname(entry);
	CLEANUP(free_ptr) char *text = NULL;
	enum texts_split split;
	uint32_t class;
	const enum member member = member_of(path, &split, &class);
	uint64_t bytes = 0;
	int r;

	if (member == MEMBER_OTHER)
		return 0;
	r = read_text(archive, entry, &text, &bytes, err);
	if (r < 0)
		return r;
	return member == MEMBER_LIST
		       ? keep_list(&reading->list[split][class], &text, err)
		       : add_review(reading->texts, split, path, text, bytes, class_names[class], err);
}

/* ---- Films ---- */

/* Returns the line of a review's list; "" where there is none. */
static const char *film_of(const struct reading *reading, enum texts_split split, const struct text_row *row)
{
	const uint32_t class = strcmp(reading->texts->label[row->label], class_names[1]) == 0;
	const struct list *list = &reading->list[split][class];
	const unsigned long number = *row->group ? strtoul(row->group, NULL, 10) : ULONG_MAX;

	return number < list->lines ? list->line[number] : "";
}

static int name_films(struct reading *reading, struct error *err)
{
	struct texts *texts = reading->texts;

	for (unsigned split = 0; split < SPLITS; split++)
		for (uint32_t i = reading->first[split]; i < texts->rows[split]; i++) {
			struct text_row *row = &texts->row[split][i];
			const char *film = film_of(reading, (enum texts_split)split, row);
			int r = texts_regroup(row, film, err);

			if (r < 0)
				return r;
			texts->films += *film != '\0';
		}
	return 0;
}

/* ---- The archive ---- */

static void done(struct reading *reading)
{
	for (unsigned split = 0; split < SPLITS; split++)
		for (unsigned class = 0; class < CLASSES; class ++) {
			free(reading->list[split][class].text);
			free(reading->list[split][class].line);
		}
}

/* The order of the members does not matter: the lists are used after the last member, and texts_shuffle()
 * sorts the texts. */
int texts_read_tar(struct texts *texts, const char *path, const char *name, struct error *err)
{
	CLEANUP(done) struct reading reading = { .texts = texts };
	int r;

	memcpy(reading.first, texts->rows, sizeof(reading.first));
	if ((r = tar_read(path, name, read_member, &reading, err)) < 0 || (r = name_films(&reading, err)) < 0)
		return r;
	return texts->rows[TEXTS_TRAIN]
		       ? 0
		       : error_set(err, -EBADMSG,
				   "%s: found neither aclImdb/train/{pos,neg}/*.txt nor pictures in it",
				   name);
}
