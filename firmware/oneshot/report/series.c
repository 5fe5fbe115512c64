/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/series.h"
#include "core/box/report_parts.h"
#include "core/series/compared.h"
#include "core/series/series.h"

#include <stdio.h>
#include <string.h>

cJSON *report_series_load(const char *id)
{
	cJSON *series = NULL;

	return id && *id && series_load(id, &series, NULL) == 0 ? series : NULL;
}

/* Copies a member; writes null where the object does not have it. */
static bool copy_item(cJSON *out, const char *key, const cJSON *item)
{
	return cJSON_AddItemToObject(out, key, item ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
}

static bool add_winner(cJSON *out, const cJSON *series)
{
	const int winner = series_find_trial(series, series_text(series, "winner"));
	const cJSON *trial = winner < 0 ? NULL : series_trial(series, (uint32_t)winner);

	return copy_item(out, "winner", json_member(trial, "name")) &&
	       copy_item(out, "value", json_member(trial, "value"));
}

static bool add_promotion(cJSON *out, const cJSON *series)
{
	const cJSON *promotion = json_member(series, "promotion");
	cJSON *object;

	if (!cJSON_IsObject(promotion))
		return cJSON_AddNullToObject(out, "promotion");
	object = cJSON_AddObjectToObject(out, "promotion");
	return object && copy_item(object, "outcome", json_member(promotion, "outcome")) &&
	       copy_item(object, "why", json_member(promotion, "why"));
}

cJSON *report_series_of(const cJSON *series)
{
	static const char *const keys[] = { "id",     "state",  "trials",    "finished",
					    "failed", "pruned", "objective", "direction" };
	CLEANUP(json_free) cJSON *out = cJSON_CreateObject(), *summary = series_summary(series);
	bool good = out && summary;

	for (size_t i = 0; good && i < sizeof(keys) / sizeof(keys[0]); i++)
		good = copy_item(out, keys[i], json_member(summary, keys[i]));
	good = good && copy_item(out, "spent_s", json_member(series, "spent_s")) && add_winner(out, series) &&
	       add_promotion(out, series);
	return good ? TAKE(out) : NULL;
}

/* ---- The sentence ---- */

static void print_trials(const cJSON *member, FILE *out)
{
	const double trials = report_number(member, "trials"), failed = report_number(member, "failed"),
		     pruned = report_number(member, "pruned"),
		     ended = report_number(member, "finished") + failed + pruned;

	if (ended < trials)
		fprintf(out, ", %.0f of", ended);
	else
		(void)fputc(',', out);
	fprintf(out, " %.0f trials", trials);
	if (ended < trials)
		fputs(" ended", out);
	if (failed > 0)
		fprintf(out, ", %.0f failed", failed);
	if (pruned > 0)
		fprintf(out, ", %.0f stopped early", pruned);
}

static void print_winner(const cJSON *member, FILE *out)
{
	const cJSON *value = json_member(member, "value");
	char text[REPORT_VALUE_BYTES], objective[COMPARED_WORDS_BYTES];

	if (!cJSON_IsString(json_member(member, "winner")) || !cJSON_IsNumber(value))
		return;
	fprintf(out, ", %.100s won with %s %s", report_words(member, "winner"),
		compared_objective(member, objective),
		report_figure_text(value->valuedouble, !compared_is_share(member), text));
	if (cJSON_IsObject(json_member(member, "promotion")))
		fprintf(out, ", %s", report_promotion_words(report_words(member, "promotion.outcome")));
}

size_t report_series_sentence(const cJSON *member, const char *outcome, char *out, size_t size)
{
	const bool night = strcmp(outcome, "halted") == 0 || strcmp(outcome, "never_started") == 0;
	CLEANUP(close_file) FILE *stream = fmemopen(out, size, "w");

	*out = '\0';
	if (!stream)
		return 0;
	fprintf(stream, "%s: %s", report_words(member, "id"),
		night ? outcome : report_words(member, "state"));
	print_trials(member, stream);
	print_winner(member, stream);
	(void)fflush(stream);
	out[size - 1] = '\0';
	return strlen(out);
}
