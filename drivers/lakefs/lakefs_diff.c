/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/lakefs/lakefs_call.h"
#include "drivers/lakefs/lakefs_reply.h"

/* Asks for one page, and passes its entries on. */
static int diff_page(struct lakefs *lakefs, const char *left, const char *right, struct lakefs_page *page,
		     int (*each)(void *context, const struct lakefs_difference *difference), void *context,
		     struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	int r = LAKEFS_PATH(lakefs, path, err, "refs", left, "diff", right);

	if (r == 0 && page->next[0])
		r = lakefs_query(path, "after", page->next, err);
	if (r == 0)
		r = lakefs_query(path, "type", "three_dot", err);
	if (r == 0)
		r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err);
	return r < 0 ? r : lakefs_reply_differences(answer.json, each, context, page, err);
}

int lakefs_diff(struct lakefs *lakefs, const char *left, const char *right,
		int (*each)(void *context, const struct lakefs_difference *difference), void *context,
		struct error *err)
{
	struct lakefs_page page = { 0 };
	int r;

	do
		r = diff_page(lakefs, left, right, &page, each, context, err);
	while (r == 0 && page.next[0]);
	return r;
}

/* ---- Branches ---- */

static int branches_page(struct lakefs *lakefs, const char *prefix, struct lakefs_page *page,
			 int (*each)(void *context, const char *branch), void *context, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	int r = LAKEFS_PATH(lakefs, path, err, "branches");

	if (r == 0 && page->next[0])
		r = lakefs_query(path, "after", page->next, err);
	if (r == 0)
		r = lakefs_query(path, "prefix", prefix, err);
	if (r == 0)
		r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err);
	return r < 0 ? r : lakefs_reply_branches(answer.json, each, context, page, err);
}

int lakefs_branches(struct lakefs *lakefs, const char *prefix, int (*each)(void *context, const char *branch),
		    void *context, struct error *err)
{
	struct lakefs_page page = { 0 };
	int r;

	do
		r = branches_page(lakefs, prefix, &page, each, context, err);
	while (r == 0 && page.next[0]);
	return r;
}
