/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/merge.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/run/spool.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/branches/left.h"
#include "oneshot/promote/merge_commit.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define REFRESH  "the newest champion"
#define TAGS_MAX 100u /* promotions of a day */

/* ---- The two branches ---- */

/* Files of the winner are not in the store: they come, or the store refuses them. */
static int fail_uploading(const struct winner *winner, struct error *err)
{
	const char *why =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(winner->record, "uploads_refused"));

	return why ? error_set(err, -EINVAL, "%s: its files are not in the store: %s", winner->run_id, why)
		   : error_set(err, -EBUSY, "%s: its files are not all in the store yet", winner->run_id);
}

/* Finds the branch by which a run of its own is promoted: an earlier start may have left it. */
static int find_own(const struct winner *winner, struct merge *merge, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char branch[CONFIG_REF_MAX + 1], id[VERSIONS_ID_BYTES];
	int r = merge_versions(&winner->config, &versions, err);

	if (r < 0)
		return r;
	versions_promotion_branch(winner->run_id, branch);
	r = versions_resolve(versions, branch, id, err);
	merge->gone = r == -ENOENT;
	if (r == 0)
		(void)snprintf(merge->from.at, sizeof(merge->from.at), "%s", branch);
	return merge->gone ? 0 : r;
}

/* Finds the branch of a trial. An earlier promotion may have noted it as one to be deleted, but it has the
 * only model: the outcome says what becomes of it. */
static int find_of_trial(const struct winner *winner, struct merge *merge, struct error *err)
{
	int r = versions_run_sink(&winner->config, winner->record, &merge->from, err);

	merge->gone = strcmp(merge->from.at, merge->into.at) == 0;
	if (r == 0 && !merge->gone)
		left_forget(merge->from.at);
	return r;
}

int merge_open(const struct winner *winner, struct merge *ret_merge, struct error *err)
{
	int r;

	*ret_merge = (struct merge){ .from = winner->config.sink,
				     .into = versions_merge_target(&winner->config),
				     .branches = versions_has_branches(&winner->config.sink),
				     .alone = !cJSON_HasObjectItem(winner->record, "sink_branch") };
	if (!ret_merge->branches)
		return 0;
	if (spool_has(winner->run_id))
		return fail_uploading(winner, err);
	r = ret_merge->alone ? find_own(winner, ret_merge, err) : find_of_trial(winner, ret_merge, err);
	return merge_later(r, err);
}

struct names {
	char from[CONFIG_REF_MAX + 1], into[CONFIG_REF_MAX + 1];
};

static struct names names_of(const struct merge *merge)
{
	struct names names;

	(void)versions_branch_of(&merge->from, names.from);
	(void)versions_branch_of(&merge->into, names.into);
	return names;
}

static int merge_branches(struct versions *versions, const char *from, const char *into, const char *message,
			  const cJSON *metadata, struct error *err)
{
	char id[VERSIONS_ID_BYTES];
	int r = versions_merge(versions, from, into, message, metadata, false, id, err);

	return r == -ENODATA ? 0 : merge_later(r, err);
}

/* The branch of a run of its own is deleted with the outcome; for that of a trial sink.keep_branches counts.
 */
static void note_branch(const struct merge *merge, const char *branch)
{
	if (merge->alone)
		left_note(&merge->into, branch);
	else
		left_forget(branch);
}

int merge_begin(const struct winner *winner, struct merge *merge, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char head[VERSIONS_ID_BYTES], branch[CONFIG_REF_MAX + 1];
	struct config_store made = merge->from;
	int r = 0;

	if (!merge->branches || !merge->gone)
		return 0;
	if (merge->alone)
		versions_promotion_branch(winner->run_id, made.at);
	else
		r = run_branch_use("run.json", winner->record, &made, branch, err);
	if (r < 0 || (r = merge_versions(&winner->config, &versions, err)) < 0 ||
	    (r = versions_resolve(versions, versions_branch_of(&merge->from, branch), head, err)) < 0)
		return merge_later(r, err);
	note_branch(merge, made.at);
	if ((r = versions_branch(versions, made.at, head, NULL, err)) < 0)
		return merge_later(r, err);
	merge->from = made;
	merge->gone = false;
	return 0;
}

