/* SPDX-License-Identifier: Apache-2.0 */
/* Branches, commits, merges and tags. */
#include "drivers/lakefs/lakefs_call.h"
#include "drivers/lakefs/lakefs_reply.h"

#include <inttypes.h>
#include <string.h>

#define CONFLICTS_SHOWN 5u
#define LOOKED_AT       "100" /* newest commits of a branch */

/* ---- What is there ---- */

/* Asks for the commit of a ref; the caller frees *ret_commit. */
static int get_commit(struct lakefs *lakefs, const char *ref, cJSON **ret_commit, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	int r = LAKEFS_PATH(lakefs, path, err, "commits", ref);

	if (r == 0)
		r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err);
	if (r == 0)
		*ret_commit = TAKE(answer.json);
	return r;
}

int lakefs_resolve(struct lakefs *lakefs, const char *ref, char ret_id[static LAKEFS_ID_BYTES],
		   struct error *err)
{
	CLEANUP(json_free) cJSON *commit = NULL;
	int r = get_commit(lakefs, ref, &commit, err);

	return r < 0 ? r : lakefs_reply_id(commit, "id", ret_id, err);
}

/* Asks for the commit of a branch or a tag, which may have the same name. `kind`: "branches" or "tags". */
static int get_named(struct lakefs *lakefs, const char *kind, const char *name,
		     char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	int r = LAKEFS_PATH(lakefs, path, err, kind, name);

	if (r == 0)
		r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err);
	return r < 0 ? r : lakefs_reply_id(answer.json, "commit_id", ret_id, err);
}

int lakefs_head(struct lakefs *lakefs, const char *branch, char ret_id[static LAKEFS_ID_BYTES],
		struct error *err)
{
	return get_named(lakefs, "branches", branch, ret_id, err);
}

/* Makes a branch or a tag, as get_named() has them. Frees `body`. */
static int send_named(struct lakefs *lakefs, const char *kind, cJSON *body, long *ret_status,
		      struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	CLEANUP(json_free) cJSON *owned = body;
	char path[LAKEFS_PATH_BYTES];
	int r = LAKEFS_PATH(lakefs, path, err, kind);

	if (r < 0)
		return r;
	(void)cJSON_AddFalseToObject(owned, "force");
	r = lakefs_call(lakefs, HTTP_POST, path, TAKE(owned), &answer, err);
	*ret_status = answer.status;
	return r;
}

/* Writes the id of the branch's newest commit where that commit has all of the metadata: 1; else 0. */
static int find_mine(struct lakefs *lakefs, const char *branch, const cJSON *metadata,
		     char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	CLEANUP(json_free) cJSON *commit = NULL;
	int r;

	if ((r = get_named(lakefs, "branches", branch, ret_id, err)) < 0 ||
	    (r = get_commit(lakefs, ret_id, &commit, err)) < 0)
		return r;
	return lakefs_reply_is_mine(commit, metadata);
}

int lakefs_find_commit(struct lakefs *lakefs, const char *branch, const cJSON *metadata,
		       char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	int r;

	if ((r = LAKEFS_PATH(lakefs, path, err, "refs", branch, "commits")) < 0 ||
	    (r = lakefs_query(path, "amount", LOOKED_AT, err)) < 0 ||
	    (r = lakefs_query(path, "first_parent", "true", err)) < 0 ||
	    (r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err)) < 0)
		return r;
	return lakefs_reply_find(answer.json, metadata, ret_id, err);
}

/* ---- Branches ---- */

static int send_branch(struct lakefs *lakefs, const char *branch, const char *commit, long *ret_status,
		       struct error *err)
{
	cJSON *body = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(body, "name", branch);
	(void)cJSON_AddStringToObject(body, "source", commit);
	(void)cJSON_AddFalseToObject(body, "hidden");
	return send_named(lakefs, "branches", body, ret_status, err);
}

int lakefs_branch_new(struct lakefs *lakefs, const char *branch, const char *commit, struct error *err)
{
	long status;

	return send_branch(lakefs, branch, commit, &status, err);
}

int lakefs_branch(struct lakefs *lakefs, const char *branch, const char *commit, const cJSON *mine,
		  struct error *err)
{
	char head[LAKEFS_ID_BYTES];
	long status = 0;
	int r = send_branch(lakefs, branch, commit, &status, err);

