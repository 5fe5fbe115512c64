/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside drivers/lakefs: parses the JSON of lakeFS's answers. Pure functions: outside bytes in, values out.
 * Errors: -EBADMSG.
 */
#pragma once

#include "drivers/lakefs/lakefs.h"

#define LAKEFS_TOKEN_BYTES 1200u /* the last path of a page of differences, and a NUL */
#define LAKEFS_SAID_BYTES  1024u
#define LAKEFS_TIME_BYTES  64u

/* Writes the message of an answer that refuses, as one line. Where the answer is no Error of the API, writes
 * its beginning. "" = the answer says nothing. */
void lakefs_reply_said(const char *text, size_t bytes, char out[static LAKEFS_SAID_BYTES]);

/* Writes the id of a commit: the member `key` of a Commit ("id"), a Ref ("commit_id") or a MergeResult
 * ("reference"). */
MUST_CHECK int lakefs_reply_id(const cJSON *answer, const char *key, char ret_id[static LAKEFS_ID_BYTES],
			       struct error *err);
/* Writes the id that is the whole text of an answer, such as that of a new branch. */
MUST_CHECK int lakefs_reply_text_id(const char *text, size_t bytes, char ret_id[static LAKEFS_ID_BYTES],
				    struct error *err);

/* Whether the metadata of a Commit has all members of `mine`, which are strings. False where `mine` is empty
 * or NULL. */
bool lakefs_reply_is_mine(const cJSON *commit, const cJSON *mine);

/* Writes the id of the first commit of a CommitList that has all members of `mine`. Returns 1 where there is
 * one, else 0. */
MUST_CHECK int lakefs_reply_find(const cJSON *answer, const cJSON *mine, char ret_id[static LAKEFS_ID_BYTES],
				 struct error *err);

struct lakefs_page {
	char next[LAKEFS_TOKEN_BYTES]; /* where the next page begins; "" = this was the last */
};

/* Calls `each` for the entries of a DiffList. A page whose successor is itself is an error, so that a listing
 * ends. */
MUST_CHECK int lakefs_reply_differences(const cJSON *answer,
					int (*each)(void *context,
						    const struct lakefs_difference *difference),
					void *context, struct lakefs_page *page, struct error *err);

/* Does the same with the names of a RefList of branches. */
MUST_CHECK int lakefs_reply_branches(const cJSON *answer, int (*each)(void *context, const char *branch),
				     void *context, struct lakefs_page *page, struct error *err);

struct lakefs_progress {
	bool completed;
	uint64_t objects;
	char updated[LAKEFS_TIME_BYTES]; /* when the server noted this; "" = the answer does not say */
	char error[LAKEFS_SAID_BYTES];   /* why the import failed; "" = it has not failed */
	char id[LAKEFS_ID_BYTES];        /* id of the import's commit, once the import is completed */
};

MUST_CHECK int lakefs_reply_import(const cJSON *answer, struct lakefs_progress *ret, struct error *err);
