/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a preload: preload.json in the cache (drivers/cache/cache.h), for kiln cache status. */
#pragma once

#include <stdint.h>

struct progress {
	uint64_t objects, bytes;         /* read by the next run, or pinned */
	uint64_t done, bytes_done;       /* those of them that are in the cache by now */
	uint64_t fetched, bytes_fetched; /* copied from the store by this preload */
	uint64_t left_out;               /* objects for which the cache has no space */
	uint64_t failed;                 /* objects that the store could not deliver */
	uint64_t started_us;             /* Unix time */
	uint64_t noted_us;               /* clock_us() of the last note */
};

/* Writes the progress to preload.json. A failure is only a warning. */
void progress_note(struct progress *progress, const char *state, const char *text);
/* Writes the note "running", if the last note is at least half a second old. */
void progress_note_now_and_then(struct progress *progress);
/* Writes the state "finished" to preload.json, and a summary to the log. */
void progress_note_finished(struct progress *progress);
