/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/beginning.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/paths.h"

#include <string.h>
#include <sys/stat.h>

/* longer than kiln-begin needs, also when it fetches a large checkpoint from the store */
#define BEGINS_MS 300000u

static bool is_later(const struct timespec *time, const struct timespec *than)
{
	return time->tv_sec != than->tv_sec ? time->tv_sec > than->tv_sec : time->tv_nsec > than->tv_nsec;
}

static bool is_written(enum path folder, const char *name, const struct timespec *since)
{
	char path[PATH_BYTES];
	struct stat st;

	return stat(path_of(folder, name, path), &st) == 0 && is_later(&st.st_mtim, since);
}

/* Returns whether the last attempt to begin a run failed. */
static bool has_failed(void)
{
	char path[PATH_BYTES];

	return access(path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path), F_OK) == 0;
}

void beginning_mark(struct beginning *beginning, bool goes_on)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const char *id = "";
	enum run_state state;

	beginning_forget(beginning);
	(void)!run_record(&record, NULL);
	(void)!json_get_string("run.json", record, "id", &id, NULL);
	beginning->failed = has_failed();
	/* Set no mark for a run that is training: kiln-begin has nothing to decide. The record of a run that
	 * has halted contains a reason. */
	if (goes_on && !beginning->failed && run_state_get(&state, NULL) == 0 && state < RUN_STOPPED &&
	    !cJSON_HasObjectItem(record, "reason"))
		return;
	(void)snprintf(beginning->run_id, sizeof(beginning->run_id), "%s", id);
	/* Files get their modification times from the coarse clock. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &beginning->since);
	beginning->since_ms = clock_ms();
	beginning->goes_on = goes_on;
}

void beginning_forget(struct beginning *beginning)
{
	beginning->since_ms = 0;
}

/* Returns whether kiln-begin has decided. kiln-begin then writes the run's state; for a run that goes on
 * after a halt it writes the record; if it cannot begin it writes a note, and otherwise removes the note of
 * an earlier attempt. */
static bool is_decided(const struct beginning *beginning)
{
	return is_written(PATH_RUN, "state", &beginning->since) ||
	       (beginning->goes_on && is_written(PATH_RUN, "run.json", &beginning->since)) ||
	       (beginning->failed && !has_failed()) ||
	       is_written(PATH_SLOT, RUN_UNBEGUN_FILE, &beginning->since);
}

bool beginning_is(struct beginning *beginning, const char *run_id)
{
	if (!beginning->since_ms)
		return false;
	if (strcmp(beginning->run_id, run_id) != 0 || clock_ms() - beginning->since_ms > BEGINS_MS ||
	    is_decided(beginning))
		beginning_forget(beginning);
	return beginning->since_ms != 0;
}
