/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/lines.h"

#include "core/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Removes the mark (U+FEFF) with which some editors begin a file. */
static void remove_mark(struct lines *lines)
{
	const uint64_t mark = utf8_mark(lines->text, lines->bytes);

	lines->bytes -= mark;
	memmove(lines->text, lines->text + mark, lines->bytes + 1);
}

bool lines_next(struct lines *lines)
{
	ssize_t bytes;

	if (lines->again) {
		lines->again = false;
		return true;
	}
	bytes = getline(&lines->text, &lines->capacity, lines->file ? lines->file : stdin);
	if (bytes < 0)
		return false;
	lines->bytes = (size_t)bytes - (lines->text[bytes - 1] == '\n');
	lines->text[lines->bytes] = '\0';
	if (lines->number++ == 0)
		remove_mark(lines);
	return true;
}

int lines_object(const struct lines *lines, cJSON **ret_object, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	char name[64];
	int r;

	(void)snprintf(name, sizeof(name), "line %" PRIu64, lines->number);
	r = json_parse(name, lines->text, lines->bytes, &object, err);
	if (r == 0 && !cJSON_IsObject(object))
		r = error_set(err, -EBADMSG, "%s: found no object, expected {\"FEATURE\": VALUES, ...}",
			      name);
	if (r == 0)
		*ret_object = TAKE(object);
	return r;
}

void lines_done(struct lines *lines)
{
	free(lines->text);
}
