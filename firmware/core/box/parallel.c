/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/parallel.h"

#include "core/base/html.h"
#include "core/box/axis.h"
#include "core/series/settings.h"

#include <math.h>
#include <string.h>

#define AXES_MAX   (PARALLEL_SETTINGS_MAX + 1)
#define VALUES_MAX 10u /* places on an axis without numbers; later values share the last one */
#define FACTOR     20  /* numbers that differ by more need a logarithmic axis */
/* Units of the picture. On a telephone one unit is about 0.75 px, on a desk about 1. */
#define LEFT             70.0
#define RIGHT            70.0
#define APART            130.0 /* least distance of two axes; with few axes they are further apart */
#define WIDTH            480.0 /* least width of the picture */
#define HEIGHT           300.0
#define TOP              58.0
#define BOTTOM           290.0
#define NAME_CHARACTERS  19 /* of the name of an axis */
#define LABEL_CHARACTERS 12 /* of a value */

struct column {
	const char *key; /* of a setting; NULL: the objective */
	bool numeric;
	struct axis axis;        /* numeric */
	char *value[VALUES_MAX]; /* else, as text */
	uint32_t values;
};

struct picture {
	const struct compared *compared;
	uint32_t trials, columns;
	struct column column[AXES_MAX];
	double width;
};

static void picture_done(struct picture *picture)
{
	for (uint32_t i = 0; i < picture->columns; i++)
		for (uint32_t j = 0; j < picture->column[i].values; j++)
			free(picture->column[i].value[j]);
}

/* ---- Axes ---- */

/* Returns the number that a trial has on an axis; NaN: none. */
static double number_of(const struct picture *picture, const struct column *column, uint32_t trial)
{
	const cJSON *at = picture->compared->trial[trial], *value;

	if (!column->key)
		return compared_value(at) * (compared_is_share(picture->compared->series) ? 100 : 1);
	value = compared_setting(picture->compared, at, column->key);
	return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

/* Makes an axis of numbers. Returns false where a trial has another value, or none has one. */
static bool fit_numbers(const struct picture *picture, struct column *column)
{
	double least = INFINITY, most = -INFINITY;
	bool share = !column->key && compared_is_share(picture->compared->series);

	for (uint32_t i = 0; i < picture->trials; i++) {
		const double number = number_of(picture, column, i);

		if (!axis_takes(number)) {
			if (column->key)
				return false;
			continue;
		}
		least = fmin(least, number);
		most = fmax(most, number);
	}
	if (least > most)
		return false;
	column->axis = axis_of_values(least, most, share ? 100 : INFINITY,
				      !share && least > 0 && most / least > FACTOR);
	column->numeric = true;
	return true;
}

/* Returns the place of a text on an axis, and adds it where it is new; VALUES_MAX: no memory. */
static uint32_t place_of(struct column *column, const cJSON *setting)
{
	CLEANUP(free_ptr) char *text = setting_text(setting);
	uint32_t i = 0;

	if (!text)
		return VALUES_MAX;
	while (i < column->values && strcmp(column->value[i], text) != 0)
		i++;
	if (i == column->values && i < VALUES_MAX)
		column->value[column->values++] = TAKE(text);
	return i < VALUES_MAX ? i : VALUES_MAX - 1;
}

static const cJSON *setting_of(const struct picture *picture, const struct column *column, uint32_t trial)
{
	return compared_setting(picture->compared, picture->compared->trial[trial], column->key);
}

static bool fit(struct picture *picture)
{
	const struct compared *compared = picture->compared;
	const uint32_t settings =
		compared->keys < PARALLEL_SETTINGS_MAX ? compared->keys : PARALLEL_SETTINGS_MAX;

	for (uint32_t i = 0; i < settings; i++) {
		struct column *column = &picture->column[picture->columns++];

		column->key = compared->key[i];
		if (fit_numbers(picture, column))
			continue;
		for (uint32_t j = 0; j < picture->trials; j++)
			if (place_of(column, setting_of(picture, column, j)) == VALUES_MAX)
				return false;
	}
	picture->width = fmax(WIDTH, LEFT + RIGHT + settings * APART);
	return settings > 0 && fit_numbers(picture, &picture->column[picture->columns++]);
}

static double x_of(const struct picture *picture, uint32_t column)
{
	return LEFT + column * (picture->width - LEFT - RIGHT) / (picture->columns - 1);
}

static double y_at(double place)
{
	return BOTTOM - place * (BOTTOM - TOP);
}

static double y_of_value(const struct column *column, uint32_t value)
{
	return y_at(column->values < 2 ? 0.5 : 1 - value / (column->values - 1.0));
}

/* Returns where the line of a trial crosses an axis; NaN: nowhere. */
static double y_of(struct picture *picture, struct column *column, uint32_t trial)
{
	const double number = number_of(picture, column, trial);

	if (!column->numeric)
		return y_of_value(column, place_of(column, setting_of(picture, column, trial)));
	return axis_takes(number) ? y_at(axis_place(&column->axis, number)) : NAN;
}

/* ---- Drawing ---- */

/* Prints at most so many characters of a text. */
static void print_short(const char *text, int most, FILE *out)
{
	char cut[4 * NAME_CHARACTERS + 1];
	size_t bytes = 0;
	int characters = 0;

	while (text[bytes] && bytes < sizeof(cut) - 5) {
		if ((text[bytes] & 0xc0) != 0x80 && characters++ == most)
			break;
		cut[bytes] = text[bytes];
		bytes++;
	}
	cut[bytes] = '\0';
	html_print(out, "%s%s", cut, text[bytes] ? "…" : "");
}

/* Returns the part of a key that tells most: of a layer "dense_1.units", of a long key what follows the
 * group.
 */
static const char *short_key(const char *key)
{
	static const char layers[] = "model.layers.";
	const char *point = strrchr(key, '.');

	if (strncmp(key, layers, sizeof(layers) - 1) == 0)
		return key + sizeof(layers) - 1;
	return point && strlen(key) > NAME_CHARACTERS ? point + 1 : key;
}

static void draw_labels(const struct column *column, double x, FILE *out)
{
	char label[AXIS_LABEL_SIZE];

	for (uint32_t i = 0; column->numeric && i < column->axis.ticks; i++) {
		const double y = y_at(axis_tick(&column->axis, i, label));

		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", x + 6, y + 4, label);
	}
	for (uint32_t i = 0; i < column->values; i++) {
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 6, y_of_value(column, i) + 4);
		print_short(column->value[i], LABEL_CHARACTERS, out);
		fputs("</text>", out);
	}
}

