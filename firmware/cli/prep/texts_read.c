/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of texts. */
#include "cli/prep/gzip.h"
#include "cli/prep/tar.h"
#include "cli/prep/texts_tar.h"
#include "core/base/utf8.h"

#include <inttypes.h>
#include <string.h>

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
	return texts_add(texts, split, text, before + (after ? (uint64_t)(end - after - 1) : 0), label, group,
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
	r = texts_label(texts, line, (uint64_t)(tab - line), &label, err);
	if (r < 0)
		return r;
	return texts->group_column ? add_grouped(texts, split, tab + 1, line + bytes, label, err)
				   : texts_add(texts, split, tab + 1, bytes - (uint64_t)(tab + 1 - line),
					       label, "", 0, err);
}

/* Reads the next line, without its line end. Returns 1, or 0 at the end of the file. */
static int next_line(gzFile file, char *line, uint64_t *ret_bytes, struct error *err)
{
	z_off_t start = gztell(file);
	uint64_t bytes;

	if (!gzgets(file, line, (int)TEXTS_TEXT_BYTES))
		return 0;
	bytes = strlen(line);
	if (gztell(file) - start != (z_off_t)bytes)
		return error_set(err, -EBADMSG, "a NUL byte after byte %" PRIu64 ", expected text", bytes);
	if (bytes > 0 && line[bytes - 1] == '\n')
		bytes--;
	else if (!gzeof(file))
		return error_set(err, -EBADMSG, "a line of more than %u bytes", TEXTS_TEXT_BYTES - 2);
	*ret_bytes = bytes;
	return 1;
}

static int read_lines(struct texts *texts, gzFile file, const char *name, enum texts_split split,
		      struct error *err)
{
	CLEANUP(free_ptr) char *line = malloc(TEXTS_TEXT_BYTES);
	uint64_t number = 0, bytes = 0;
	int r;

	if (!line)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	while ((r = next_line(file, line, &bytes, err)) > 0) {
		const uint64_t mark = number++ == 0 ? utf8_mark(line, bytes) : 0;

		r = add_line(texts, split, line + mark, bytes - mark, err);
		if (r < 0)
			return error_prefix(err, "%s:%" PRIu64, name, number);
	}
	if (r < 0)
		return error_prefix(err, "%s:%" PRIu64, name, number + 1);
	texts->lines += number;
	return number ? 0 : error_set(err, -EBADMSG, "%s: empty, expected lines of label<TAB>text", name);
}

/* ---- A file ---- */

int texts_read(struct texts *texts, const char *path, const char *name, enum texts_split split,
	       struct error *err)
{
	gzFile file = NULL;
	int r;

	if (tar_is(name))
		return texts_read_tar(texts, path, name, err);
	r = gzip_open(path, name, &file, err);
	if (r < 0)
		return r;
	r = read_lines(texts, file, name, split, err);
	r = gzip_explain(file, path, name, r, err);
	(void)gzclose(file);
	return r;
}
