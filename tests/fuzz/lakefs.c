/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses everything that a lakeFS server may answer. The first byte of the input is the kind of the rest: C a
 * commit, D a page of differences, I the state of an import, E an answer that refuses, T an id as text.
 */
#include "drivers/lakefs/lakefs_reply.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An id goes into paths and headers. */
static void check_id(const char *id)
{
	if (!*id || strlen(id) >= LAKEFS_ID_BYTES || strpbrk(id, "/. \r\n%?#"))
		abort();
}

static void try_commit(const cJSON *answer)
{
	CLEANUP(json_free) cJSON *mine = cJSON_CreateObject();
	char id[LAKEFS_ID_BYTES];

	(void)cJSON_AddStringToObject(mine, "kiln.series", "s1");
	if (lakefs_reply_id(answer, "id", id, NULL) == 0)
		check_id(id);
	(void)lakefs_reply_is_mine(answer, mine);
	if (lakefs_reply_find(answer, mine, id, NULL) > 0)
		check_id(id);
}

static int see(void *context, const struct lakefs_difference *difference)
{
	size_t *sum = context;

	*sum += strlen(difference->type) + strlen(difference->path);
	return 0;
}

/* A page that names a next one names a later one, so that a listing ends. */
static void try_differences(const cJSON *answer)
{
	struct lakefs_page page = { 0 };
	char before[LAKEFS_TOKEN_BYTES] = "";
	size_t sum = 0;

	for (int pages = 0; pages < 3; pages++) {
		if (lakefs_reply_differences(answer, see, &sum, &page, NULL) != 0 || !page.next[0])
			return;
		if (strcmp(page.next, before) <= 0)
			abort();
		memcpy(before, page.next, sizeof(before));
	}
}

static void try_import(const cJSON *answer)
{
	struct lakefs_progress progress;

	if (lakefs_reply_import(answer, &progress, NULL) == 0 && progress.completed && !progress.error[0])
		check_id(progress.id);
}

static void try_text(const char *text, size_t bytes)
{
	char id[LAKEFS_ID_BYTES];

	if (lakefs_reply_text_id(text, bytes, id, NULL) == 0)
		check_id(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(json_free) cJSON *answer = NULL;
	char said[LAKEFS_SAID_BYTES];
	const char *text = (const char *)data + 1;

	if (size < 2)
		return 0;
	if (data[0] == 'E')
		lakefs_reply_said(text, size - 1, said);
	if (data[0] == 'T')
		try_text(text, size - 1);
	if (json_parse("the answer", text, size - 1, &answer, NULL) < 0)
		return 0;
	if (data[0] == 'C')
		try_commit(answer);
	else if (data[0] == 'D')
		try_differences(answer);
	else if (data[0] == 'I')
		try_import(answer);
	return 0;
}