/* The names of two neighbours stand at two heights, so that long ones do not meet. */
static void draw_axis(const struct picture *picture, uint32_t index, FILE *out)
{
	const struct column *column = &picture->column[index];
	const double x = x_of(picture, index);
	char objective[COMPARED_WORDS_BYTES];

	fprintf(out, "<g class=\"grid\"><path d=\"M%.1f %.0fV%.0f\"/></g>", x, TOP, BOTTOM);
	fprintf(out, "<text text-anchor=\"middle\" class=\"name\" x=\"%.1f\" y=\"%.0f\">", x,
		index % 2 ? 18.0 : 38.0);
	print_short(column->key ? short_key(column->key)
				: compared_objective(picture->compared->series, objective),
		    NAME_CHARACTERS, out);
	fputs(!column->key && compared_is_share(picture->compared->series) ? ", %</text>\n" : "</text>\n",
	      out);
	draw_labels(column, x, out);
}

static void draw_trial(struct picture *picture, uint32_t trial, FILE *out)
{
	const bool winner = compared_is_winner(picture->compared, picture->compared->trial[trial]);
	const double rank = 1 - (double)trial / picture->trials; /* 1 = best */
	char step = 'M';

	fprintf(out, "<path class=\"%s\" stroke-opacity=\"%.2f\" d=\"", winner ? "held" : "train",
		winner ? 1 : 0.2 + 0.6 * rank * rank);
	for (uint32_t i = 0; i < picture->columns; i++) {
		const double y = y_of(picture, &picture->column[i], trial);

		if (isnan(y))
			break;
		fprintf(out, "%c%.1f %.1f", step, x_of(picture, i), y);
		step = 'L';
	}
	fputs("\"/>\n", out);
}

void parallel_draw(const struct compared *compared, uint32_t trials, FILE *out)
{
	CLEANUP(picture_done) struct picture picture = { .compared = compared, .trials = trials };

	if (trials < 2 || !fit(&picture))
		return;
	fprintf(out,
		"<figure class=\"wide\"><svg class=\"chart parallel\" "
		"style=\"min-width:%.0fpx;max-width:%.0fpx\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"trials by settings and objective\">\n",
		0.7 * picture.width, 1.4 * picture.width, picture.width, HEIGHT);
	for (uint32_t i = trials; i-- > 0;) /* the best one on top */
		draw_trial(&picture, i, out);
	for (uint32_t i = 0; i < picture.columns; i++)
		draw_axis(&picture, i, out);
	fputs("</svg></figure>\n", out);
}
