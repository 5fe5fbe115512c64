/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/branches.h"
#include "drivers/versions/versions.h"
#include "preflight/stores.h"

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define NOTHING "kiln-check-nothing" /* no branch, tag or commit has this name */
#define BRANCH  "exp-kiln-check-"    /* a name like those of trials, for which a policy may have a rule */

struct look {
	struct preflight *preflight;
	struct versions *versions;
	char sink[CONFIG_REF_MAX + 1],
		head[VERSIONS_ID_BYTES]; /* branch of sink.url, and its newest commit */
	char own[64];                    /* the branch of this check */
	char missing[256];               /* actions, separated by commas */
	bool lacking; /* one of them is needed: without the others branches are left, or a champion has no tag
		       */
	struct error first;  /* the first refusal */
	struct error failed; /* the first failure that is no refusal; code 0 = none */
};

static void look_done(struct look *look)
{
	versions_close(look->versions);
}

/* Notes what a request says of an action. A hook that refuses comes after the permission. `expected`: a
 * failure that shows that the request was allowed. Returns whether it is. */
static bool note(struct look *look, const char *action, bool needed, int r, int expected,
		 const struct error *err)
{
	const size_t used = strlen(look->missing);

	if (r != -EACCES) {
		if (r < 0 && r != expected && r != -EPERM && !look->failed.code)
			look->failed = *err;
		return true;
	}
	if (!used)
		look->first = *err;
	(void)snprintf(look->missing + used, sizeof(look->missing) - used, "%s%s", used ? ", " : "", action);
	look->lacking = look->lacking || needed;
	return false;
}

static int stop(void *context, const struct store_object *object)
{
	(void)context;
	(void)object;
	return 1;
}

/* ---- Objects ---- */

static void try_objects(struct look *look, struct store *store)
{
	static const char key[] = PREFLIGHT_KEY "object", text[] = "kiln check deletes this branch\n";
	struct store_object object;
	struct error err = { 0 };
	int r = store_list(store, NULL, stop, NULL, &err);

	(void)note(look, "fs:ListObjects", true, r < 0 ? r : 0, 0, &err);
	r = store_put(store, key, text, strlen(text), &err);
	(void)note(look, "fs:WriteObject", true, r, 0, &err);
	r = store_stat(store, key, &object, &err);
	(void)note(look, "fs:ReadObject", true, r, -ENOENT, &err);
	r = store_delete(store, key, &err);
	(void)note(look, "fs:DeleteObject", true, r, -ENOENT, &err);
}

/* Puts an object to the branch of this check. */
static void try_own(struct look *look)
{
	struct config_store where = look->preflight->config->sink;
	CLEANUP(store_closep) struct store *store = NULL;
	struct error err = { 0 };
	int r;

	(void)snprintf(where.at, sizeof(where.at), "%s", look->own);
	r = preflight_store_open(look->preflight, &where, &store, &err);
	if (r == 0)
		try_objects(look, store);
	else if (!look->failed.code)
		look->failed = err;
}

/* Makes a branch of its own, uses and deletes it. The branch may be there also where the answer to its
 * creation was lost. */
static void try_branch(struct look *look)
{
	struct error err = { 0 };
	int r = versions_branch_new(look->versions, look->own, look->head, &err);

	if (!note(look, "fs:CreateBranch", true, r, 0, &err))
		return;
	if (r == 0)
		try_own(look);
	r = versions_branch_delete(look->versions, look->own, &err);
	(void)note(look, "fs:DeleteBranch", false, r, 0, &err);
}

/* Tells whether the branch of sink.url takes objects, where runs without a series upload to it: by the
 * deletion of an object that is not there. */