/* ---- Commit and merge ---- */

static cJSON *metadata_of_champion(uint64_t number, const char *run_id, const char *series)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	return merge_metadata("kiln.champion", text, run_id, series);
}

/* ---- The newest of the branch merged into ---- */

/* What a promotion writes on the winner's branch besides the winner's own files: the champion's folder, and
 * the records of series. It writes all that it needs of them anew. */
struct own_paths {
	char models[PATH_BYTES], series[PATH_BYTES];
};

static int fail_foreign(void *context, enum versions_change change, const char *path, uint64_t bytes)
{
	const struct own_paths *own = context;

	(void)bytes;
	return change == VERSIONS_CONFLICT && strncmp(path, own->models, strlen(own->models)) != 0 &&
	       strncmp(path, own->series, strlen(own->series)) != 0;
}

/* Tells whether all paths that both branches have changed are of Kiln: 1 or 0. */
static int conflicts_are_own(const struct winner *winner, struct versions *versions,
			     const struct names *names, struct error *err)
{
	struct config_lakefs parts;
	struct own_paths own;
	const char *slash;
	int r;

	(void)config_lakefs(winner->config.sink.url, &parts);
	slash = *parts.prefix ? "/" : "";
	(void)snprintf(own.models, sizeof(own.models), "%s%smodels/%s/", parts.prefix, slash,
		       winner->config.run.name);
	(void)snprintf(own.series, sizeof(own.series), "%s%sseries/", parts.prefix, slash);
	r = versions_diff(versions, names->from, names->into, fail_foreign, &own, err);
	return r < 0 ? r : !r;
}

/* Merges into the winner's branch. Changes there that are not committed are those of an earlier promotion, or
 * a report. */
static int refresh(const struct winner *winner, struct versions *versions, const struct names *names,
		   bool into_wins, struct error *err)
{
	CLEANUP(json_free) cJSON *metadata = merge_metadata("kiln.left", winner->run_id, "", "");
	char id[VERSIONS_ID_BYTES];
	int r = versions_merge(versions, names->into, names->from, REFRESH, NULL, into_wins, id, err);

	if (r != -EUCLEAN || !metadata)
		return r;
	r = merge_commit(versions, names->from, "what an earlier start has left", metadata, id, err);
	return r < 0 ? r
		     : versions_merge(versions, names->into, names->from, REFRESH, NULL, into_wins, id, err);
}

int merge_refresh(const struct winner *winner, const struct merge *merge, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	const struct names names = names_of(merge);
	struct error conflict;
	int r;

	if (!merge->branches)
		return 0;
	if ((r = merge_versions(&winner->config, &versions, err)) < 0)
		return r;
	r = refresh(winner, versions, &names, false, err);
	if (r == -ESTALE) {
		conflict = *err;
		if (conflicts_are_own(winner, versions, &names, err) > 0)
			r = refresh(winner, versions, &names, true, err);
		else
			*err = conflict;
	}
	return r == -ENODATA ? 0 : merge_later(r, err);
}

/* ---- Tag ---- */

/* Tells whether a failure to make a tag leaves the commit without one: the merge stands, and waiting does not
 * help. */
static bool goes_without(const struct error *err)
{
	return err->code == -EEXIST || error_exit_code(err) != EX_UNAVAILABLE;
}

/* Gives a commit the tag of the day, or finds the one that it has. Where the server makes none, the commit
 * has none. */
