/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/experiments/table.h"

#include "cli/base/format.h"
#include "cli/base/grid.h"
#include "cli/client/result.h"
#include "core/series/compared.h"
#include "core/series/settings.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Cells ---- */

/* Adds a number as it is, so that a program reads it again; nothing where it is not known. */
static void add_raw(struct grid *grid, double value)
{
	CLEANUP(json_free) cJSON *number = isnan(value) ? NULL : cJSON_CreateNumber(value);
	CLEANUP(free_ptr) char *text = number ? setting_text(number) : NULL;

	grid_add(grid, text ? text : "");
}

/* Adds a figure: a share of 1 in percent, another with four decimals. */
static void add_figure(struct grid *grid, double value, bool is_share)
{
	char text[FORMAT_BYTES];

	grid_add(grid, format_number(is_share ? 100 * value : value, is_share ? "%.2f %%" : "%.4f", text));
}

/* `none`: what stands for a setting that the trial does not have. */
static void add_setting(struct grid *grid, const cJSON *value, const char *none)
{
	CLEANUP(free_ptr) char *text = value ? setting_text(value) : NULL;

	grid_add(grid, text ? text : none);
}

/* ---- The list of series ---- */

static double done_of(const cJSON *row)
{
	return client_number(row, "finished") + client_number(row, "pruned") + client_number(row, "failed");
}

static void add_row(struct grid *grid, const cJSON *row)
{
	const bool is_share = compared_is_share(row);
	char text[FORMAT_BYTES], trials[FORMAT_BYTES] = "-";

	if (!isnan(done_of(row)))
		(void)snprintf(trials, sizeof(trials), "%.0f of %.0f", done_of(row),
			       client_number(row, "trials"));
	grid_add(grid, client_text(row, "id"));
	grid_add(grid, json_member(row, "error") ? client_text(row, "error") : client_text(row, "state"));
	grid_add(grid, format_time(client_number(row, "started_s"), text));
	grid_add(grid, client_text(row, "method"));
	grid_add(grid, trials);
	grid_add(grid, client_text(row, "objective"));
	add_figure(grid, client_number(row, "best_value"), is_share);
	grid_add(grid, client_text(row, "best"));
	grid_add(grid, client_text(row, "winner"));
}

