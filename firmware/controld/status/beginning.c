/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From run.start on until begin has taken the run up or given it up, the record is the last run's: without
 * this mark who asks then would get the old run's end. It is gone with controld, which costs a moment's
 * status.
 */
#include "controld/controld.h"
#include "core/base/clock.h"
#include "core/base/paths.h"

#include <string.h>
#include <sys/stat.h>

#define BEGINS_MS 300000u /* to bring a large checkpoint from the store takes less */

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

/* The last attempt to begin failed. */
static bool has_failed(void)
{
	char path[PATH_BYTES];

	return access(path_of(PATH_RUNS, RUN_UNBEGUN_FILE, path), F_OK) == 0;
}

void beginning_mark(struct server *server, bool goes_on)
{
	struct beginning *beginning = &server->beginning;
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	const char *id = "";
	enum run_state state;

	beginning_forget(server);
	if (run_json(&text, NULL) == 0)
		(void)!json_parse("run.json", text, strlen(text), &record, NULL);
	(void)!json_get_string("run.json", record, "id", &id, NULL);
	beginning->failed = has_failed();
	/* One that is at work has nothing to begin; where it had halted the record says why. */
	if (goes_on && !beginning->failed && run_state_get(&state, NULL) == 0 && state < RUN_STOPPED &&
	    !cJSON_HasObjectItem(record, "reason"))
		return;
	(void)snprintf(beginning->run_id, sizeof(beginning->run_id), "%s", id);
	/* The coarse one is the clock that stamps files. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &beginning->since);
	beginning->since_ms = clock_ms();
	beginning->goes_on = goes_on;
}

void beginning_forget(struct server *server)
{
	server->beginning.since_ms = 0;
}

bool beginning_is(struct server *server, const char *run_id)
{
	const struct timespec *since = &server->beginning.since;

	if (!server->beginning.since_ms)
		return false;
	/* A run that goes on gets its state anew, or its record, where it had halted. */
	if (strcmp(server->beginning.run_id, run_id) != 0 ||
	    clock_ms() - server->beginning.since_ms > BEGINS_MS || is_written(PATH_RUN, "state", since) ||
	    (server->beginning.goes_on && is_written(PATH_RUN, "run.json", since)) ||
	    (server->beginning.failed && !has_failed()) || is_written(PATH_RUNS, RUN_UNBEGUN_FILE, since))
		beginning_forget(server);
	return server->beginning.since_ms != 0;
}