	if (status != 409)
		return r;
	if ((r = lakefs_find_commit(lakefs, branch, mine, head, err)) != 0)
		return r < 0 ? r : 0;
	if ((r = get_named(lakefs, "branches", branch, head, err)) < 0)
		return r;
	return strcmp(head, commit) == 0
		       ? 0
		       : error_set(
				 err, -EEXIST,
				 "lakefs://%s: the branch '%s' exists and is not ours: its newest commit is "
				 "%s, expected %s",
				 lakefs->repository, branch, head, commit);
}

int lakefs_branch_delete(struct lakefs *lakefs, const char *branch, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	int r = LAKEFS_PATH(lakefs, path, err, "branches", branch);

	if (r == 0)
		r = lakefs_call(lakefs, HTTP_DELETE, path, NULL, &answer, err);
	return answer.status == 404 ? 0 : r;
}

/* ---- Commits ---- */

/* Ends the listing at the first difference. */
static int note_any(void *context, const struct lakefs_difference *difference)
{
	bool *any = context;

	(void)difference;
	*any = true;
	return 1;
}

/* Whether the branch has no uncommitted changes: 1 or 0. */
static int is_clean(struct lakefs *lakefs, const char *branch, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	struct lakefs_page page = { 0 };
	char path[LAKEFS_PATH_BYTES];
	bool any = false;
	int r = LAKEFS_PATH(lakefs, path, err, "branches", branch, "diff");

	if (r == 0)
		r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err);
	if (r == 0)
		r = lakefs_reply_differences(answer.json, note_any, &any, &page, err);
	return r < 0 ? r : !any;
}

void lakefs_add_commit(cJSON *body, const char *message, const cJSON *metadata, bool empty)
{
	(void)cJSON_AddStringToObject(body, "message", message);
	if (cJSON_GetArraySize(metadata) > 0)
		(void)cJSON_AddItemToObject(body, "metadata", cJSON_Duplicate(metadata, true));
	(void)cJSON_AddBoolToObject(body, "allow_empty", empty);
	(void)cJSON_AddFalseToObject(body, "force");
}

/* Asks for a commit, whose id is the member `key` of the answer. */
static int send_change(struct lakefs *lakefs, const char *path, cJSON *body, const char *key,
		       char ret_id[static LAKEFS_ID_BYTES], long *ret_status, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	int r = lakefs_call(lakefs, HTTP_POST, path, body, &answer, err);

	*ret_status = answer.status;
	return r < 0 ? r : lakefs_reply_id(answer.json, key, ret_id, err);
}

static int send_commit(struct lakefs *lakefs, const char *branch, const char *message, const cJSON *metadata,
		       char ret_id[static LAKEFS_ID_BYTES], long *ret_status, struct error *err)
{
	char path[LAKEFS_PATH_BYTES];
	cJSON *body;
	int r = LAKEFS_PATH(lakefs, path, err, "branches", branch, "commits");

	if (r < 0)
		return r;
	body = cJSON_CreateObject();
	lakefs_add_commit(body, message, metadata, false);
	return send_change(lakefs, path, body, "id", ret_id, ret_status, err);
}

/* Finds out why the server refuses a commit or a merge: `nothing` is 1 where there was nothing to do, and
 * then the branch's newest commit may be the one that was asked for. */
static int explain(struct lakefs *lakefs, const char *branch, const cJSON *metadata, int nothing,
		   const struct error *said, char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	int r;

	if (nothing < 0)
		return nothing;
	if (!nothing) {
		if (err)
			*err = *said;
		return said->code;
	}
	r = find_mine(lakefs, branch, metadata, ret_id, err);
	if (r == 0)
		return error_set(err, -ENODATA, "%s: nothing has changed", said->text);
	return r < 0 ? r : 0;
}

int lakefs_commit(struct lakefs *lakefs, const char *branch, const char *message, const cJSON *metadata,
		  char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	struct error said = { 0 };
	long status = 0;
	int r = send_commit(lakefs, branch, message, metadata, ret_id, &status, &said);

	/* Hooks run before the server looks whether anything has changed. */
	if (status == 400 || status == 412)
		return explain(lakefs, branch, metadata, is_clean(lakefs, branch, err), &said, ret_id, err);
	if (r < 0 && err)
		*err = said;
	return r;
}

int lakefs_commit_empty(struct lakefs *lakefs, const char *branch, const char *message, const cJSON *metadata,
			char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	cJSON *body;
	int r = LAKEFS_PATH(lakefs, path, err, "branches", branch, "commits");

	if (r < 0)
		return r;
	body = cJSON_CreateObject();
	lakefs_add_commit(body, message, metadata, true);
	r = lakefs_post_once(lakefs, path, body, &answer, err);
	return r < 0 ? r : lakefs_reply_id(answer.json, "id", ret_id, err);
}

