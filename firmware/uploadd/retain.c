/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/retain.h"
#include "model/learn/callbacks.h"

#include <string.h>

/* a checkpoint stays in the spool until it has two newer ones: traind may have to return to it
 * (core/run/spool.h) */
#define LOCAL_NEWER 2u

/* Counts the checkpoints in `steps` that are newer than `step` and are not in `other`. */
static uint32_t newer(const struct steps *steps, uint64_t step, const struct steps *other)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < steps->count; i++)
		if (steps->step[i] > step && !(other && steps_has(other, steps->step[i])))
			count++;
	return count;
}

/* Returns whether an epoch is better than the best so far: by the metric that keep_best monitors; without
 * keep_best by validation accuracy, then by validation loss. */
static bool is_better(const struct upload *upload, const double *figures, const double *best)
{
	const int monitor = upload->run.config.keep_best.monitor;

	if (monitor != MONITOR_NONE)
		return callbacks_improves(monitor, upload->run.config.keep_best.mode, 0, figures[monitor],
					  best[monitor]);
	return figures[MONITOR_VAL_ACCURACY] > best[MONITOR_VAL_ACCURACY] ||
	       (figures[MONITOR_VAL_ACCURACY] == best[MONITOR_VAL_ACCURACY] &&
		figures[MONITOR_VAL_LOSS] < best[MONITOR_VAL_LOSS]);
}

/* Reads the metrics of an epoch into an array indexed by enum config_monitor. A model without an accuracy has
 * no such metric: its entries are not changed. Returns false where another metric is missing. */
static bool read_figures(const cJSON *epoch, double figures[static MONITOR_VAL_ACCURACY + 1])
{
	const bool counts = cJSON_GetObjectItemCaseSensitive(epoch, "accuracy");
	struct error err;

	if (json_get_double("epoch", epoch, "loss", &figures[MONITOR_LOSS], &err) < 0 ||
	    json_get_double("epoch", epoch, "validation_loss", &figures[MONITOR_VAL_LOSS], &err) < 0)
		return false;
	return !counts ||
	       (json_get_double("epoch", epoch, "accuracy", &figures[MONITOR_ACCURACY], &err) == 0 &&
		json_get_double("epoch", epoch, "validation_accuracy", &figures[MONITOR_VAL_ACCURACY],
				&err) == 0);
}

void retain_find_best(struct upload *upload, const cJSON *record)
{
	double best[MONITOR_VAL_ACCURACY + 1];
	const cJSON *epoch;
	struct error err;

	upload->any_best = false;
	cJSON_ArrayForEach(epoch, cJSON_GetObjectItemCaseSensitive(record, "epochs")) {
		double figures[MONITOR_VAL_ACCURACY + 1] = { 0 };
		uint64_t step;

		if (!read_figures(epoch, figures) || json_get_u64("epoch", epoch, "step", &step, &err) < 0 ||
		    (upload->any_best && !is_better(upload, figures, best)))
			continue;
		upload->any_best = true;
		upload->best = step;
		memcpy(best, figures, sizeof(best));
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
