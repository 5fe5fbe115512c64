/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats a run. Fetches its plan and its weights from the run's folder in the store, and checks them against
 * the SHA-256s in its run.json. */
#include "oneshot/begin/repeat.h"
#include "core/base/json.h"
#include "oneshot/begin/bring.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/begin/weights.h"

#include <string.h>

#define RECORD_MAX (64u << 20)

static int bring_plan(struct store *sink, const char *file, const struct run *was,
		      char path[static PATH_BYTES], struct error *err)
{
	char key[STORE_KEY_MAX], found[DIGEST_HEX_BYTES];
	int r;

	if (!*was->plan_sha256)
		return error_set(err, -EINVAL,
				 "%s: plan_sha256: found \"\": the run had no plan yet, so nothing says what "
				 "it read",
				 file);
	(void)snprintf(key, sizeof(key), "%s/plan", was->id);
	if ((r = store_get_file(sink, key, path_of(PATH_RUNS, "plan", path), err)) < 0 ||
	    (r = digest_file(path, found, err)) < 0)
		return r;
	if (strcmp(found, was->plan_sha256) != 0)
		return error_set(err, -EBADMSG, "%s/%s: SHA-256 %s, expected %s by %s", store_url(sink), key,
				 found, was->plan_sha256, file);
	return 0;
}

int repeat_begin(const char *file, struct run *ret_run, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(store_closep) struct store *sink = NULL;
	char plan[PATH_BYTES], start[PATH_BYTES] = "", found[DIGEST_HEX_BYTES];
	struct run was = { 0 };
	uint64_t bytes;
	int r;

	if ((r = file_read(file, RECORD_MAX, &text, &bytes, err)) < 0 ||
	    (r = run_parse(file, text, bytes, &was, err)) < 0 ||
	    (r = stored_record_config(file, text, bytes, &config, err)) < 0 ||
	    (r = configured_store_open(&config, &config.sink, &sink, err)) < 0 ||
	    (r = bring_plan(sink, file, &was, plan, err)) < 0 ||
	    (*was.start_run && (r = bring_start(sink, was.start_run, start, err)) < 0) ||
	    (*was.weights_sha256 && (r = weights_bring(&config, was.weights_sha256, start, found, err)) < 0))
		return r;
	if (*was.start_run && !*start)
		return error_set(err, -ENOENT, "%s: start_run: %s has no checkpoint any more", file,
				 was.start_run);
	return run_repeat(text, bytes, plan, *start ? start : NULL, ret_run, err);
}
