/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/experiments/differs.h"

#include "cli/base/format.h"
#include "cli/base/grid.h"
#include "cli/client/result.h"
#include "core/series/settings.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_value(struct grid *grid, const cJSON *value, const char *none)
{
	CLEANUP(free_ptr) char *text = value && !cJSON_IsNull(value) ? setting_text(value) : NULL;

	grid_add(grid, text ? text : none);
}

/* Adds the values of both runs. `none`: the text of a value that a run does not have. */
static void add_both(struct grid *grid, const char *key, const cJSON *row, const char *none)
{
	grid_add(grid, key);
	add_value(grid, json_member(row, "a"), none);
	add_value(grid, json_member(row, "b"), none);
}

/* ---- Text ---- */

static void print_run(const char *as, const cJSON *run, FILE *out)
{
	fprintf(out, "%s  %s", as, client_text(run, "id"));
	if (cJSON_IsString(json_member(run, "trial")))
		fprintf(out, ", trial %s", client_text(run, "trial"));
	(void)fputc('\n', out);
}

/* Makes a table of what both runs have. */
static void open_grid(struct grid *grid, const char *what)
{
	grid_open(grid, 3);
	grid_add(grid, what);
	grid_add(grid, "a");
	grid_add(grid, "b");
}

static void print_settings(const cJSON *difference, FILE *out)
{
	CLEANUP(grid_done) struct grid grid = { 0 };
	const cJSON *row, *settings = json_member(difference, "settings");

	if (!cJSON_IsArray(settings)) {
		fprintf(out, "\nsettings: not compared: %s\n", client_text(difference, "unread"));
		return;
	}
	if (!settings->child) {
		fputs("\nsettings: the same\n", out);
		return;
	}
	open_grid(&grid, "setting");
	cJSON_ArrayForEach(row, settings)
		add_both(&grid, client_text(row, "key"), row, "-");
	(void)fputc('\n', out);
	grid_print(&grid, out);
}

/* The facts that are printed, with the words for people. */
static const struct {
	const char *key, *words;
} facts[] = { { "plan", "plan" },       { "order", "order" },
	      { "version", "version" }, { "build", "build" },
	      { "device", "device" },   { "machine", "machine" },
	      { "seed", "seed" },       { "starts_from", "starts from" },
	      { "weights", "weights" } };

static void print_fact(const char *words, const cJSON *fact, FILE *out)
{
	CLEANUP(free_ptr) char *a = setting_text(json_member(fact, "a"));
	CLEANUP(free_ptr) char *b = setting_text(json_member(fact, "b"));

	fprintf(out, "%-12s", words);
	if (cJSON_IsTrue(json_member(fact, "same")))
		fprintf(out, "the same: %s\n", a ? a : "");
	else
		fprintf(out, "a %s\n%-12sb %s\n", a ? a : "", "", b ? b : "");
}

/* Returns whether neither run has the fact, or both have an empty one. */
static bool is_empty(const cJSON *fact)
{
	const cJSON *a = json_member(fact, "a");

	return !fact || (cJSON_IsTrue(json_member(fact, "same")) &&
			 (!a || cJSON_IsNull(a) || (cJSON_IsString(a) && !*a->valuestring)));
}

static void print_facts(const cJSON *all, FILE *out)
{
	(void)fputc('\n', out);
	for (size_t i = 0; i < COUNT(facts); i++) {
		const cJSON *fact = json_member(all, facts[i].key);

		if (!is_empty(fact))
			print_fact(facts[i].words, fact, out);
	}
}

/* Writes a key as words: "test_loss" becomes "test loss", and "took_s" "took". */
static const char *words_of(const char *key, char *out, size_t size)
{
	const size_t length = strlen(key);
	const bool seconds = length > 2 && strcmp(key + length - 2, "_s") == 0;

	(void)snprintf(out, size, "%.*s", (int)(seconds ? length - 2 : length), key);
	for (char *at = out; (at = strchr(at, '_'));)
		*at = ' ';
	return out;
}

/* Writes a figure as `kiln runs` prints it. */
static const char *figure_text(const char *key, double value, char out[static FORMAT_BYTES])
{
	return strstr(key, "accuracy") ? format_number(100 * value, "%.2f %%", out)
				       : format_number(value, "%.4f", out);
}

/* Prints the widest gap of the objective, and who stays ahead. */
static void print_race(const cJSON *difference, FILE *out)
{
	const cJSON *gap = json_member(difference, "gap"), *ahead = json_member(difference, "ahead");
	const char *figure = client_text(gap, "figure");
	char words[64], a[FORMAT_BYTES], b[FORMAT_BYTES];

	if (cJSON_IsObject(gap))
		fprintf(out, "%-12sare furthest apart at epoch %.0f: %s %s and %s\n", "",
			client_number(gap, "epoch"), words_of(figure, words, sizeof(words)),
			figure_text(figure, client_number(gap, "a"), a),
			figure_text(figure, client_number(gap, "b"), b));
	if (cJSON_IsObject(ahead))
		fprintf(out, "%-12s%s is ahead from epoch %.0f on\n", "", client_text(ahead, "run"),
			client_number(ahead, "epoch"));
}

