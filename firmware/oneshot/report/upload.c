/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/upload.h"
#include "core/run/spool.h"
#include "drivers/store/store.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/branches/left.h"
#include "oneshot/report/make.h"

#include <string.h>

/* The sink that gets a report. For a run this is the sink of its frozen configuration, where its other files
 * are; for a night without a run it is the sink of kiln.conf. */
struct place {
	struct run run;
	const struct config *config;
	struct config_store where;
	bool uncommitted; /* kiln-uploadd has not committed the run's files yet */
	bool shared;      /* others write to the branch, too: it gets the report by a merge */
};

static void place_done(struct place *place)
{
	run_done(&place->run);
}

static struct store_options options_of(const struct report_upload *upload, const struct config *config)
{
	struct store_options options = store_options_of(config);

	options.patience_ms = upload->wait_ms;
	if (upload->wait_ms == 0)
		options.attempts_max = 1;
	return options;
}

/* The report of a run whose files are committed goes to the run's branch. It goes to the branch merged into
 * where the run's model was promoted, and where the run's branch is gone or somebody else's. A run without a
 * branch of its own has that of sink.url. */
static int find_branch(const struct report_upload *upload, const cJSON *record, struct place *place,
		       struct error *err)
{
	const struct store_options options = options_of(upload, place->config);
	int r = json_member(record, "promotion.merged")
			? 0
			: versions_run_is_on_branch(&place->run, &options, err);

	if (r == 0)
		place->where = versions_merge_target(place->config);
	place->shared = r == 0 || !*place->run.branch_from;
	return r < 0 ? r : 0;
}

static int find_place(const struct report_upload *upload, struct place *ret_place, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	CLEANUP(free_ptr) char *json = NULL;
	int r;

	ret_place->config = upload->config;
	ret_place->where = upload->config->sink;
	ret_place->shared = true;
	if (!upload->run_id || !report_load_run(upload->run_id, &ret_place->run, &json))
		return 0;
	ret_place->config = &ret_place->run.config;
	ret_place->where = ret_place->run.config.sink;
	ret_place->shared = false;
	if ((r = json_parse("run.json", json, strlen(json), &record, err)) < 0)
		return r;
	ret_place->uncommitted = !run_state_is_final(ret_place->run.state) || spool_has(ret_place->run.id);
	return ret_place->uncommitted ? 0 : find_branch(upload, record, ret_place, err);
}

static int put(const struct report_upload *upload, struct store *sink, const char *form, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX], path[PATH_BYTES];
	uint64_t bytes;
	int r = file_read(report_path(upload->id, form, path), REPORT_BYTES_MAX, &text, &bytes, err);

	if (upload->run_id)
		(void)snprintf(key, sizeof(key), "%s/report.%s", upload->run_id, form);
	else
		(void)snprintf(key, sizeof(key), "nights/%s-%s/report.%s", upload->config->run.name,
			       upload->id, form);
	return r < 0 ? r : store_put_checked(sink, key, text, bytes, NULL, err);
}

static int put_forms(const struct report_upload *upload, struct store *sink, struct error *err)
{
	char path[PATH_BYTES];
	/* a report that version 0.1.0 wrote has no such page */
	int r, has_html = file_exists(report_path(upload->id, "html", path), err);

	if (has_html < 0)
		return has_html;
	if ((r = put(upload, sink, "txt", err)) < 0 || (has_html && (r = put(upload, sink, "html", err)) < 0))
		return r;
	return put(upload, sink, "json", err);
}

static int fill_stage(const struct report_upload *upload, const struct stage *stage, const cJSON *metadata,
		      const struct store_options *options, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	int r;

	if ((r = store_open(&stage->at, options, &sink, err)) < 0 || (r = put_forms(upload, sink, err)) < 0)
		return r;
	return stage_merge(stage, upload->id, metadata, options, err);
}

/* Puts the report on a branch of its own, which is merged: a shared branch has nothing uncommitted. */
static int put_by_stage(const struct report_upload *upload, const struct place *place,
			const struct store_options *options, struct error *err)
{
	CLEANUP(json_free) cJSON *metadata = cJSON_CreateObject();
	struct store_options once = *options;
	char name[CONFIG_REF_MAX + 1];
	struct stage stage;
	int r;

	(void)snprintf(name, sizeof(name), LEFT_REPORT "%s-%s",
		       upload->run_id ? upload->run_id : upload->config->run.name, upload->id);
	if (!cJSON_AddStringToObject(metadata, "kiln.report", upload->id))
		return error_set(err, -ENOMEM, "no memory for a commit");
	once.attempts_max = 1; /* the wait is that of the report */
	once.patience_ms = 0;
	(void)left_delete(place->config, true, name, &once);
	r = left_stage_open(&place->where, name, options, &stage, err);
	if (r == 0)
		r = fill_stage(upload, &stage, metadata, options, err);
	left_stage_drop(&stage, options);
	return r;
}

/* The report of a run whose files are not committed yet goes into kiln-uploadd's one commit of the run. */
static int put_here(const struct report_upload *upload, const struct place *place,
		    const struct store_options *options, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	int r;

	if ((r = store_open(&place->where, options, &sink, err)) < 0 ||
	    (r = put_forms(upload, sink, err)) < 0 || place->uncommitted)
		return r;
	return versions_sink_commit(place->config, &place->where, "kiln.report", upload->id, options, err);
}

int report_upload(const struct report_upload *upload, struct error *err)
{
	CLEANUP(place_done) struct place place = { 0 };
	struct store_options options;
	int r = find_place(upload, &place, err);

	if (r < 0)
		return r;
	options = options_of(upload, place.config);
	return place.shared ? put_by_stage(upload, &place, &options, err)
			    : put_here(upload, &place, &options, err);
}
