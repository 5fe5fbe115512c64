/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `vary`: lists of values, and ranges. */
#include "core/series/trials_draft.h"

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/config/config_tree.h"

#include <string.h>

/* Tells whether a group of `vary` is a range. A layer may have an attribute "scale", too, whose values are a
 * list. */
static bool is_range(const config_setting_t *group)
{
	static const char *const names[] = { "min", "max", "scale" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const config_setting_t *member = config_setting_get_member(group, names[i]);

		if (member && config_setting_is_scalar(member))
			return true;
	}
	return false;
}

/* Reads an end of a range. The row of the key checks it as a value of the file. */
static bool read_end(struct draft *draft, const struct draft_axis *axis, const config_setting_t *group,
		     const char *name, double *ret)
{
	const config_setting_t *end = config_setting_get_member(group, name);
	const struct config_key *row = config_find_key(config_keys, config_keys_count, "", axis->key);
	const unsigned before = draft->reading.mistakes->count;
	char found[128];

	if (!end || !config_setting_is_number(end)) {
		mistakes_add(draft->reading.mistakes, config_setting_source_line(end ? end : group),
			     "vary.%s.%s: found %s, allowed: a number", axis->key, name,
			     end ? config_found(end, found, sizeof(found)) : "nothing");
		return false;
	}
	*ret = config_setting_type(end) == CONFIG_TYPE_FLOAT ? config_setting_get_float(end)
							     : (double)config_setting_get_int64(end);
	if (row)
		config_read_value(&draft->reading, row, end, &draft->ends);
	return draft->reading.mistakes->count == before;
}

static void read_scale(struct draft *draft, struct draft_axis *axis, const config_setting_t *group)
{
	const config_setting_t *scale = config_setting_get_member(group, "scale");
	const char *word = scale ? config_setting_get_string(scale) : "linear";
	char found[128];

	axis->log = word && strcmp(word, "log") == 0;
	if (!word || (!axis->log && strcmp(word, "linear") != 0))
		mistakes_add(draft->reading.mistakes, config_setting_source_line(scale),
			     "vary.%s.scale: found %s, allowed: one of \"linear\", \"log\"", axis->key,
			     config_found(scale, found, sizeof(found)));
}

static void refuse_other_members(struct draft *draft, const struct draft_axis *axis,
				 const config_setting_t *group)
{
	static const char *const names[] = { "min", "max", "scale" };

	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
		const char *name = config_setting_name(member);
		struct nearest nearest = { .typed = name };
		char meant[NEAREST_TEXT_BYTES];
		size_t n = 0;

		while (n < 3 && strcmp(name, names[n]) != 0)
			nearest_try(&nearest, names[n++]);
		if (n == 3)
			mistakes_add(draft->reading.mistakes, config_setting_source_line(member),
				     "vary.%s.%.100s: found an unknown key, allowed: min, max, scale%s",
				     axis->key, name, nearest_text(&nearest, meant));
	}
}

/* Checks a range whose ends are good. */
static void check_range(struct draft *draft, const struct draft_axis *axis)
{
	if (axis->min >= axis->max)
		mistakes_add(draft->reading.mistakes, axis->line,
			     "vary.%s: found min = %g and max = %g, allowed: a min below the max", axis->key,
			     axis->min, axis->max);
	if (axis->log && axis->min <= 0)
		mistakes_add(draft->reading.mistakes, axis->line,
			     "vary.%s.min: found %g, allowed with scale \"log\": numbers above 0", axis->key,
			     axis->min);
}

static void read_range(struct draft *draft, struct draft_axis *axis, const config_setting_t *group)
{
	const struct config_key *row = config_find_key(config_keys, config_keys_count, "", axis->key);
	const config_setting_t *min = config_setting_get_member(group, "min"),
			       *max = config_setting_get_member(group, "max");
	bool good;

	read_scale(draft, axis, group);
	refuse_other_members(draft, axis, group);
	if (row && row->type != KEY_INT && row->type != KEY_FLOAT) {
		mistakes_add(
			draft->reading.mistakes, axis->line,
			"vary.%s: found a range, allowed: a list of values, because the key is no number",
			axis->key);
		return;
	}
	good = read_end(draft, axis, group, "min", &axis->min);
	good = read_end(draft, axis, group, "max", &axis->max) && good;
	if (!good)
		return;
	axis->whole = row ? row->type == KEY_INT
			  : config_setting_type(min) != CONFIG_TYPE_FLOAT &&
				      config_setting_type(max) != CONFIG_TYPE_FLOAT;
	check_range(draft, axis);
}

