/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/curves.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Epochs that both runs have ---- */

/* A walk through two lists, in which the epochs ascend; a list of many epochs has not all of them. */
struct walk {
	const cJSON *next_a, *next_b;
	uint64_t place_a, place_b;
	const cJSON *a, *b; /* the present pair */
	uint64_t epoch;     /* number of the epoch, counted from 1 */
};

static struct walk walk_of(const cJSON *epochs_a, const cJSON *epochs_b)
{
	return (struct walk){ .next_a = epochs_a ? epochs_a->child : NULL,
			      .next_b = epochs_b ? epochs_b->child : NULL };
}

static uint64_t number_of(const cJSON *epoch, uint64_t place)
{
	uint64_t number;
	struct error err;

	return json_get_u64("epoch", epoch, "epoch", &number, &err) < 0 ? place : number;
}

/* Goes to the next epoch that both runs have. Returns false at the end. */
static bool walk_on(struct walk *walk)
{
	while (walk->next_a && walk->next_b) {
		const uint64_t at_a = number_of(walk->next_a, walk->place_a),
			       at_b = number_of(walk->next_b, walk->place_b);

		walk->a = walk->next_a;
		walk->b = walk->next_b;
		walk->epoch = at_a + 1;
		if (at_a <= at_b) {
			walk->next_a = walk->next_a->next;
			walk->place_a++;
		}
		if (at_b <= at_a) {
			walk->next_b = walk->next_b->next;
			walk->place_b++;
		}
		if (at_a == at_b)
			return true;
	}
	return false;
}

/* ---- Where they part ---- */

/* Whether a figure of an epoch is the same in both runs. An epoch whose validation is not done yet has no
 * figure of it. */
static bool is_same(const cJSON *a, const cJSON *b)
{
	return !cJSON_IsNumber(a) || !cJSON_IsNumber(b) || a->valuedouble == b->valuedouble;
}

/* Returns the figure in which an epoch differs; NULL: none. */
static const char *parts_in(const cJSON *a, const cJSON *b)
{
	static const char *const figures[] = { "loss", "accuracy", "validation_loss", "validation_accuracy" };

	for (size_t i = 0; i < COUNT(figures); i++)
		if (!is_same(json_member(a, figures[i]), json_member(b, figures[i])))
			return figures[i];
	return NULL;
}

static bool add_parting(cJSON *out, const struct walk *at, const char *figure)
{
	const cJSON *a = json_member(at->a, figure), *b = json_member(at->b, figure);
	cJSON *parts = cJSON_AddObjectToObject(out, "parts");

	return json_add_u64(parts, "epoch", at->epoch) && cJSON_AddStringToObject(parts, "figure", figure) &&
	       cJSON_AddItemToObject(parts, "a", cJSON_Duplicate(a, true)) &&
	       cJSON_AddItemToObject(parts, "b", cJSON_Duplicate(b, true));
}

bool curves_add_parting(cJSON *out, const cJSON *epochs_a, const cJSON *epochs_b)
{
	struct walk walk = walk_of(epochs_a, epochs_b);
	uint64_t compared = 0;
	bool good = true, parted = false;

	while (walk_on(&walk)) {
		const char *figure = parted ? NULL : parts_in(walk.a, walk.b);

		if (figure)
			good = add_parting(out, &walk, figure);
		parted = parted || figure;
		compared++;
	}
	return good && (parted || cJSON_AddNullToObject(out, "parts")) &&
	       json_add_u64(out, "compared", compared);
}

/* ---- Which one is better ---- */

static bool both_have(const char *figure, const cJSON *epochs_a, const cJSON *epochs_b)
{
	struct walk walk = walk_of(epochs_a, epochs_b);

	while (walk_on(&walk))
		if (cJSON_IsNumber(json_member(walk.a, figure)) &&
		    cJSON_IsNumber(json_member(walk.b, figure)))
			return true;
	return false;
}

/* Turns the objective, where promote.direction says so. */
static void set_direction(const cJSON *settings, struct objective *objective)
{
	const char *direction =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(settings, "promote.direction"));

	if (direction && strcmp(direction, "auto") != 0)
		objective->maximize = strcmp(direction, "max") == 0;
}

bool curves_objective(const cJSON *settings, const cJSON *epochs_a, const cJSON *epochs_b,
		      struct objective *ret_objective)
{
	static const enum config_objective usual[] = { OBJECTIVE_VALIDATION_ACCURACY,
						       OBJECTIVE_VALIDATION_LOSS, OBJECTIVE_TRAIN_ACCURACY,
						       OBJECTIVE_TRAIN_LOSS };
	const char *name =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(settings, "promote.objective"));
	struct objective found;

	if (name && objective_find(name, &found) && !found.test &&
	    both_have(found.member, epochs_a, epochs_b)) {
		set_direction(settings, &found);
		*ret_objective = found;
		return true;
	}
	for (size_t i = 0; i < COUNT(usual); i++) {
		found = *objective_row(usual[i]);
		if (!both_have(found.member, epochs_a, epochs_b))
			continue;
		*ret_objective = found;
		return true;
	}
	return false;
}

/* The widest gap, and the run that is ahead at the end. */
struct race {
	struct walk widest;
	double gap;
	int leader;     /* -1 = a, 1 = b, 0 = neither */
	uint64_t since; /* the epoch from which on it is ahead */
};

static void see_epoch(struct race *race, const struct objective *objective, const struct walk *at)
{
	const double a = json_number(at->a, objective->member, NAN),
		     b = json_number(at->b, objective->member, NAN),
		     gap = objective->maximize ? b - a : a - b;
	const int leader = (gap > 0) - (gap < 0);

	if (isnan(gap))
		return;
	if (fabs(gap) > race->gap) {
		race->gap = fabs(gap);
		race->widest = *at;
	}
	if (leader != race->leader)
		race->since = at->epoch;
	race->leader = leader;
}

static bool add_gap(cJSON *out, const struct objective *objective, const struct race *race)
{
	cJSON *gap = cJSON_AddObjectToObject(out, "gap");

	return json_add_u64(gap, "epoch", race->widest.epoch) &&
	       cJSON_AddStringToObject(gap, "figure", objective->member) &&
	       cJSON_AddNumberToObject(gap, "a", json_number(race->widest.a, objective->member, NAN)) &&
	       cJSON_AddNumberToObject(gap, "b", json_number(race->widest.b, objective->member, NAN));
}

static bool add_leader(cJSON *out, const struct race *race)
{
	cJSON *ahead;

	if (race->leader == 0)
		return cJSON_AddNullToObject(out, "ahead");
	ahead = cJSON_AddObjectToObject(out, "ahead");
	return json_add_u64(ahead, "epoch", race->since) &&
	       cJSON_AddStringToObject(ahead, "run", race->leader < 0 ? "a" : "b");
}

bool curves_add_race(cJSON *out, const struct objective *objective, const cJSON *epochs_a,
		     const cJSON *epochs_b)
{
	struct walk walk = walk_of(epochs_a, epochs_b);
	struct race race = { 0 };

	while (walk_on(&walk))
		see_epoch(&race, objective, &walk);
	return (race.gap > 0 ? add_gap(out, objective, &race) : cJSON_AddNullToObject(out, "gap") != NULL) &&
	       add_leader(out, &race);
}
