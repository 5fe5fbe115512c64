/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/upload.h"

#include <string.h>

#define STEPS_MAX   1000000u
#define LOCAL_NEWER 2u /* core/spool.h: what traind may have to go back to */

int steps_add(struct steps *steps, uint64_t step, struct error *err)
{
	if (steps_has(steps, step))
		return 0;
	if (steps->count == steps->room) {
		uint32_t room = steps->room ? 2 * steps->room : 64;
		uint64_t *grown = room <= STEPS_MAX ? realloc(steps->step, room * sizeof(*grown)) : NULL;

		if (!grown)
			return error_set(err, -ENOMEM, "no memory for %u checkpoints", room);
		steps->step = grown;
		steps->room = room;
	}
	steps->step[steps->count++] = step;
	return 0;
}

void steps_remove(struct steps *steps, uint64_t step)
{
	for (uint32_t i = 0; i < steps->count; i++)
		if (steps->step[i] == step)
			steps->step[i--] = steps->step[--steps->count];
}

bool steps_has(const struct steps *steps, uint64_t step)
{
	for (uint32_t i = 0; i < steps->count; i++)
		if (steps->step[i] == step)
			return true;
	return false;
}

/* How many are newer than `step`, those that are in `besides` not counted. */
static uint32_t newer(const struct steps *steps, uint64_t step, const struct steps *besides)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < steps->count; i++)
		if (steps->step[i] > step && !(besides && steps_has(besides, steps->step[i])))
			count++;
	return count;
}

void retain_find_best(struct upload *upload, const cJSON *record)
{
	double best_accuracy = 0, best_loss = 0;
	const cJSON *epoch;
	struct error err;

	upload->any_best = false;
	cJSON_ArrayForEach(epoch, cJSON_GetObjectItemCaseSensitive(record, "epochs")) {
		double accuracy, loss;
		uint64_t step;

		if (json_get_double("epoch", epoch, "validation_accuracy", &accuracy, &err) < 0 ||
		    json_get_double("epoch", epoch, "validation_loss", &loss, &err) < 0 ||
		    json_get_u64("epoch", epoch, "step", &step, &err) < 0)
			continue;
		if (upload->any_best &&
		    (accuracy < best_accuracy || (accuracy == best_accuracy && loss >= best_loss)))
			continue;
		upload->any_best = true;
		upload->best = step;
		best_accuracy = accuracy;
		best_loss = loss;
	}
}

bool retain_wants(const struct upload *upload, const struct steps *local, uint64_t step)
{
	if (upload->any_best && step == upload->best)
		return true;
	return newer(local, step, NULL) + newer(&upload->stored, step, local) <
	       upload->run.config.checkpoint.keep;
}

static int trim_store(struct upload *upload, const struct steps *local, struct error *err)
{
	for (uint32_t i = 0; i < upload->stored.count;) {
		uint64_t step = upload->stored.step[i];
		char name[SPOOL_NAME_BYTES];
		int r;

		if (retain_wants(upload, local, step) || (upload->any_latest && step >= upload->latest)) {
			i++;
			continue;
		}
		r = store_delete(upload->store, spool_checkpoint_name(step, name), err);
		if (r < 0)
			return r;
		steps_remove(&upload->stored, step);
		i = 0;
	}
	return 0;
}

int retain_trim_spool(const struct upload *upload, const struct steps *local, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < local->count; i++) {
		uint64_t step = local->step[i];
		char name[SPOOL_NAME_BYTES], path[PATH_BYTES];

		if (newer(local, step, NULL) < LOCAL_NEWER ||
		    (retain_wants(upload, local, step) && !steps_has(&upload->stored, step)))
			continue;
		(void)spool_path(upload->run.id, spool_checkpoint_name(step, name), path);
		if (unlink(path) < 0 && errno != ENOENT)
			r = error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	}
	return r;
}

int retain_apply(struct upload *upload, const struct steps *local, struct error *err)
{
	int r = trim_store(upload, local, err);

	return r < 0 ? r : retain_trim_spool(upload, local, err);
}
