/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/session.h"
#include "core/base/log.h"
#include "core/run/spool.h"
#include "traind/train.h"

/* Loads the record of a run that is a trial. Returns NULL for another run. */
static cJSON *load_trial(void)
{
	CLEANUP(json_free) cJSON *record = NULL;

	if (run_record(&record, NULL) < 0 || !cJSON_IsString(json_member(record, "series.id")))
		return NULL;
	return TAKE(record);
}

static int write_start(struct tfevents *events, const struct train *train, const cJSON *record,
		       struct error *err)
{
	const char *series = cJSON_GetStringValue(json_member(record, "series.id")),
		   *trial = cJSON_GetStringValue(json_member(record, "series.trial"));
	char group[2 * RUN_ID_BYTES];

	(void)snprintf(group, sizeof(group), "%s/%s", series, trial ? trial : train->run.id);
	return tfevents_hparams_start(events, group, json_member(record, "overrides"),
				      (double)train->run.started_s, err);
}

/* Writes a file with the beginning or, with a status, the end. */
static void write_file(const struct train *train, enum tfevents_status status)
{
	CLEANUP(json_free) cJSON *record = load_trial();
	CLEANUP(tfevents_closep) struct tfevents *events = NULL;
	char path[PATH_BYTES];
	struct error err;
	int r;

	if (!record)
		return;
	r = tfevents_open(spool_path(train->run.id, "logs", path),
			  train->run.config.tensorboard.segment_bytes, &events, &err);
	if (r == 0)
		r = status != TFEVENTS_UNKNOWN ? tfevents_hparams_end(events, status, &err)
					       : write_start(events, train, record, &err);
	if (r == 0)
		r = tfevents_sync(events, &err);
	if (r < 0)
		log_warning("%s; going on, TensorBoard's HParams page lacks it", err.text);
}

void session_begin(const struct train *train)
{
	if (model_step(train->model) == 0)
		write_file(train, TFEVENTS_UNKNOWN);
}

void session_end(const struct train *train, enum tfevents_status status)
{
	write_file(train, status);
}
