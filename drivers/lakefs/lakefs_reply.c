/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/lakefs/lakefs_reply.h"
#include "core/base/visible.h"

#include <string.h>

#define ANSWER "the answer"

void lakefs_reply_said(const char *text, size_t bytes, char out[static LAKEFS_SAID_BYTES])
{
	CLEANUP(json_free) cJSON *answer = NULL;
	CLEANUP(free_ptr) char *raw = strndup(text, bytes);
	const char *said = raw ? raw : "";

	if (json_parse(ANSWER, text, bytes, &answer, NULL) == 0) {
		const char *message =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "message"));

		said = message ? message : said;
	}
	(void)visible(said, out, LAKEFS_SAID_BYTES);
}

/* ---- Commits ---- */

int lakefs_reply_text_id(const char *text, size_t bytes, char ret_id[static LAKEFS_ID_BYTES],
			 struct error *err)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	if (bytes == 0 || bytes >= LAKEFS_ID_BYTES)
		return error_set(err, -EBADMSG, "the id of a commit: found %zu characters, expected 1 .. %u",
				 bytes, LAKEFS_ID_BYTES - 1);
	for (size_t i = 0; i < bytes; i++)
		if (!text[i] || !strchr(allowed, text[i]))
			return error_set(
				err, -EBADMSG,
				"the id of a commit: found the byte 0x%02x, expected letters and digits",
				(unsigned char)text[i]);
	memcpy(ret_id, text, bytes);
	ret_id[bytes] = '\0';
	return 0;
}

int lakefs_reply_id(const cJSON *answer, const char *key, char ret_id[static LAKEFS_ID_BYTES],
		    struct error *err)
{
	const char *id;
	int r = json_get_string(ANSWER, answer, key, &id, err);

	return r < 0 ? r : lakefs_reply_text_id(id, strlen(id), ret_id, err);
}

bool lakefs_reply_is_mine(const cJSON *commit, const cJSON *mine)
{
	const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(commit, "metadata"), *wanted;
	bool same = cJSON_GetArraySize(mine) > 0;

	cJSON_ArrayForEach(wanted, mine) {
		const char *found =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, wanted->string));

		same = same && found && strcmp(found, wanted->valuestring) == 0;
	}
	return same;
}

int lakefs_reply_find(const cJSON *answer, const cJSON *mine, char ret_id[static LAKEFS_ID_BYTES],
		      struct error *err)
{
	const cJSON *results = cJSON_GetObjectItemCaseSensitive(answer, "results"), *commit;
	int r;

	if (!cJSON_IsArray(results))
		return error_set(err, -EBADMSG, ANSWER ": results: expected a list");
	cJSON_ArrayForEach(commit, results) {
		if (!lakefs_reply_is_mine(commit, mine))
			continue;
		r = lakefs_reply_id(commit, "id", ret_id, err);
		return r < 0 ? r : 1;
	}
	return 0;
}

/* ---- Differences ---- */

static int pass(const cJSON *entry, int (*each)(void *context, const struct lakefs_difference *difference),
		void *context, struct error *err)
{
	struct lakefs_difference difference = { 0 };
	int r;

	if ((r = json_get_string(ANSWER, entry, "type", &difference.type, err)) < 0 ||
	    (r = json_get_string(ANSWER, entry, "path", &difference.path, err)) < 0 ||
	    (cJSON_HasObjectItem(entry, "size_bytes") &&
	     (r = json_get_u64(ANSWER, entry, "size_bytes", &difference.bytes, err)) < 0))
		return r;
	return each(context, &difference);
}

static int next_page(const cJSON *answer, struct lakefs_page *page, struct error *err)
{
	const cJSON *pagination = cJSON_GetObjectItemCaseSensitive(answer, "pagination"),
		    *more = cJSON_GetObjectItemCaseSensitive(pagination, "has_more");
	const char *next = "";
	int r;

	if (!cJSON_IsBool(more))
		return error_set(err, -EBADMSG, ANSWER ": pagination.has_more: expected true or false");
	if (cJSON_IsTrue(more)) {
		if ((r = json_get_string(ANSWER, pagination, "next_offset", &next, err)) < 0)
			return r;
		if (!*next || strlen(next) >= sizeof(page->next) || strcmp(next, page->next) <= 0)
			return error_set(err, -EBADMSG,
					 ANSWER
					 ": pagination.next_offset: expected a text after \"%s\", of at "
					 "most %zu bytes",
					 page->next, sizeof(page->next) - 1);
	}
	(void)snprintf(page->next, sizeof(page->next), "%s", next);
	return 0;
}

int lakefs_reply_differences(const cJSON *answer,
			     int (*each)(void *context, const struct lakefs_difference *difference),
			     void *context, struct lakefs_page *page, struct error *err)
{
	const cJSON *results = cJSON_GetObjectItemCaseSensitive(answer, "results"), *entry;
	int r = 0;

	if (!cJSON_IsArray(results))
		return error_set(err, -EBADMSG, ANSWER ": results: expected a list");
	cJSON_ArrayForEach(entry, results)
		if ((r = pass(entry, each, context, err)) != 0)
			return r;
	return next_page(answer, page, err);
}

int lakefs_reply_branches(const cJSON *answer, int (*each)(void *context, const char *branch), void *context,
			  struct lakefs_page *page, struct error *err)
{
	const cJSON *results = cJSON_GetObjectItemCaseSensitive(answer, "results"), *entry;
	const char *branch;
	int r;

	if (!cJSON_IsArray(results))
		return error_set(err, -EBADMSG, ANSWER ": results: expected a list");
	cJSON_ArrayForEach(entry, results)
		if ((r = json_get_string(ANSWER, entry, "id", &branch, err)) < 0 ||
		    (r = each(context, branch)) != 0)
			return r;
	return next_page(answer, page, err);
}

/* ---- Import ---- */

int lakefs_reply_import(const cJSON *answer, struct lakefs_progress *ret, struct error *err)
{
	const cJSON *completed = cJSON_GetObjectItemCaseSensitive(answer, "completed"),
		    *failed = cJSON_GetObjectItemCaseSensitive(answer, "error"),
		    *updated = cJSON_GetObjectItemCaseSensitive(answer, "update_time"),
		    *commit = cJSON_GetObjectItemCaseSensitive(answer, "commit");
	int r = 0;

	*ret = (struct lakefs_progress){ .completed = cJSON_IsTrue(completed) };
	if (cJSON_IsString(updated))
		(void)snprintf(ret->updated, sizeof(ret->updated), "%s", updated->valuestring);
	if (!cJSON_IsBool(completed))
		return error_set(err, -EBADMSG, ANSWER ": completed: expected true or false");
	if (cJSON_HasObjectItem(answer, "ingested_objects") &&
	    (r = json_get_u64(ANSWER, answer, "ingested_objects", &ret->objects, err)) < 0)
		return r;
	if (cJSON_IsObject(failed)) {
		const char *message;

		if ((r = json_get_string(ANSWER, failed, "message", &message, err)) == 0)
			(void)visible(*message ? message : "no reason given", ret->error, sizeof(ret->error));
		return r;
	}
	return ret->completed ? lakefs_reply_id(commit, "id", ret->id, err) : 0;
}
