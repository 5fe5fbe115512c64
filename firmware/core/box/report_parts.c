/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TIME_MAX 253402300800.0 /* the year 10000 */

const struct report_stage report_stages[REPORT_STAGES] = {
	{ "starting_s", "device, kernels, weights", false },
	{ "waiting_s", "waiting for data", false },
	{ "training_s", "training", false },
	{ "evaluating_s", "evaluating", false },
	{ "checkpoints_s", "checkpoints", false },
	{ "paused_s", "paused", false },
	{ "throttled_s", "pauses to cool down", true },
	{ "upload_s", "uploads, meanwhile", true },
};

const struct report_figure report_figures[REPORT_FIGURES] = {
	{ "loss", "loss", true },
	{ "accuracy", "accuracy, %", false },
	{ "validation_loss", "validation loss", true },
	{ "validation_accuracy", "validation accuracy, %", false },
};

double report_number(const cJSON *object, const char *path)
{
	const cJSON *item = json_member(object, path);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *report_words(const cJSON *object, const char *path)
{
	const char *value = cJSON_GetStringValue(json_member(object, path));

	return value ? value : "-";
}

const char *report_date(double seconds, bool day, char out[static 32])
{
	const time_t time = seconds > 0 && seconds < TIME_MAX ? (time_t)seconds : 0;
	struct tm tm = { 0 };

	(void)gmtime_r(&time, &tm);
	(void)strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
	if (!day)
		memmove(out, out + 11, strlen(out + 11) + 1);
	return out;
}

/* ---- Words ---- */

char *report_figure_text(double value, bool is_loss, char out[static REPORT_VALUE_BYTES])
{
	if (!is_loss)
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.2f %%", 100 * value);
	else if (value == 0 || (fabs(value) >= 1e-3 && fabs(value) < 1e6))
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.4f", value);
	else
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.3g", value);
	return out;
}

char *report_span_text(double seconds, char out[static REPORT_VALUE_BYTES])
{
	const double minutes = floor(seconds / 60);

	if (seconds < 60)
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.1f s", seconds);
	else if (minutes < 60)
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.0f min %02.0f s", minutes,
			       floor(seconds - 60 * minutes));
	else
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.0f h %02.0f min", floor(minutes / 60),
			       fmod(minutes, 60));
	return out;
}

const char *report_promotion_words(const char *outcome)
{
	static const char *const outcomes[][2] = { { "promoted", "the model is the new champion" },
						   { "kept", "the champion stays" },
						   { "refused", "the model was not promoted" } };

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		if (strcmp(outcome, outcomes[i][0]) == 0)
			return outcomes[i][1];
	return outcome;
}

/* ---- Curves ---- */

double report_epoch(const cJSON *epoch, int place)
{
	const cJSON *number = json_member(epoch, "epoch");

	return cJSON_IsNumber(number) ? number->valuedouble + 1 : place;
}

struct report_curve report_curve_of(const cJSON *epochs, const struct report_figure *figure)
{
	struct report_curve curve = { 0 };
	const cJSON *epoch, *value;
	int place = 0;

	cJSON_ArrayForEach(epoch, epochs) {
		place++;
		value = json_member(epoch, figure->key);
		if (!cJSON_IsNumber(value))
			continue;
		curve.last = value->valuedouble;
		if (!curve.any)
			curve.first = curve.last;
		if (!curve.any || (figure->is_loss ? curve.last < curve.best : curve.last > curve.best)) {
			curve.best = curve.last;
			curve.best_epoch = report_epoch(epoch, place);
		}
		curve.any = true;
	}
	return curve;
}

/* ---- Warnings ---- */

char *report_seen(const char *split, const cJSON *seen)
{
	const char *run = report_words(seen, "run");
	const double shards = report_number(seen, "shards"), of = report_number(seen, "of");
	char *text = NULL;
	int bytes;

	if (!cJSON_IsObject(seen))
		return NULL;
	if (shards > 0)
		bytes = asprintf(
			&text,
			"the figures of the %s are too good: %s trained on %.0f of the %.0f %s shards,\n"
			"and this run starts from its weights",
			split, run, shards, of, split);
	else
		bytes = asprintf(
			&text,
			"the figures of the %s may be too good: this run starts from the weights of %s,\n"
			"and %.0f of the %.0f %s shards were replaced since",
			split, run, report_number(seen, "replaced"), of, split);
	return bytes < 0 ? NULL : text;
}
