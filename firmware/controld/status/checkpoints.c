/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/checkpoints.h"
#include "controld/status/figure.h"
#include "core/run/spool.h"

#include <string.h>
#include <sys/stat.h>

struct listing {
	struct checkpoints *found;
	const char *run_id;
};

/* Adds a row at its place in the order of steps. */
static int add_row(struct checkpoints *found, uint64_t step, uint64_t bytes, uint64_t time_s, bool on_disk)
{
	cJSON *row = cJSON_CreateObject();
	cJSON *next;

	cJSON_ArrayForEach(next, found->rows)
		if (cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(next, "step")) >= (double)step)
			break;
	if (!json_add_u64(row, "step", step)) {
		cJSON_Delete(row);
		return -ENOMEM;
	}
	json_insert_before(found->rows, row, next);
	figure_count(row, "bytes", on_disk, bytes);
	figure_count(row, "time_s", time_s != 0, time_s);
	(void)cJSON_AddBoolToObject(row, "on_disk", on_disk);
	if (found->store_known)
		(void)cJSON_AddBoolToObject(row, "uploaded", found->any_stored && step <= found->stored);
	else
		(void)cJSON_AddNullToObject(row, "uploaded");
	if (!found->any || step >= found->newest) {
		found->any = true;
		found->newest = step;
		found->newest_s = time_s;
	}
	return 0;
}

static int note_file(void *context, const char *name, uint64_t bytes)
{
	struct listing *listing = context;
	int64_t step = spool_checkpoint_step(name);
	char path[PATH_BYTES];
	struct stat st;
	uint64_t time_s;

	if (step < 0)
		return 0;
	time_s = stat(spool_path(listing->run_id, name, path), &st) == 0 ? (uint64_t)st.st_mtime : 0;
	return add_row(listing->found, (uint64_t)step, bytes, time_s, true);
}

static bool has_row(const struct checkpoints *found, uint64_t step)
{
	const cJSON *row;

	cJSON_ArrayForEach(row, found->rows)
		if (cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "step")) == (double)step)
			return true;
	return false;
}

/* Adds the checkpoint in the store, where the disk does not have it. The trainer's page tells when it was
 * written, if it is the trainer's newest. */
static int add_stored(struct checkpoints *found, const struct status *traind)
{
	uint64_t time_s = found->stored_s;

	if (!found->any_stored || has_row(found, found->stored))
		return 0;
	if (traind && traind->traind.checkpoint_us && traind->traind.checkpoint_step == found->stored)
		time_s = traind->traind.checkpoint_us / 1000000;
	return add_row(found, found->stored, 0, time_s, false);
}

int checkpoints_read(const char *run_id, const struct status *traind, const struct status *uploadd,
		     struct checkpoints *ret_checkpoints, struct error *err)
{
	CLEANUP(checkpoints_done) struct checkpoints found = { .rows = cJSON_CreateArray() };
	struct listing listing = { &found, run_id };
	int r;

	if (!found.rows)
		return error_set(err, -ENOMEM, "no memory");
	if (uploadd) {
		found.store_known = true;
		found.stored = uploadd->uploadd.checkpoint_step;
		found.stored_s = uploadd->uploadd.checkpoint_us / 1000000;
		found.any_stored = found.stored || found.stored_s;
	}
	r = spool_list(run_id, note_file, &listing, err);
	if (r == 0 || r == -ENOENT)
		r = add_stored(&found, traind);
	if (r < 0)
		return err && err->code == r ? r : error_set(err, r, "no memory");
	*ret_checkpoints = found;
	found.rows = NULL;
	return 0;
}

void checkpoints_done(struct checkpoints *checkpoints)
{
	cJSON_Delete(TAKE(checkpoints->rows));
}
