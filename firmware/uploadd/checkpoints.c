/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/checkpoints.h"
#include "core/base/events.h"
#include "core/run/latest.h"
#include "model/formats/safetensors.h"
#include "uploadd/put.h"
#include "uploadd/retain.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

struct listing {
	struct upload *upload;
	struct error *err;
};

/* Returns 1 for a whole checkpoint, 0 for one that is damaged or gone. An error that may pass, such as no
 * memory, says nothing about the file, and is returned: a damaged file of a run that has ended is removed
 * from the spool. */
static int is_whole(struct upload *upload, const char *name, uint64_t step, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	char path[PATH_BYTES];
	int r = safetensors_open(spool_path(upload->run.id, name, path), &file, err);

	if (r == 0)
		return 1;
	if (error_exit_code(err) == EX_UNAVAILABLE)
		return r;
	if (r != -ENOENT && upload->warned_step != step + 1)
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_DAMAGED,
					    .run_id = upload->run.id,
					    .key = name },
			   "%s, not uploading it", err->text);
	upload->warned_step = step + 1;
	return 0;
}

/* Returns 1 where the object has another size than the checkpoint, which is whole, in the spool: a store that
 * keeps only a part of an upload leaves such an object. */
static int is_cut(struct upload *upload, const struct store_object *object, uint64_t step, struct error *err)
{
	char path[PATH_BYTES];
	struct stat st;

	if (stat(spool_path(upload->run.id, object->key, path), &st) < 0 ||
	    (uint64_t)st.st_size == object->pin.bytes)
		return 0;
	return is_whole(upload, object->key, step, err);
}

static int note_stored(void *context, const struct store_object *object)
{
	struct listing *listing = context;
	int64_t step = spool_checkpoint_step(object->key);
	int r = step < 0 ? 1 : is_cut(listing->upload, object, (uint64_t)step, listing->err);

	if (r != 0)
		return r < 0 ? r : 0;
	return steps_add(&listing->upload->stored, (uint64_t)step, listing->err);
}

/* A latest.json that names no checkpoint of this store counts as damaged: else a large step in it would keep
 * kiln-uploadd from naming the checkpoints that there are. */
static int check_latest(const struct upload *upload, const struct latest *latest, struct error *err)
{
	return steps_has(&upload->stored, latest->step)
		       ? 0
		       : error_set(err, -EBADMSG, LATEST_NAME ": found %s, which is not in the store",
				   latest->name);
}

static int read_latest(struct upload *upload, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct latest latest;
	uint64_t bytes;
	int r = store_get_all(upload->store, LATEST_NAME, LATEST_BYTES_MAX, &text, &bytes, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && (r = latest_parse(LATEST_NAME, text, bytes, &latest, err)) == 0)
		r = check_latest(upload, &latest, err);
	if (r == -EBADMSG || r == -EFBIG || r == -E2BIG) {
		event_send(&(struct event){ .id = EVENT_LATEST_DAMAGED, .run_id = upload->run.id },
			   "%s, writing it anew", err->text);
		return 0;
	}
	if (r < 0)
		return r;
	upload->any_latest = true;
	upload->latest = latest.step;
	return 0;
}

int checkpoints_find(struct upload *upload, struct error *err)
{
	struct listing listing = { upload, err };
	int r = store_list(upload->store, "checkpoints/ckpt-*", note_stored, &listing, err);

	return r < 0 ? r : read_latest(upload, err);
}

/* ---- One checkpoint ---- */

static int write_latest(struct upload *upload, const struct latest *latest, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = latest_print(latest, &text, err);

	if (r == 0)
		r = store_put_checked(upload->store, LATEST_NAME, text, strlen(text), NULL, err);
	if (r < 0)
		return r;
	upload->any_latest = true;
	upload->latest = latest->step;
	return 0;
}

/* Uploads one checkpoint. *ret_there: the store has the checkpoint now. It is false where the file in the
 * spool is damaged or was removed meanwhile.
 */
static int upload_checkpoint(struct upload *upload, uint64_t step, bool *ret_there, struct error *err)
{
	struct latest latest = { .step = step };
	const char *name = spool_checkpoint_name(step, latest.name);
	bool gone = false;
	int r;

	*ret_there = false;
	if ((r = is_whole(upload, name, step, err)) <= 0)
		return r;
	r = put_file(upload, name, latest.sha256, &latest.bytes, &gone, err);
	if (r < 0)
		return gone ? 0 : r;
	r = steps_add(&upload->stored, step, err);
	if (r == 0 && (!upload->any_latest || step > upload->latest))
		r = write_latest(upload, &latest, err);
	if (r < 0)
		return r;
	*ret_there = true;
	event_send(&(struct event){ .id = EVENT_CHECKPOINT_UPLOADED,
				    .run_id = upload->run.id,
				    .step = step,
				    .key = name,
				    .bytes = latest.bytes },
		   "checkpoint of step %" PRIu64 " is in the store, %" PRIu64 " bytes", step, latest.bytes);
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left < *right) - (*left > *right);
}

int checkpoints_upload(struct upload *upload, struct steps *local, struct error *err)
{
	if (local->count)
		qsort(local->step, local->count, sizeof(local->step[0]), newest_first);
	for (uint32_t i = 0; i < local->count; i++) {
		uint64_t step = local->step[i];
		bool pointed_at = upload->any_latest && step <= upload->latest, there;
		int r;

		if ((pointed_at && steps_has(&upload->stored, step)) || !retain_wants(upload, local, step))
			continue;
		r = upload_checkpoint(upload, step, &there, err);
		if (r < 0)
			return r;
		if (!there) {
			memmove(&local->step[i], &local->step[i + 1],
				(local->count - i - 1) * sizeof(local->step[0]));
			local->count--;
			i--;
		}
	}
	return retain_apply(upload, local, err);
}
