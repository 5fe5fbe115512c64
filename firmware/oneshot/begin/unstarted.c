/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/unstarted.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/overrides.h"
#include "oneshot/begin/stored_checkpoint.h"
#include "oneshot/begin/stored_record.h"

#include <string.h>

#define CONFIG_BYTES_MAX (4u << 20)

/* Reads kiln.conf and adds the overrides of the current run: this is what a new record would freeze. */
static int read_now(const char *file, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *overrides = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if ((r = file_read(file, CONFIG_BYTES_MAX, &text, NULL, err)) < 0 ||
	    (r = overrides_of_run(&overrides, err)) < 0)
		return r;
	/* Where kiln.conf has mistakes overrides_print() fails: then take its text unchanged, which differs
	 * from the frozen one. */
	if (!overrides || overrides_print(file, overrides, ret_text, err) < 0)
		*ret_text = TAKE(text);
	return 0;
}

bool unstarted_differs(const char *file)
{
	CLEANUP(free_ptr) char *now = NULL, *frozen = NULL;
	char path[PATH_BYTES];

	return read_now(file, &now, NULL) == 0 &&
	       file_read(path_of(PATH_RUN, "config", path), CONFIG_BYTES_MAX, &frozen, NULL, NULL) == 0 &&
	       strcmp(now, frozen) != 0;
}

static int note_any(void *context, const char *name, uint64_t bytes)
{
	bool *any = context;

	(void)bytes;
	*any = *any || spool_checkpoint_step(name) >= 0;
	return 0;
}

/* Returns whether the run has a checkpoint, in the spool or in the store. False where the sink cannot be
 * opened: a wrong sink may be the very mistake because of which the run never started. */
static bool has_checkpoint(const struct run *run)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	struct error err = { 0 };
	bool any = false;

	if (spool_list(run->id, note_any, &any, NULL) < 0 || any)
		return true;
	if (configured_store_open(&run->config, &run->config.sink, &sink, &err) < 0 ||
	    stored_checkpoint_any(sink, run->id, &any, &err) < 0)
		log_warning("%s, so %s counts as a run without a checkpoint there", err.text, run->id);
	return any;
}

bool unstarted_is_superseded(const char *file, const struct run *run)
{
	return !*run->plan_sha256 && unstarted_differs(file) && !has_checkpoint(run);
}

int unstarted_give_up(const struct run *run, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	struct error sink_err = { 0 };
	int r;

	if ((r = run_end(RUN_FAILED, "it never started, and kiln.conf changed", err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_RUN_REPLACED, .run_id = run->id },
		   "%s never started, and kiln.conf has changed since: a new run takes its place", run->id);
	if (configured_store_open(&run->config, &run->config.sink, &sink, &sink_err) < 0 ||
	    stored_record_put(sink, run->id, &sink_err) < 0)
		log_warning("%s, leaving the record of %s there as it is", sink_err.text, run->id);
	return spool_remove(run->id, err);
}
