/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/preload/progress.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/cache/cache.h"
#include "drivers/notify/notify.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define NOTE_US 500000u

void progress_note(struct progress *progress, const char *state, const char *text)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *line = NULL;
	char path[PATH_BYTES];
	struct error err;

	progress->noted_us = clock_us();
	(void)cJSON_AddStringToObject(json, "state", state);
	(void)cJSON_AddItemToObject(json, "text", json_string(text));
	(void)json_add_u64(json, "started_us", progress->started_us);
	(void)json_add_u64(json, "updated_s", (uint64_t)time(NULL));
	(void)json_add_u64(json, "objects", progress->objects);
	(void)json_add_u64(json, "bytes", progress->bytes);
	(void)json_add_u64(json, "objects_done", progress->done);
	(void)json_add_u64(json, "bytes_done", progress->bytes_done);
	(void)json_add_u64(json, "objects_fetched", progress->fetched);
	(void)json_add_u64(json, "bytes_fetched", progress->bytes_fetched);
	(void)json_add_u64(json, "left_out", progress->left_out);
	(void)json_add_u64(json, "failed", progress->failed);
	if (json_print_line(json, &line, &err) < 0 ||
	    file_write_durable(path_of(PATH_CACHE, CACHE_PRELOAD_FILE, path), line, strlen(line), &err) < 0)
		log_warning("%s", err.text);
}

void progress_note_now_and_then(struct progress *progress)
{
	if (clock_us() - progress->noted_us < NOTE_US)
		return;
	progress_note(progress, "running", "");
	notify_status("%" PRIu64 " of %" PRIu64 " objects", progress->done, progress->objects);
}

void progress_note_finished(struct progress *progress)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "%" PRIu64 " of %" PRIu64 " objects are in the cache, %" PRIu64 " bytes; %" PRIu64
		       " came from the store now%s",
		       progress->done, progress->objects, progress->bytes_done, progress->fetched,
		       progress->left_out ? "; the others have no space below fetch.cache_bytes" : "");
	progress_note(progress, "finished", text);
	log_notice("%s", text);
}