static void print_curves(const cJSON *difference, FILE *out)
{
	const cJSON *parts = json_member(difference, "parts");
	const double compared = client_number(difference, "compared");

	fprintf(out, "%-12s", "curves");
	if (cJSON_IsObject(parts)) {
		CLEANUP(free_ptr) char *a = setting_text(json_member(parts, "a"));
		CLEANUP(free_ptr) char *b = setting_text(json_member(parts, "b"));

		fprintf(out, "part at epoch %.0f: %s %s and %s\n", client_number(parts, "epoch"),
			client_text(parts, "figure"), a ? a : "", b ? b : "");
	} else if (compared > 0) {
		fprintf(out, "the same in the %.0f epochs that both have\n", compared);
	} else {
		fputs("no epoch that both have\n", out);
	}
	print_race(difference, out);
}

static void add_figure(struct grid *grid, const char *key, const cJSON *item)
{
	const double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
	char text[FORMAT_BYTES];

	if (cJSON_IsString(item))
		grid_add(grid, item->valuestring);
	else if (strcmp(key, "started_s") == 0)
		grid_add(grid, format_time(value, text));
	else if (strcmp(key, "took_s") == 0)
		grid_add(grid, format_span(value, text));
	else if (strcmp(key, "epochs") == 0)
		grid_add(grid, format_number(value, "%.0f", text));
	else
		grid_add(grid, figure_text(key, value, text));
}

static void print_figures(const cJSON *rows, FILE *out)
{
	CLEANUP(grid_done) struct grid grid = { 0 };
	const cJSON *row;
	char words[64];

	open_grid(&grid, "figure");
	cJSON_ArrayForEach(row, rows) {
		const char *key = client_text(row, "key");

		grid_add(&grid, words_of(key, words, sizeof(words)));
		add_figure(&grid, key, json_member(row, "a"));
		add_figure(&grid, key, json_member(row, "b"));
	}
	(void)fputc('\n', out);
	grid_print(&grid, out);
}

void differs_print(const cJSON *difference, FILE *out)
{
	print_run("a", json_member(difference, "a"), out);
	print_run("b", json_member(difference, "b"), out);
	print_settings(difference, out);
	print_facts(json_member(difference, "facts"), out);
	print_curves(difference, out);
	print_figures(json_member(difference, "figures"), out);
}

/* ---- CSV ---- */

static void add_line(struct grid *grid, const char *what, const char *key, const cJSON *row)
{
	grid_add(grid, what);
	add_both(grid, key, row, "");
}

/* Adds the epoch at which the curves part, or are furthest apart. */
static void add_epoch(struct grid *grid, const char *what, const cJSON *at)
{
	char epoch[64];

	if (!cJSON_IsObject(at))
		return;
	(void)snprintf(epoch, sizeof(epoch), "epoch %.0f, %s", client_number(at, "epoch"),
		       client_text(at, "figure"));
	add_line(grid, what, epoch, at);
}

static void add_ahead(struct grid *grid, const cJSON *ahead)
{
	const bool is_a = strcmp(client_text(ahead, "run"), "a") == 0;
	char epoch[64];

	if (!cJSON_IsObject(ahead))
		return;
	(void)snprintf(epoch, sizeof(epoch), "from epoch %.0f on", client_number(ahead, "epoch"));
	grid_add(grid, "ahead");
	grid_add(grid, epoch);
	grid_add(grid, is_a ? "ahead" : "");
	grid_add(grid, is_a ? "" : "ahead");
}

void differs_print_csv(const cJSON *difference, FILE *out)
{
	static const char *const names[] = { "what", "key", "a", "b" };
	const cJSON *row;
	CLEANUP(grid_done) struct grid grid = { 0 };

	grid_open(&grid, COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++)
		grid_add(&grid, names[i]);
	grid_add(&grid, "fact");
	grid_add(&grid, "run");
	grid_add(&grid, client_text(difference, "a.id"));
	grid_add(&grid, client_text(difference, "b.id"));
	cJSON_ArrayForEach(row, json_member(difference, "settings"))
		add_line(&grid, "setting", client_text(row, "key"), row);
	cJSON_ArrayForEach(row, json_member(difference, "facts"))
		add_line(&grid, "fact", row->string, row);
	add_epoch(&grid, "parts", json_member(difference, "parts"));
	add_epoch(&grid, "gap", json_member(difference, "gap"));
	add_ahead(&grid, json_member(difference, "ahead"));
	cJSON_ArrayForEach(row, json_member(difference, "figures"))
		add_line(&grid, "figure", client_text(row, "key"), row);
	grid_print_csv(&grid, out);
}
