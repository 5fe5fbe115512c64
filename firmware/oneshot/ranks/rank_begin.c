/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/ranks/members.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/stored_plan.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/ranks/job_read.h"
#include "oneshot/ranks/ranks.h"

#include <string.h>
#include <sysexits.h>

/* Gives the record of the store the plan that the leading box has: its own record of the plan may not be in
 * the store yet. The caller frees *ret_text. */
static int add_plan(const char *text, uint64_t bytes, const char *plan_sha256, char **ret_text,
		    struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	int r = json_parse("run.json", text, bytes, &record, err);

	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(record, "plan_sha256");
	if (!cJSON_AddStringToObject(record, "plan_sha256", plan_sha256))
		return error_set(err, -ENOMEM, "no memory");
	return json_print(record, ret_text, err);
}

static int check_text(uint32_t source, const char *key, const char *found, const char *here,
		      struct error *err)
{
	return strcmp(found, here) == 0 ? 0
					: error_set(err, -EINVAL,
						    "source %u of the run: %s: found \"%s\", expected \"%s\" "
						    "as in %s of this box",
						    source, key, found, here, config_path(0, NULL));
}

/* Checks that the run reads from the stores that this box reads from: the credentials of this box go to no
 * other server. */
static int check_sources(const struct config *run, const struct config *here, struct error *err)
{
	int r = 0;

	if (run->sources != here->sources)
		return error_set(err, -EINVAL,
				 "found %u sources in the run, expected %u as in %s of this box",
				 run->sources, here->sources, config_path(0, NULL));
	for (uint32_t i = 0; i < run->sources; i++) {
		const struct config_store *found = &run->source[i].store, *own = &here->source[i].store;

		if ((r = check_text(i, "url", found->url, own->url, err)) < 0 ||
		    (r = check_text(i, "endpoint", found->endpoint, own->endpoint, err)) < 0 ||
		    (r = check_text(i, "credential", found->credential, own->credential, err)) < 0 ||
		    (r = check_text(i, "ca_file", found->ca_file, own->ca_file, err)) < 0)
			break;
	}
	return r;
}

static int check_record(const char *text, uint64_t bytes, const struct config *here, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = stored_record_config("run.json", text, bytes, &config, err);

	return r < 0 ? r : check_sources(&config, here, err);
}

/* Notes how many boxes train; which ones is of no use here. */
static int write_members(const struct orted_job *job, struct error *err)
{
	cJSON *boxes = cJSON_CreateArray();

	for (uint32_t i = 0; i < job->count; i++)
		if (!cJSON_AddItemToArray(boxes, cJSON_CreateString(""))) {
			cJSON_Delete(boxes);
			return error_set(err, -ENOMEM, "no memory");
		}
	return ranks_members_write(boxes, job->vpid, NULL, err);
}

/* Copies record and plan of the run from the store. */
static int bring(const struct config *config, const struct ranks_job *job, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	CLEANUP(free_ptr) char *stored = NULL, *text = NULL;
	CLEANUP(run_done) struct run run = { 0 }, restored = { 0 };
	char plan[PATH_BYTES];
	uint64_t bytes;
	int r;

	(void)path_of(PATH_SLOT, "job.plan", plan);
	if ((r = configured_store_open(config, &config->sink, &sink, err)) < 0 ||
	    (r = stored_record_get(sink, job->run, &run, &stored, &bytes, err)) < 0 ||
	    (r = check_record(stored, bytes, config, err)) < 0 ||
	    (r = add_plan(stored, bytes, job->plan_sha256, &text, err)) < 0)
		return r;
	(void)snprintf(run.plan_sha256, sizeof(run.plan_sha256), "%s", job->plan_sha256);
	if ((r = stored_plan_get(sink, &run, "the box that leads", plan, err)) < 0)
		return r;
	return run_restore(text, strlen(text), plan, NULL, &restored, err);
}

int oneshot_rank_begin(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(ranks_job_done) struct ranks_job job = { 0 };
	struct orted_job checked;
	struct error err = { 0 };

	(void)argc;
	if (config_load(config_path(0, NULL), &config, &err) < 0 ||
	    job_read(&config, &job, &checked, &err) < 0 || bring(&config, &job, &err) < 0 ||
	    write_members(&checked, &err) < 0)
		return fatal(&err);
	log_info("job %s: this box is number %u of %u that train %s", argv[1], checked.vpid + 1,
		 checked.count, job.run);
	return EX_OK;
}