/* ---- Merges ---- */

struct conflicts {
	char text[1024];
	uint32_t count;
};

static int note_conflict(void *context, const struct lakefs_difference *difference)
{
	struct conflicts *conflicts = context;
	size_t used = strlen(conflicts->text);

	if (strcmp(difference->type, "conflict") == 0 && conflicts->count++ < CONFLICTS_SHOWN)
		(void)snprintf(conflicts->text + used, sizeof(conflicts->text) - used, "%s%s",
			       used ? ", " : "", difference->path);
	return 0;
}

/* Sets the error of a merge that both sides' changes forbid: the paths come from the difference, as the
 * answer does not have them. */
static int name_conflicts(struct lakefs *lakefs, const char *ref, const char *branch,
			  const struct error *said, struct error *err)
{
	struct conflicts conflicts = { 0 };
	struct error why = { 0 };
	int r = lakefs_diff(lakefs, branch, ref, note_conflict, &conflicts, &why);

	if (r == 0 && conflicts.count == 0)
		return error_set(err, -ESTALE, "%s; nothing was merged", said->text);
	return error_set(err, -ESTALE,
			 "lakefs://%s: merging %s into %s: %" PRIu32 " paths changed on both sides: %s%s%s; "
			 "nothing was merged",
			 lakefs->repository, ref, branch, conflicts.count, conflicts.text,
			 conflicts.count > CONFLICTS_SHOWN ? ", ..." : "", r < 0 ? why.text : "");
}

static int send_merge(struct lakefs *lakefs, const char *ref, const char *branch, const char *message,
		      const cJSON *metadata, bool ref_wins, char ret_id[static LAKEFS_ID_BYTES],
		      long *ret_status, struct error *err)
{
	char path[LAKEFS_PATH_BYTES];
	cJSON *body;
	int r = LAKEFS_PATH(lakefs, path, err, "refs", ref, "merge", branch);

	if (r < 0)
		return r;
	body = cJSON_CreateObject();
	lakefs_add_commit(body, message, metadata, false);
	(void)cJSON_AddFalseToObject(body, "squash_merge");
	if (ref_wins)
		(void)cJSON_AddStringToObject(body, "strategy", "source-wins");
	return send_change(lakefs, path, body, "reference", ret_id, ret_status, err);
}

/* Whether the branch has all that the ref has: 1 or 0. */
static int is_merged(struct lakefs *lakefs, const char *ref, const char *branch, struct error *err)
{
	bool any = false;
	int r = lakefs_diff(lakefs, branch, ref, note_any, &any, err);

	return r < 0 ? r : !any;
}

/* Finds out why the server calls a merge wrong. */
static int explain_merge(struct lakefs *lakefs, const char *ref, const char *branch, const cJSON *metadata,
			 const struct error *said, char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	const int merged = is_merged(lakefs, ref, branch, err),
		  clean = merged ? 1 : is_clean(lakefs, branch, err);

	if (clean < 0)
		return clean;
	if (!clean)
		return error_set(err, -EUCLEAN, "%s: %s has changes that are not committed", said->text,
				 branch);
	return explain(lakefs, branch, metadata, merged, said, ret_id, err);
}

int lakefs_merge(struct lakefs *lakefs, const char *ref, const char *branch, const char *message,
		 const cJSON *metadata, bool ref_wins, char ret_id[static LAKEFS_ID_BYTES], struct error *err)
{
	struct error said = { 0 };
	long status = 0;
	int r = send_merge(lakefs, ref, branch, message, metadata, ref_wins, ret_id, &status, &said);

	if (status == 409)
		return name_conflicts(lakefs, ref, branch, &said, err);
	if (status == 400)
		return explain_merge(lakefs, ref, branch, metadata, &said, ret_id, err);
	if (r < 0 && err)
		*err = said;
	return r;
}

/* ---- Tags ---- */

int lakefs_tag(struct lakefs *lakefs, const char *tag, const char *commit, struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	char there[LAKEFS_ID_BYTES];
	long status = 0;
	int r;

	(void)cJSON_AddStringToObject(body, "id", tag);
	(void)cJSON_AddStringToObject(body, "ref", commit);
	r = send_named(lakefs, "tags", body, &status, err);
	if (status != 409 || (r = get_named(lakefs, "tags", tag, there, err)) < 0)
		return r;
	return strcmp(there, commit) == 0
		       ? 0
		       : error_set(err, -EEXIST,
				   "lakefs://%s: the tag '%s' names another commit: %s, expected %s",
				   lakefs->repository, tag, there, commit);
}
