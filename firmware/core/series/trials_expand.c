/* SPDX-License-Identifier: Apache-2.0 */
/* Makes trials from `vary`: every combination, or some that are drawn. */
#include "core/base/mix.h"
#include "core/series/trials_draft.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A space with enough combinations gives 1000 different ones in far fewer draws. */
#define DRAWS_MAX 1000000u

/* A value of each key: the place in its list, or the number. */
struct combination {
	double value[DRAFT_AXES_MAX];
};

/* ---- Counts ---- */

/* Returns the number of values of a key; INFINITY: a range of numbers that are not whole. */
static double count_values(const struct draft_axis *axis)
{
	if (axis->values)
		return config_setting_length(axis->values);
	return axis->whole ? axis->max - axis->min + 1 : (double)INFINITY;
}

static double count_combinations(const struct draft *draft)
{
	double count = 1;

	for (uint32_t i = 0; i < draft->axes; i++)
		count *= count_values(&draft->axis[i]);
	return count;
}

/* ---- Draws ---- */

/* The generator splitmix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014. */
static uint64_t draw_word(uint64_t *state)
{
	return mix64(*state += UINT64_C(0x9e3779b97f4a7c15));
}

static double within(const struct draft_axis *axis, double value)
{
	return value < axis->min ? axis->min : value > axis->max ? axis->max : value;
}

/* Rounds to 6 digits, so that the last bits of another machine's exp() make no other trial. */
static double round_digits(double value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.6g", value);
	return strtod(text, NULL);
}

static double draw_value(const struct draft_axis *axis, uint64_t *state)
{
	const double share = (double)(draw_word(state) >> 11) / 9007199254740992.0; /* 0 <= share < 1 */
	double value;

	if (axis->values)
		return floor(share * config_setting_length(axis->values));
	if (axis->log)
		value = exp(log(axis->min) + share * (log(axis->max) - log(axis->min)));
	else if (axis->whole)
		return within(axis, axis->min + floor(share * (axis->max - axis->min + 1)));
	else
		value = axis->min + share * (axis->max - axis->min);
	value = round_digits(value);
	return within(axis, axis->whole ? round(value) : value);
}

static void draw(const struct draft *draft, uint64_t *state, struct combination *ret)
{
	for (uint32_t i = 0; i < draft->axes; i++)
		ret->value[i] = draw_value(&draft->axis[i], state);
}

static bool is_drawn(const struct draft *draft, const struct combination *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (memcmp(list[i].value, list[count].value, draft->axes * sizeof(double)) == 0)
			return true;
	return false;
}

/* Draws different combinations. Returns how many it found in the end. */
static uint32_t draw_all(struct draft *draft, struct combination *list, uint32_t wanted)
{
	uint64_t state = draft->reading.config->run.seed;
	uint32_t count = 0;

	for (uint32_t draws = 0; count < wanted && draws < DRAWS_MAX; draws++) {
		draw(draft, &state, &list[count]);
		count += !is_drawn(draft, list, count);
	}
	return count;
}

/* Lists every combination; the last key changes fastest. */
static void list_all(const struct draft *draft, struct combination *list, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++) {
		uint32_t rest = n;

		for (uint32_t i = draft->axes; i-- > 0;) {
			const uint32_t values = (uint32_t)count_values(&draft->axis[i]);

			list[n].value[i] = rest % values;
			rest /= values;
		}
	}
}

/* Shuffles the combinations. Halving promotes the best of the trials that came so far: in an order in which
 * each is better than the one before, all of them. */
static void shuffle(uint64_t state, struct combination *list, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		const uint64_t j = draw_word(&state) % i;
		const struct combination last = list[i - 1];

		list[i - 1] = list[j];
		list[j] = last;
	}
}

/* ---- Trials ---- */

/* Returns a setting with a number that was drawn. NULL: no memory. */
static const config_setting_t *make_number(struct draft *draft, const struct draft_axis *axis, double value)
{
	config_setting_t *root = config_root_setting(&draft->made),
			 *list = config_setting_get_member(root, "made"), *made;

	if (!list)
		list = config_setting_add(root, "made", CONFIG_TYPE_LIST);
	made = list ? config_setting_add(list, NULL, axis->whole ? CONFIG_TYPE_INT64 : CONFIG_TYPE_FLOAT)
		    : NULL;
	if (!made)
		return NULL;
	made->line = axis->line;
	(void)(axis->whole ? config_setting_set_int64(made, (long long)value)
			   : config_setting_set_float(made, value));
	return made;
}

