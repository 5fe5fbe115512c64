/* SPDX-License-Identifier: Apache-2.0 */
/* The curves of a series' trials over each other. */
#include "core/box/chart.h"
#include "core/box/report_sections.h"

#include <math.h>

/* The curves, in the order of the trials, the best one first. */
struct curves {
	const struct compared *compared;
	struct chart_line *line;
	double *numbers; /* epochs and values of all lines */
	uint32_t lines;
	uint32_t coloured; /* lines in a colour, without the winner's */
	bool others;       /* the key has the other trials */
};

static void curves_done(struct curves *curves)
{
	free(curves->line);
	free(curves->numbers);
}

static const cJSON *curve_of(const cJSON *trial)
{
	return cJSON_GetObjectItemCaseSensitive(trial, "curve");
}

/* Returns a number of a point, [epoch, value]; NaN where it is none. */
static double number_of(const cJSON *point, int index)
{
	const cJSON *item = cJSON_GetArrayItem(point, index);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* Gives a line its name and class. */
static void dress(struct curves *curves, const cJSON *trial, struct chart_line *line)
{
	static const char *const classes[] = { "train", "third", "fourth", "fifth" };
	const uint32_t colours = sizeof(classes) / sizeof(classes[0]);

	line->name = report_words(trial, "name");
	if (compared_is_winner(curves->compared, trial)) {
		line->class = "held";
	} else if (curves->coloured < colours) {
		line->class = classes[curves->coloured++];
	} else {
		line->class = "faint";
		line->name = curves->others ? NULL : "other trials";
		curves->others = true;
	}
}

/* Adds the curve of a trial. `numbers`: room for its epochs and values. Returns the room behind them. */
static double *add(struct curves *curves, const cJSON *trial, double *numbers)
{
	const cJSON *curve = curve_of(trial), *point;
	const uint32_t points = (uint32_t)cJSON_GetArraySize(curve);
	const double factor = compared_is_share(curves->compared->series) ? 100 : 1;
	struct chart_line *line = &curves->line[curves->lines];
	double *at = numbers, *value = numbers + points;

	if (points == 0)
		return numbers;
	*line = (struct chart_line){ .at = at, .value = value, .points = points };
	dress(curves, trial, line);
	curves->lines++;
	cJSON_ArrayForEach(point, curve) {
		*at++ = number_of(point, 0);
		*value++ = factor * number_of(point, 1);
	}
	return value;
}

/* Collects the curves. Returns false where there is nothing to compare, or memory is short. */
static bool collect(struct curves *curves, uint32_t trials)
{
	const cJSON *const *trial = curves->compared->trial;
	size_t numbers = 1;
	double *room;

	for (uint32_t i = 0; i < trials; i++)
		numbers += 2 * (size_t)cJSON_GetArraySize(curve_of(trial[i]));
	curves->line = calloc((size_t)trials + 1, sizeof(*curves->line));
	curves->numbers = room = calloc(numbers, sizeof(*room));
	if (!curves->line || !room)
		return false;
	for (uint32_t i = 0; i < trials; i++)
		room = add(curves, trial[i], room);
	return curves->lines > 1;
}

void report_trial_curves(const struct compared *compared, uint32_t trials, FILE *out)
{
	CLEANUP(curves_done) struct curves curves = { .compared = compared };
	const bool share = compared_is_share(compared->series);
	char objective[COMPARED_WORDS_BYTES], title[COMPARED_WORDS_BYTES + 8];

	if (!collect(&curves, trials))
		return;
	(void)snprintf(title, sizeof(title), "%s%s", compared_objective(compared->series, objective),
		       share ? ", %" : "");
	fputs("<div class=\"overlay\">\n", out);
	chart_draw(&(struct chart){ .title = title,
				    .line = curves.line,
				    .lines = curves.lines,
				    .most = share ? 100 : INFINITY,
				    .logarithmic = !share },
		   out);
	fputs("</div>\n", out);
}
