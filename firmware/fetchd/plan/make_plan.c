/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/plan/make_plan.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "data/plan_config.h"
#include "drivers/digest/digest.h"
#include "drivers/store/store.h"
#include "fetchd/plan/classes.h"
#include "fetchd/plan/manifest.h"
#include "fetchd/plan/record.h"
#include "fetchd/plan/seen.h"
#include "preflight/plan_list.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

/* Refuses a callback that monitors the validation where there is no validation split: it would never do
 * anything. */
static int check_monitor(const struct config *config, const struct plan *plan, struct error *err)
{
	const char *monitor = config_validation_monitor(config);
	static const char *const names[] = {
		[SPLIT_BY_SHARD] = "shard", [SPLIT_BY_PREFIX] = "prefix", [SPLIT_BY_HASH] = "hash"
	};
	const bool by_prefix = config->split.by == SPLIT_BY_PREFIX;

	if (!monitor || plan_shards(plan, SPLIT_VALIDATION) > 0)
		return 0;
	return error_set(
		err, -EINVAL,
		"%s: found a metric of the validation, which has 0 shards (train has %" PRIu64
		" shards, split.by is \"%s\"%s); allowed: \"loss\" or \"accuracy\", or %s",
		monitor, plan_shards(plan, SPLIT_TRAIN), names[config->split.by],
		by_prefix ? ", without a validation_glob" : ", and each source has at least one train shard",
		by_prefix ? "a split.validation_glob"
			  : "at least 2 train shards, or split.by = \"prefix\" with a validation_glob");
}

static int compare_manifests(const struct config *config, const struct plan *plan,
			     struct store_pin *ret_manifest, struct error *err)
{
	const struct store_options options = store_options_of(config);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < config->sources; i++) {
		CLEANUP(store_closep) struct store *store = NULL;

		r = store_open(&config->source[i].store, &options, &store, err);
		if (r == 0)
			r = manifest_compare(store, plan, i, &ret_manifest[i], err);
	}
	return r;
}

/* Says that nothing is held out although the configuration asks for it. */
static void warn_of_no_validation(const struct run *run, const struct plan *plan)
{
	const struct config *config = &run->config;

	if (config->split.by == SPLIT_BY_PREFIX || config->split.validation_percent == 0 ||
	    plan_shards(plan, SPLIT_VALIDATION) > 0)
		return;
	event_send(&(struct event){ .id = EVENT_VALIDATION_NONE, .run_id = run->id },
		   "%s has %" PRIu64
		   " training shard, and none is held out: the run has no validation; make more "
		   "shards, or set split.validation_percent = 0",
		   config->source[0].store.url, plan_source_shards(plan, 0, SPLIT_TRAIN));
}

/* Uploads the plan. The night of a series goes on while its sink is away, and before the branch of the trial
 * is made: kiln-uploadd then uploads the plan. */
static int put_plan(const struct run *run, struct store *sink, const char *path, struct error *err)
{
	char key[STORE_KEY_MAX];
	int r;

	(void)snprintf(key, sizeof(key), "%s/plan", run->id);
	r = store_put_file(sink, key, path, NULL, NULL, err);
	if (r < 0 && *run->branch_from && (r == -ENOENT || error_exit_code(err) == EX_UNAVAILABLE)) {
		log_warning("%s; going on, kiln-uploadd uploads the plan", err->text);
		r = 0;
	}
	return r;
}

/* Makes the plan, uploads it, then notes it in the record: make_plan.h says why in this order. */
static int make_plan(const struct run *run, const char *path, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	CLEANUP(plan_closep) struct plan *plan = NULL;
	char note[128], sha256[DIGEST_HEX_BYTES];
	struct store_pin manifest[PLAN_SOURCES_MAX] = { 0 };
	struct store_options options = { 0 };
	int r;

	if ((r = plan_list(&run->config, NULL, path, err)) < 0 || (r = plan_open(path, &plan, err)) < 0 ||
	    (r = check_monitor(&run->config, plan, err)) < 0 ||
	    (r = classes_check(&run->config, plan, err)) < 0 ||
	    (r = plan_list_check(&run->config, plan, err)) < 0 ||
	    (r = compare_manifests(&run->config, plan, manifest, err)) < 0 ||
	    (r = record_note_manifests(manifest, run->config.sources, err)) < 0 ||
	    (r = classes_note(plan, err)) < 0 || (r = digest_file(path, sha256, err)) < 0 ||
	    (r = store_open(&run->config.sink, &options, &sink, err)) < 0 ||
	    (r = put_plan(run, sink, path, err)) < 0 || (r = seen_note(run, sink, plan, err)) < 0)
		return r;
	warn_of_no_validation(run, plan);
	(void)snprintf(note, sizeof(note), "{\"plan_sha256\":\"%s\"}", sha256);
	return run_note(note, err);
}

static int check_plan(const struct run *run, const char *path, struct error *err)
{
	char sha256[DIGEST_HEX_BYTES];
	int r = digest_file(path, sha256, err);

	if (r < 0)
		return r;
	if (strcmp(sha256, run->plan_sha256) != 0)
		return error_set(err, -EBADMSG, "%s: SHA-256 %s, the run record says %s", path, sha256,
				 run->plan_sha256);
	return 0;
}

/* Checks that the plan was made with this configuration, and that every lane of each source has shards. */
static int check_served(const struct config *config, const char *path, const struct plan *plan,
			struct error *err)
{
	int r = plan_check_config(plan, path, config, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < config->sources; i++)
		if (plan_source_shards(plan, i, SPLIT_TRAIN) < config->order.lanes)
			return error_set(err, -EBADMSG,
					 "%s: source %u has fewer train shards than %" PRIu64 " lanes", path,
					 i, config->order.lanes);
	return check_monitor(config, plan, err);
}

/* Returns the number of shards that the plan pins by version. */
static uint64_t versions_of(const struct plan *plan)
{
	uint64_t versions = 0;

	for (uint32_t source = 0; source < plan_settings_of(plan)->sources; source++)
		for (int split = 0; split < SPLIT_MAX; split++)
			for (uint64_t i = 0; i < plan_source_shards(plan, source, (enum split)split); i++)
				versions += *plan_shard(plan, source, (enum split)split, i).version != '\0';
	return versions;
}

int fetch_plan_lock(int *ret_lock, struct error *err)
{
	char path[PATH_BYTES];

	return file_lock(path_of(PATH_SLOT, "plan.lock", path), ret_lock, err);
}

int fetch_plan(const struct run *run, struct plan **ret_plan, struct error *err)
{
	char path[PATH_BYTES];
	int r;

	path_of(PATH_RUN, "plan", path);
	r = *run->plan_sha256 ? check_plan(run, path, err) : make_plan(run, path, err);
	if (r == 0)
		r = plan_open(path, ret_plan, err);
	if (r == 0)
		r = check_served(&run->config, path, *ret_plan, err);
	if (r < 0)
		return r;
	log_info("plan: %" PRIu64 " train, %" PRIu64 " validation, %" PRIu64 " test shards in %s; %" PRIu64
		 " of them are pinned by version",
		 plan_shards(*ret_plan, SPLIT_TRAIN), plan_shards(*ret_plan, SPLIT_VALIDATION),
		 plan_shards(*ret_plan, SPLIT_TEST), run->config.source[0].store.url, versions_of(*ret_plan));
	return 0;
}