static void try_sink(struct look *look)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct error err = { 0 };
	int r;

	if (config_has_trials(look->preflight->config))
		return;
	r = preflight_store_open(look->preflight, &look->preflight->config->sink, &store, &err);
	if (r == 0)
		r = store_delete(store, PREFLIGHT_KEY "nothing", &err);
	if (r == -EACCES)
		preflight_add(look->preflight, "sink", PREFLIGHT_FAILED,
			      "let the branch take objects, or give another one in sink.url", "%s: %s",
			      look->sink, err.text);
	else if (r < 0 && r != -ENOENT && !look->failed.code)
		look->failed = err;
}

/* ---- Permissions ---- */

/* The branch is made only where it can be deleted. */
static void try_all(struct look *look)
{
	char id[VERSIONS_ID_BYTES];
	struct error err = { 0 };
	bool deletes;
	int r = versions_resolve(look->versions, look->sink, id, &err);

	(void)note(look, "fs:ReadCommit", true, r, 0, &err);
	r = versions_commit(look->versions, NOTHING, "kiln check", NULL, true, id, &err);
	(void)note(look, "fs:CreateCommit", true, r, -ENOENT, &err);
	r = versions_tag(look->versions, NOTHING, NOTHING, &err);
	(void)note(look, "fs:CreateTag", false, r, -ENOENT, &err);
	r = versions_branch_delete(look->versions, look->own, &err);
	deletes = note(look, "fs:DeleteBranch", false, r, 0, &err);
	if (deletes) {
		try_branch(look);
		return;
	}
	r = versions_branch_new(look->versions, look->sink, look->head, &err);
	(void)note(look, "fs:CreateBranch", true, r, -EEXIST, &err);
}

static void say(struct look *look)
{
	struct preflight *preflight = look->preflight;

	if (look->failed.code)
		preflight_add_error(preflight, "sink", &look->failed);
	if (*look->missing)
		preflight_add(preflight, "sink", look->lacking ? PREFLIGHT_FAILED : PREFLIGHT_WARNING,
			      "give the access key these actions", "%s: the access key may not do %s: %s",
			      preflight->config->sink.url, look->missing, look->first.text);
	else if (!look->failed.code)
		preflight_add(preflight, "sink", PREFLIGHT_OK, "",
			      "%s: the access key may do all that a night and a promotion need",
			      preflight->config->sink.url);
}

/* ---- Branches ---- */

/* Finds the newest commit of a branch; says where there is none. Returns whether it is there. */
static bool find(struct look *look, const char *key, const char *branch,
		 char ret_id[static VERSIONS_ID_BYTES])
{
	struct preflight *preflight = look->preflight;
	struct error err = { 0 };
	int r = versions_head(look->versions, branch, ret_id, &err);

	if (r == -ENOENT)
		preflight_add(preflight, "sink", PREFLIGHT_FAILED, "make the branch, or mend the key",
			      "%s: %s", key, err.text);
	else if (r < 0)
		preflight_add_error(preflight, "sink", &err);
	else
		preflight_add(preflight, "sink", PREFLIGHT_OK, "", "%s: the branch %s is at commit %s", key,
			      branch, ret_id);
	return r == 0;
}

void preflight_branches(struct preflight *preflight)
{
	const struct config *config = preflight->config;
	const struct store_options options = preflight_store_options(preflight);
	CLEANUP(look_done) struct look look = { .preflight = preflight };
	char id[VERSIONS_ID_BYTES];
	struct error err = { 0 };
	uint32_t mark = 0;
	bool found;

	if (versions_open(&config->sink, &options, &look.versions, &err) < 0) {
		preflight_add_error(preflight, "sink", &err);
		return;
	}
	if (getrandom(&mark, sizeof(mark), 0) < 0)
		mark = (uint32_t)getpid();
	(void)snprintf(look.own, sizeof(look.own), BRANCH "%08" PRIx32, mark);
	found = find(&look, "sink.url", versions_branch_of(&config->sink, look.sink), look.head);
	if (*config->branches.merge_into)
		(void)find(&look, "sink.merge_into", config->branches.merge_into, id);
	if (!found)
		return;
	try_all(&look);
	try_sink(&look);
	say(&look);
}
