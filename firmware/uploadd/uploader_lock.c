/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/base/paths.h"
#include "uploadd/uploader.h"

#include <unistd.h>

#define WAIT_MS 2000u

bool uploader_rests(void)
{
	char path[PATH_BYTES];

	return access(path_of(PATH_RUN, RUN_REST_FILE, path), F_OK) == 0;
}

/* Tells whether another process leaves nothing to do: the current run is final and nothing of it is left in
 * the spool, or it has stopped, and the other process goes on uploading what there is. */
static bool is_drained(void)
{
	CLEANUP(run_done) struct run run = { 0 };

	if (run_load(&run, NULL) < 0)
		return false;
	return run_state_is_final(run.state) ? !spool_has(run.id) : uploader_rests();
}

int uploader_lock(struct uploader *uploader, struct error *err)
{
	bool said = false;
	int r;

	while ((r = spool_lock_uploads(&uploader->lock, err)) == -EBUSY && uploader->drain && !is_drained()) {
		if (!said)
			log_notice("%s; waiting until that process has uploaded the run, or has ended",
				   err->text);
		said = true;
		(void)usleep(WAIT_MS * 1000);
	}
	return r == -EBUSY && uploader->drain ? 1 : r;
}