static bool add_values(struct draft *draft, struct draft_trial *trial, const struct combination *from)
{
	for (uint32_t i = 0; i < draft->axes; i++) {
		const struct draft_axis *axis = &draft->axis[i];
		const config_setting_t *value =
			axis->values ? config_setting_get_elem(axis->values, (unsigned)from->value[i])
				     : make_number(draft, axis, from->value[i]);

		if (!value || !draft_override(draft, trial, axis->key, value)) {
			draft->r = -ENOMEM;
			return false;
		}
	}
	return true;
}

static void add_trials(struct draft *draft, const struct combination *list, uint32_t count, const char *word,
		       unsigned line)
{
	const int digits = snprintf(NULL, 0, "%u", count);

	for (uint32_t i = 0; i < count && draft->count < TRIALS_MAX; i++) {
		struct draft_trial *trial = draft_add(draft, line);

		if (!trial || !add_values(draft, trial, &list[i]))
			return;
		(void)snprintf(trial->made_name, sizeof(trial->made_name), "%s-%0*u", word,
			       digits < 2 ? 2 : digits, i + 1);
		trial->name = trial->made_name;
	}
}

static bool has_range(const struct draft *draft)
{
	for (uint32_t i = 0; i < draft->axes; i++)
		if (!draft->axis[i].values)
			return true;
	return false;
}

/* Checks the number of combinations, and that of series.trials. Returns how many trials `vary` gives; 0:
 * after a mistake. */
static uint32_t count_trials(struct draft *draft, unsigned line)
{
	const struct config *config = draft->reading.config;
	struct mistakes *mistakes = draft->reading.mistakes;
	const bool grid = config->series.method == METHOD_GRID;
	const uint64_t asked = config->series.trials;
	const double all = count_combinations(draft), count = asked ? (double)asked : all;

	if (grid && asked)
		mistakes_add(mistakes, config_line(config, "series.trials"),
			     "series.trials: found %" PRIu64
			     ", allowed with series.method = \"grid\": 0, because "
			     "a grid has every combination",
			     asked);
	else if (grid && has_range(draft))
		mistakes_add(mistakes, line,
			     "vary: found a range, allowed with series.method = \"grid\": lists of values");
	else if (!asked && has_range(draft))
		mistakes_add(mistakes, config_line(config, "series.trials"),
			     "series.trials: found 0, allowed where `vary` has a range: 1 .. %u", TRIALS_MAX);
	else if ((double)asked > all)
		mistakes_add(mistakes, config_line(config, "series.trials"),
			     "series.trials: found %" PRIu64
			     ", allowed: at most %.0f, the combinations of `vary`",
			     asked, all);
	else if (count + draft->count > TRIALS_MAX)
		mistakes_add(mistakes, line,
			     "vary: found %.0f trials beside %u of `experiments`, allowed: %u together",
			     count, draft->count, TRIALS_MAX);
	else
		return (uint32_t)count;
	return 0;
}

static int expand(struct draft *draft, const char *word, unsigned line)
{
	const struct config *config = draft->reading.config;
	const uint32_t wanted = count_trials(draft, line);
	CLEANUP(free_ptr) struct combination *list = calloc(wanted + 1, sizeof(*list));
	uint32_t count = wanted;

	if (!list)
		return -ENOMEM;
	if (config->series.trials)
		count = draw_all(draft, list, wanted);
	else
		list_all(draft, list, wanted);
	if (config->series.method != METHOD_GRID && !config->series.trials)
		shuffle(config->run.seed, list, count);
	if (count < wanted)
		mistakes_add(draft->reading.mistakes, line,
			     "vary: found %u different combinations in %u draws, allowed: as many as "
			     "series.trials, %u",
			     count, DRAWS_MAX, wanted);
	add_trials(draft, list, count, word, line);
	return draft->r;
}

int draft_expand(struct draft *draft)
{
	static const char *const words[] = { "grid", "random", "halving" };
	const struct config *config = draft->reading.config;
	const config_setting_t *vary = config_lookup(&config->memory->file, "vary");

	draft->method =
		!vary && config->series.method != METHOD_HALVING ? "list" : words[config->series.method];
	if (!vary && config->series.trials > 0)
		mistakes_add(draft->reading.mistakes, config_line(config, "series.trials"),
			     "series.trials: found %" PRIu64 ", allowed without `vary`: 0",
			     config->series.trials);
	if (!vary || !draft->whole_vary)
		return draft->r;
	return expand(draft, words[config->series.method], config_setting_source_line(vary));
}
