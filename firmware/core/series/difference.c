/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/difference.h"

#include "core/run/run_summary.h"
#include "core/series/curves.h"
#include "core/series/settings.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static cJSON *copy_of(const cJSON *item)
{
	return item ? cJSON_Duplicate(item, true) : cJSON_CreateNull();
}

/* Adds the values of two runs to an object. */
static bool add_both(cJSON *object, const cJSON *a, const cJSON *b)
{
	return cJSON_AddItemToObject(object, "a", copy_of(a)) &&
	       cJSON_AddItemToObject(object, "b", copy_of(b));
}

static bool add_run(cJSON *out, const char *as, const cJSON *record)
{
	cJSON *run = cJSON_AddObjectToObject(out, as);

	return cJSON_AddItemToObject(run, "id", copy_of(json_member(record, "id"))) &&
	       cJSON_AddItemToObject(run, "series", copy_of(json_member(record, "series.id"))) &&
	       cJSON_AddItemToObject(run, "trial", copy_of(json_member(record, "series.trial")));
}

/* ---- Configuration ---- */

static int read_settings(const cJSON *record, cJSON **ret_settings, struct error *err)
{
	const char *text;
	int r = json_get_string("run.json", record, "config", &text, err);

	return r < 0 ? r : settings_of(text, ret_settings, err);
}

static bool add_settings(cJSON *out, const cJSON *a, const cJSON *b)
{
	CLEANUP(json_free) cJSON *of_a = NULL, *of_b = NULL;
	struct error err = { 0 };

	if (read_settings(a, &of_a, &err) < 0 || read_settings(b, &of_b, &err) < 0)
		return cJSON_AddNullToObject(out, "settings") &&
		       cJSON_AddItemToObject(out, "unread", json_string(err.text));
	return cJSON_AddItemToObject(out, "settings", settings_differ(of_a, of_b)) &&
	       cJSON_AddNullToObject(out, "unread");
}

/* ---- Plan, code, machine ---- */

static bool add_facts(cJSON *out, const cJSON *a, const cJSON *b)
{
	static const struct {
		const char *as, *key;
	} facts[] = {
		{ "plan", "plan_sha256" }, { "order", "order_version" },   { "version", "kiln_version" },
		{ "build", "kiln_build" }, { "device", "device" },         { "machine", "machine" },
		{ "seed", "seed" },        { "starts_from", "start_run" }, { "weights", "weights_sha256" }
	};
	cJSON *object = cJSON_AddObjectToObject(out, "facts");
	bool good = object;

	for (size_t i = 0; i < COUNT(facts); i++) {
		const cJSON *of_a = json_member(a, facts[i].key), *of_b = json_member(b, facts[i].key);
		cJSON *fact = cJSON_AddObjectToObject(object, facts[i].as);

		good = good && add_both(fact, of_a, of_b) &&
		       cJSON_AddBoolToObject(fact, "same", of_a == of_b || cJSON_Compare(of_a, of_b, true));
	}
	return good;
}

/* ---- Curves ---- */

static bool add_curves(cJSON *out, const cJSON *a, const cJSON *b)
{
	const cJSON *of_a = json_member(a, "epochs"), *of_b = json_member(b, "epochs");
	CLEANUP(json_free) cJSON *settings = NULL;
	struct objective objective;
	struct error err;

	if (!curves_add_parting(out, of_a, of_b))
		return false;
	if (read_settings(a, &settings, &err) < 0)
		settings = NULL;
	if (curves_objective(settings, of_a, of_b, &objective))
		return curves_add_race(out, &objective, of_a, of_b);
	return cJSON_AddNullToObject(out, "gap") && cJSON_AddNullToObject(out, "ahead");
}

/* ---- Figures ---- */

static bool add_figures(cJSON *out, const cJSON *a, const cJSON *b)
{
	static const char *const keys[] = {
		"state",           "started_s",           "took_s",    "epochs",       "loss", "accuracy",
		"validation_loss", "validation_accuracy", "test_loss", "test_accuracy"
	};
	CLEANUP(json_free) cJSON *of_a = run_summary(a), *of_b = run_summary(b);
	cJSON *list = cJSON_AddArrayToObject(out, "figures");
	bool good = of_a && of_b && list;

	for (size_t i = 0; i < COUNT(keys); i++) {
		const cJSON *in_a = json_member(of_a, keys[i]), *in_b = json_member(of_b, keys[i]);
		cJSON *row;

		if (!in_a && !in_b)
			continue;
		row = cJSON_CreateObject();
		good = good && cJSON_AddItemToArray(list, row) &&
		       cJSON_AddStringToObject(row, "key", keys[i]) && add_both(row, in_a, in_b);
	}
	return good;
}

cJSON *difference_of(const cJSON *a, const cJSON *b)
{
	CLEANUP(json_free) cJSON *out = cJSON_CreateObject();

	return out && add_run(out, "a", a) && add_run(out, "b", b) && add_settings(out, a, b) &&
			       add_facts(out, a, b) && add_curves(out, a, b) && add_figures(out, a, b)
		       ? TAKE(out)
		       : NULL;
}