/* Finds the first value that stands twice in a list. NULL: there is none. */
static const config_setting_t *find_double(const config_setting_t *list)
{
	for (int i = 1; i < config_setting_length(list); i++)
		for (int k = 0; k < i; k++) {
			const config_setting_t *value = config_setting_get_elem(list, (unsigned)i);
			CLEANUP(json_free) cJSON *a = config_tree_json(value);
			CLEANUP(json_free)
			cJSON *b = config_tree_json(config_setting_get_elem(list, (unsigned)k));

			if (cJSON_Compare(a, b, true))
				return value;
		}
	return NULL;
}

static void read_values(struct draft *draft, struct draft_axis *axis, const config_setting_t *list)
{
	const int count = config_setting_length(list);
	const config_setting_t *twice;
	char found[128];

	axis->values = list;
	if (count < 1 || count > (int)TRIALS_MAX) {
		mistakes_add(draft->reading.mistakes, axis->line,
			     "vary.%s: found a list of %d, allowed: 1 .. %u values", axis->key, count,
			     TRIALS_MAX);
		return;
	}
	twice = find_double(list);
	if (twice)
		mistakes_add(draft->reading.mistakes, axis->line, "vary.%s: found %s twice, allowed: once",
			     axis->key, config_found(twice, found, sizeof(found)));
}

static void read_axis(struct draft *draft, const char *key, const config_setting_t *setting)
{
	struct draft_axis *axis = &draft->axis[draft->axes];
	const unsigned line = config_setting_source_line(setting);
	char found[128];

	if (!draft_key_allowed(draft->reading.mistakes, key, line))
		return;
	if (draft->axes == DRAFT_AXES_MAX) {
		mistakes_add(draft->reading.mistakes, line, "vary: found more than %u keys, allowed: %u",
			     DRAFT_AXES_MAX, DRAFT_AXES_MAX);
		return;
	}
	draft->axes++;
	axis->line = line;
	(void)snprintf(axis->key, sizeof(axis->key), "%s", key);
	if (config_setting_is_group(setting))
		read_range(draft, axis, setting);
	else if (config_setting_is_aggregate(setting))
		read_values(draft, axis, setting);
	else
		mistakes_add(
			draft->reading.mistakes, line,
			"vary.%s: found %s, allowed: a list of values, [ 1, 2 ], or a range, { min = 1; max "
			"= 2; }",
			key, config_found(setting, found, sizeof(found)));
}

static void read_axes(struct draft *draft, const char *prefix, const config_setting_t *group)
{
	char key[DRAFT_KEY_BYTES];

	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);

		draft_join(prefix, member, key);
		if (config_setting_is_group(member) && !is_range(member))
			read_axes(draft, key, member);
		else
			read_axis(draft, key, member);
	}
}

void draft_read_vary(struct draft *draft)
{
	const config_setting_t *vary = config_lookup(&draft->reading.config->memory->file, "vary");
	struct mistakes *mistakes = draft->reading.mistakes;
	const unsigned before = mistakes->count;
	char found[128];

	if (!vary)
		return;
	if (!config_setting_is_group(vary))
		mistakes_add(mistakes, config_setting_source_line(vary),
			     "vary: found %s, allowed: a group { ... }",
			     config_found(vary, found, sizeof(found)));
	else
		read_axes(draft, "", vary);
	if (draft->axes == 0 && mistakes->count == before)
		mistakes_add(mistakes, config_setting_source_line(vary),
			     "vary: found no key, allowed: at least one");
	draft->whole_vary = mistakes->count == before;
}