static int tag(struct versions *versions, int64_t promoted_s, struct merge *merge, struct error *err)
{
	const time_t day = promoted_s;
	char name[MERGE_TAG_BYTES];
	struct tm tm;
	int r = -EEXIST;

	(void)gmtime_r(&day, &tm);
	(void)strftime(name, sizeof(name), "nightly-%Y%m%d", &tm);
	(void)snprintf(merge->tag, sizeof(merge->tag), "%s", name);
	for (uint32_t i = 1; i <= TAGS_MAX; i++) {
		r = versions_tag(versions, merge->tag, merge->commit, err);
		if (r != -EEXIST)
			break;
		(void)snprintf(merge->tag, sizeof(merge->tag), "%.20s-%" PRIu32, name, i + 1);
	}
	if (r == 0 || !goes_without(err))
		return merge_later(r, err);
	log_warning("%s; the commit has no tag", err->text);
	merge->tag[0] = '\0';
	return 0;
}

/* ---- What came out ---- */

/* Sends the event, unless the record has it: a champion may be promoted again. */
static void say_merged(const struct winner *winner, const struct merge *merge, const struct names *names)
{
	const char *noted = cJSON_GetStringValue(json_member(winner->record, "promotion.merged.commit"));

	if (noted && strcmp(noted, merge->commit) == 0)
		return;
	event_send(&(struct event){ .id = EVENT_BRANCH_MERGED,
				    .run_id = winner->run_id,
				    .url = winner->config.sink.url },
		   "%s: %s merged into %s, commit %s, tag %s", winner->run_id, names->from, names->into,
		   merge->commit, *merge->tag ? merge->tag : "none");
}

/* Commits and merges. */
static int commit_and_merge(const struct winner *winner, struct versions *versions, struct merge *merge,
			    const struct names *names, const cJSON *metadata, struct error *err)
{
	struct error conflict;
	char message[128];
	int r;

	(void)snprintf(message, sizeof(message), "champion: %s", winner->run_id);
	r = merge_commit(versions, names->from, message, metadata, merge->commit, err);
	if (r < 0)
		return r;
	r = merge_branches(versions, names->from, names->into, message, metadata, err);
	if (r != -ESTALE)
		return r;
	conflict = *err;
	if (conflicts_are_own(winner, versions, names, err) > 0)
		conflict.code =
			-EBUSY; /* another champion came during the copies: the next start judges again */
	*err = conflict;
	return err->code;
}

static int promote(const struct winner *winner, struct versions *versions, struct merge *merge,
		   const cJSON *metadata, int64_t promoted_s, struct error *err)
{
	const struct names names = names_of(merge);
	int r = 0;

	if (merge->merged)
		r = merge_later(versions_find_commit(versions, names.from, metadata, merge->commit, err),
				err);
	if (r == 0)
		r = commit_and_merge(winner, versions, merge, &names, metadata, err);
	if (r < 0 || (r = tag(versions, promoted_s, merge, err)) < 0)
		return r;
	say_merged(winner, merge, &names);
	return 0;
}

int merge_promote(const struct winner *winner, struct merge *merge, uint64_t number, int64_t promoted_s,
		  struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	CLEANUP(json_free)
	cJSON *metadata = metadata_of_champion(number, winner->run_id, winner_series(winner));
	int r;

	if (!merge->branches || merge->gone)
		return 0;
	if (!metadata)
		return error_set(err, -ENOMEM, "no memory for a commit");
	r = merge_versions(&winner->config, &versions, err);
	return r < 0 ? r : promote(winner, versions, merge, metadata, promoted_s, err);
}

int merge_newest(const struct config *config, struct config_store *where, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char branch[CONFIG_REF_MAX + 1], id[VERSIONS_ID_BYTES];
	int r;

	if (!versions_has_branches(where))
		return 0;
	if ((r = merge_versions(config, &versions, err)) < 0 ||
	    (r = versions_resolve(versions, versions_branch_of(where, branch), id, err)) < 0)
		return r;
	(void)snprintf(where->at, sizeof(where->at), "%s", id);
	return 0;
}
