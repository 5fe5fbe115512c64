/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/left_series.h"

#include "core/base/log.h"
#include "core/series/series.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/begin/claim_series.h"
#include "oneshot/begin/configured_store.h"

#include <string.h>

#define STAMP_BYTES 15u /* YYYYMMDD-HHMMSS */
#define NAMES_MAX   8u  /* that a warning has */

/* The branches of the series of one run.name, in order of names, which is that of time. */
struct left {
	char prefix[RUN_ID_BYTES + 8]; /* exp-<run.name>-series- */
	uint32_t found;                /* the newest branch is name[(found - 1) % LEFT_LOOKED_MAX] */
	char name[LEFT_LOOKED_MAX][CONFIG_REF_MAX + 1];
};

static int note_branch(void *context, const char *branch)
{
	struct left *left = context;

	if (strlen(branch) > strlen(left->prefix) + STAMP_BYTES)
		(void)snprintf(left->name[left->found++ % LEFT_LOOKED_MAX], sizeof(left->name[0]), "%s",
			       branch);
	return 0;
}

static int list_branches(const struct config *box, struct left *left, struct error *err)
{
	const struct store_options options = store_options_of(box);
	CLEANUP(versions_closep) struct versions *versions = NULL;
	int r = versions_sink_open(box, &options, &versions, err);

	(void)snprintf(left->prefix, sizeof(left->prefix), "exp-%.64s-series-", box->run.name);
	return r < 0 ? r : versions_branches(versions, left->prefix, note_branch, left, err);
}

/* Returns the branch `back` places before the newest one. */
static const char *branch_at(const struct left *left, uint32_t back)
{
	return left->name[(left->found - 1 - back) % LEFT_LOOKED_MAX];
}

static uint32_t looked(const struct left *left)
{
	return left->found < LEFT_LOOKED_MAX ? left->found : LEFT_LOOKED_MAX;
}

/* Copies the id of the series out of the name of a branch, "exp-<id>-<trial>". */
static void id_of(const struct left *left, const char *branch, char ret_id[static RUN_ID_BYTES])
{
	const size_t bytes = strlen(left->prefix) - strlen("exp-") + STAMP_BYTES;

	(void)snprintf(ret_id, RUN_ID_BYTES, "%.*s", (int)bytes, branch + strlen("exp-"));
}

/* Reads the record of a series on a branch; `branch` "" = that of sink.url. Errors: -ENOENT. */
static int read_record(const struct config *box, const char *branch, const char *id, cJSON **ret_series,
		       struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	struct config_store where = box->sink;
	CLEANUP(free_ptr) char *text = NULL;
	char key[SERIES_KEY_BYTES];
	uint64_t bytes;
	int r;

	(void)snprintf(where.at, sizeof(where.at), "%s", branch);
	if ((r = configured_store_open(box, &where, &sink, err)) < 0 ||
	    (r = store_get_all(sink, series_key(id, key), SERIES_JSON_MAX, &text, &bytes, err)) < 0)
		return r;
	return series_parse(key, text, bytes, ret_series, err);
}

/* Finds the newest series that this box has claimed on a branch. Returns 1 where there is one, else 0. */
static int find_ours(const struct config *box, const struct left *left, cJSON **ret_series, struct error *err)
{
	char id[RUN_ID_BYTES];
	int r = 0;

	for (uint32_t back = 0; r == 0 && back < looked(left); back++) {
		CLEANUP(json_free) cJSON *series = NULL;
		struct run claimed;

		id_of(left, branch_at(left, back), id);
		r = read_record(box, branch_at(left, back), id, &series, err);
		if (r == 0) {
			claimed = claim_box_of(series);
			r = run_is_ours(&claimed, err);
		}
		if (r > 0)
			*ret_series = TAKE(series);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

/* Tells whether a series has ended: its branch, the one merged into or that of sink.url says so. */
static bool has_ended(const struct config *box, const cJSON *series)
{
	const char *const branches[] = { box->branches.merge_into, "" };
	bool ended = series_is_final(series);

	for (size_t i = 0; !ended && i < sizeof(branches) / sizeof(branches[0]); i++) {
		CLEANUP(json_free) cJSON *record = NULL;

		ended = read_record(box, branches[i], series_id(series), &record, NULL) == 0;
	}
	return ended;
}

static void warn(const struct left *left, const char *id)
{
	char names[NAMES_MAX * (CONFIG_REF_MAX + 3)] = "", other[RUN_ID_BYTES];
	uint32_t count = 0;
	size_t used = 0;

	for (uint32_t back = looked(left); back > 0; back--) {
		const char *branch = branch_at(left, back - 1);

		id_of(left, branch, other);
		if (strcmp(other, id) == 0 && ++count <= NAMES_MAX)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
						 branch);
	}
	log_warning(
		"%s has not ended, and is not on this disk: no other series goes on with it. Its branches "
		"stay: %s%s. A branch that has a commit with kiln.run_id has a whole trial; delete those "
		"that nobody needs in lakeFS",
		id, names, count > NAMES_MAX ? " and more" : "");
}

static int look(const struct config *box, struct left *left, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r = list_branches(box, left, err);

	if (r < 0 || (r = find_ours(box, left, &series, err)) <= 0)
		return r;
	if (!has_ended(box, series))
		warn(left, series_id(series));
	return 0;
}

void left_series_say(const struct config *box)
{
	CLEANUP(free_ptr) struct left *left = NULL;
	struct error err;

	if (!versions_has_branches(&box->sink))
		return;
	left = calloc(1, sizeof(*left));
	if (left && look(box, left, &err) < 0)
		log_warning("%s; a series of an older disk may have left branches", err.text);
}