static void print_rows(const cJSON *rows, const char *const *keys, size_t count,
		       void (*add)(struct grid *grid, const cJSON *row),
		       void (*print)(const struct grid *grid, FILE *out), FILE *out)
{
	CLEANUP(grid_done) struct grid grid = { 0 };
	const cJSON *row;

	grid_open(&grid, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		grid_add(&grid, keys[i]);
	cJSON_ArrayForEach(row, rows)
		add(&grid, row);
	print(&grid, out);
}

void series_print_list(const cJSON *rows, FILE *out)
{
	static const char *const names[] = { "series",    "state", "began", "method", "trials",
					     "objective", "best",  "trial", "winner" };

	print_rows(rows, names, COUNT(names), add_row, grid_print, out);
}

static const char *const raw_keys[] = { "id",        "name",      "state",      "method", "objective",
					"direction", "started_s", "ended_s",    "trials", "finished",
					"pruned",    "failed",    "best_value", "best",   "winner" };

static void add_raw_row(struct grid *grid, const cJSON *row)
{
	for (size_t i = 0; i < COUNT(raw_keys); i++) {
		const cJSON *item = json_member(row, raw_keys[i]);

		if (cJSON_IsNumber(item))
			add_raw(grid, item->valuedouble);
		else
			grid_add(grid, cJSON_IsString(item) ? item->valuestring : "");
	}
}

void series_print_list_csv(const cJSON *rows, FILE *out)
{
	print_rows(rows, raw_keys, COUNT(raw_keys), add_raw_row, grid_print_csv, out);
}

/* ---- The trials of a series ---- */

static void add_trial(struct grid *grid, const struct compared *compared, const cJSON *trial)
{
	const bool is_share = compared_is_share(compared->series);
	const char *test = compared_test(compared->series);
	char text[FORMAT_BYTES], name[128];

	(void)snprintf(name, sizeof(name), "%s%s", client_text(trial, "name"),
		       compared_is_winner(compared, trial) ? " *" : "");
	grid_add(grid, name);
	grid_add(grid, client_text(trial, "state"));
	for (uint32_t i = 0; i < compared->keys; i++)
		add_setting(grid, compared_setting(compared, trial, compared->key[i]), "-");
	add_figure(grid, compared_value(trial), is_share);
	grid_add(grid, client_number(trial, "best_epoch") > 0
			       ? format_number(client_number(trial, "best_epoch"), "%.0f", text)
			       : "-");
	add_figure(grid, client_number(json_member(trial, "summary"), test),
		   strcmp(test, "test_accuracy") == 0);
	grid_add(grid, format_number(client_number(trial, "epochs"), "%.0f", text));
	grid_add(grid, format_span(client_number(trial, "took_s"), text));
	grid_add(grid, format_number(client_number(trial, "rows_per_s"), "%.0f", text));
	grid_add(grid, format_bytes(client_number(trial, "bytes"), text));
}

static void print_table(const struct compared *compared, FILE *out)
{
	static const char *const last[] = { "epochs", "took", "rows/s", "read" };
	const char *const test =
		strcmp(compared_test(compared->series), "test_accuracy") == 0 ? "test acc." : "test loss";
	CLEANUP(grid_done) struct grid grid = { 0 };
	char objective[COMPARED_WORDS_BYTES];

	grid_open(&grid, 5 + compared->keys + (uint32_t)COUNT(last));
	grid_add(&grid, "trial");
	grid_add(&grid, "state");
	for (uint32_t i = 0; i < compared->keys; i++)
		grid_add(&grid, compared->key[i]);
	grid_add(&grid, compared_objective(compared->series, objective));
	grid_add(&grid, "epoch");
	grid_add(&grid, test);
	for (size_t i = 0; i < COUNT(last); i++)
		grid_add(&grid, last[i]);
	for (uint32_t i = 0; i < compared->trials; i++)
		add_trial(&grid, compared, compared->trial[i]);
	grid_print(&grid, out);
}

/* `why` has the figures of the test: the gain, its interval, and the champion that the model was compared
 * with. */
static void print_promotion(const cJSON *promotion, FILE *out)
{
	if (!cJSON_IsObject(promotion))
		return;
	fprintf(out, "model    %s: %s\n", client_text(promotion, "outcome"), client_text(promotion, "why"));
	if (client_number(promotion, "number") > 0)
		fprintf(out, "champion %.0f; before it: %s\n", client_number(promotion, "number"),
			cJSON_IsString(json_member(promotion, "champion"))
				? client_text(promotion, "champion")
				: "none");
}

static void print_heading(const cJSON *series, FILE *out)
{
	char objective[COMPARED_WORDS_BYTES];

	fprintf(out, "series   %s\nstate    %s\n", client_text(series, "id"), client_text(series, "state"));
	if (cJSON_IsString(json_member(series, "reason")))
		fprintf(out, "reason   %s\n", client_text(series, "reason"));
	fprintf(out, "trials   %d, %s; best: the %s %s\n", cJSON_GetArraySize(json_member(series, "trials")),
		client_text(series, "method"), compared_minimizes(series) ? "lowest" : "highest",
		compared_objective(series, objective));
	if (cJSON_IsString(json_member(series, "winner")))
		fprintf(out, "winner   %s\n", client_text(series, "winner"));
	print_promotion(json_member(series, "promotion"), out);
}

/* Prints why trials failed or were pruned. */
static void print_reasons(const struct compared *compared, FILE *out)
{
	const char *before = "\n";

	for (uint32_t i = 0; i < compared->trials; i++) {
		const char *reason = client_text(compared->trial[i], "reason");

		if (*reason && strcmp(reason, "-") != 0) {
			fprintf(out, "%s%s: %s\n", before, client_text(compared->trial[i], "name"), reason);
			before = "";
		}
	}
}

int series_print(const cJSON *series, FILE *out, struct error *err)
{
	CLEANUP(compared_done) struct compared compared = { 0 };
	int r = compared_make(series, &compared, err);

	if (r < 0)
		return r;
	print_heading(series, out);
	(void)fputc('\n', out);
	print_table(&compared, out);
	print_reasons(&compared, out);
	return 0;
}

/* ---- CSV ---- */

static const char *const raw_texts[] = { "state", "run", "reason" };
static const char *const raw_numbers[] = {
	"value",      "best_epoch", "summary.test_loss", "summary.test_accuracy",
	"epochs",     "rung",       "started_s",         "took_s",
	"rows_per_s", "bytes"
};

static void add_raw_trial(struct grid *grid, const struct compared *compared, const cJSON *trial)
{
	grid_add(grid, client_text(trial, "name"));
	for (uint32_t i = 0; i < compared->keys; i++)
		add_setting(grid, compared_setting(compared, trial, compared->key[i]), "");
	for (size_t i = 0; i < COUNT(raw_numbers); i++)
		add_raw(grid, client_number(trial, raw_numbers[i]));
	for (size_t i = 0; i < COUNT(raw_texts); i++) {
		const char *text = cJSON_GetStringValue(json_member(trial, raw_texts[i]));

		grid_add(grid, text ? text : "");
	}
}

int series_print_csv(const cJSON *series, FILE *out, struct error *err)
{
	CLEANUP(compared_done) struct compared compared = { 0 };
	CLEANUP(grid_done) struct grid grid = { 0 };
	const char *objective = client_text(series, "objective");
	int r = compared_make(series, &compared, err);

	if (r < 0)
		return r;
	grid_open(&grid, 1 + compared.keys + (uint32_t)(COUNT(raw_numbers) + COUNT(raw_texts)));
	grid_add(&grid, "trial");
	for (uint32_t i = 0; i < compared.keys; i++)
		grid_add(&grid, compared.key[i]);
	for (size_t i = 0; i < COUNT(raw_numbers); i++) {
		const char *name = strrchr(raw_numbers[i], '.');

		grid_add(&grid, i == 0 ? objective : name ? name + 1 : raw_numbers[i]);
	}
	for (size_t i = 0; i < COUNT(raw_texts); i++)
		grid_add(&grid, raw_texts[i]);
	for (uint32_t i = 0; i < compared.trials; i++)
		add_raw_trial(&grid, &compared, compared.trial[i]);
	grid_print_csv(&grid, out);
	return 0;
}
