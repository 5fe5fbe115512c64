/* SPDX-License-Identifier: Apache-2.0 */
/* The trials of a series side by side: as parallel coordinates, their curves, and as a table. */
#include "core/base/html.h"
#include "core/box/parallel.h"
#include "core/box/report_sections.h"
#include "core/series/settings.h"

#include <math.h>
#include <string.h>

#define TRIALS_SHOWN 100u                  /* the best ones */
#define KEYS_SHOWN   PARALLEL_SETTINGS_MAX /* settings */

static void print_promotion(const struct report_page *page, const cJSON *promotion)
{
	fputs("<p>", page->out);
	report_promotion_sentence(page, promotion);
	fputs("</p>\n", page->out);
}

static void print_summary(const struct report_page *page, const struct compared *compared)
{
	const cJSON *promotion = json_member(page->series, "promotion");
	char objective[COMPARED_WORDS_BYTES];

	html_print(page->out, "<section><h2>Trials</h2>\n<p class=\"soft\">%s, ",
		   report_words(page->series, "id"));
	html_print(page->out, "%s: ", report_words(page->series, "state"));
	fprintf(page->out, "%u trials; ", compared->trials);
	html_print(page->out, "the best has the %s %s</p>\n",
		   compared_minimizes(page->series) ? "lowest" : "highest",
		   compared_objective(page->series, objective));
	if (cJSON_IsString(json_member(page->series, "winner")))
		html_print(page->out, "<p><span class=\"key held\">winner: <b>%s</b></span></p>\n",
			   report_words(page->series, "winner"));
	if (cJSON_IsObject(promotion))
		print_promotion(page, promotion);
	fputs("<p class=\"soft\">Each line of the first picture is a trial: it runs through the trial's "
	      "settings "
	      "to its "
	      "best value, at the right. The table has the same trials, the best one first.</p>\n",
	      page->out);
}

/* ---- The table ---- */

/* Prints a dotted key, which a browser breaks after a dot rather than in a word. */
static void print_key(const struct report_page *page, const char *key)
{
	char piece[128];

	fputs("<th>", page->out);
	while (*key) {
		size_t bytes = strcspn(key, ".");

		bytes += key[bytes] == '.';
		bytes = bytes < sizeof(piece) ? bytes : sizeof(piece) - 1;
		(void)snprintf(piece, sizeof(piece), "%.*s", (int)bytes, key);
		key += bytes;
		html_print(page->out, piece[bytes - 1] == '.' ? "%s<wbr>" : "%s", piece);
	}
	fputs("</th>", page->out);
}

static void print_head(const struct report_page *page, const struct compared *compared, uint32_t keys)
{
	static const char *const last[] = { "time", "rows/s", "read, MB" };
	char objective[COMPARED_WORDS_BYTES];

	html_print(page->out,
		   "<div class=\"figures\"><table class=\"trials\"><thead><tr><th>trial</th><th>%s</th>"
		   "<th>at epoch</th>",
		   compared_objective(page->series, objective));
	for (uint32_t i = 0; i < keys; i++)
		print_key(page, compared->key[i]);
	html_print(page->out, "<th>%s</th>",
		   strcmp(compared_test(page->series), "test_accuracy") == 0 ? "test accuracy" : "test loss");
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		fprintf(page->out, "<th>%s</th>", last[i]);
	fputs("</tr></thead>\n<tbody>", page->out);
}

static void print_setting(const struct report_page *page, const cJSON *value)
{
	CLEANUP(free_ptr) char *text = setting_text(value);

	html_print(page->out, "<td>%s</td>", text ? text : "");
}

static void print_figure(const struct report_page *page, double value, bool is_loss)
{
	char text[REPORT_VALUE_BYTES];

	fprintf(page->out, "<td>%s</td>", isnan(value) ? "" : report_figure_text(value, is_loss, text));
}

static void print_number(const struct report_page *page, double value, const char *format)
{
	fputs("<td>", page->out);
	if (value > 0) // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the caller's own
		fprintf(page->out, format, value);
	fputs("</td>", page->out);
}

static void print_trial(const struct report_page *page, const struct compared *compared, uint32_t keys,
			const cJSON *trial)
{
	const char *test = compared_test(page->series), *state = report_words(trial, "state");
	const cJSON *figure = json_member(json_member(trial, "summary"), test);
	const double took_s = report_number(trial, "took_s");
	char text[REPORT_VALUE_BYTES];

	fputs(compared_is_winner(compared, trial) ? "<tr class=\"winner\">" : "<tr>", page->out);
	html_print(page->out, "<th>%s", report_words(trial, "name"));
	if (strcmp(state, "finished") != 0)
		html_print(page->out, " <span class=\"level\">%s</span>", state);
	fputs("</th>", page->out);
	print_figure(page, compared_value(trial), !compared_is_share(page->series));
	print_number(page, report_number(trial, "best_epoch"), "%.0f");
	for (uint32_t i = 0; i < keys; i++)
		print_setting(page, compared_setting(compared, trial, compared->key[i]));
	print_figure(page, cJSON_IsNumber(figure) ? figure->valuedouble : NAN,
		     strcmp(test, "test_accuracy") != 0);
	fprintf(page->out, "<td>%s</td>", took_s > 0 ? report_span_text(took_s, text) : "");
	print_number(page, report_number(trial, "rows_per_s"), "%.0f");
	print_number(page, report_number(trial, "bytes") / 1e6, "%.1f");
	fputs("</tr>\n", page->out);
}

static void print_reasons(const struct report_page *page, const struct compared *compared, uint32_t shown)
{
	const char *before = "<ul>\n";

	for (uint32_t i = 0; i < shown; i++) {
		const cJSON *trial = compared->trial[i];
		const char *reason = report_words(trial, "reason");

		if (strcmp(report_words(trial, "state"), "failed") != 0)
			continue;
		fputs(before, page->out);
		html_print(page->out, "<li><b>%s</b>: %s</li>\n", report_words(trial, "name"), reason);
		before = "";
	}
	fputs(*before ? "" : "</ul>\n", page->out);
}

void report_trials(const struct report_page *page)
{
	CLEANUP(compared_done) struct compared compared = { 0 };
	uint32_t shown, keys;

	if (!cJSON_IsObject(page->series) || compared_make(page->series, &compared, NULL) < 0 ||
	    compared.trials == 0)
		return;
	shown = compared.trials < TRIALS_SHOWN ? compared.trials : TRIALS_SHOWN;
	keys = compared.keys < KEYS_SHOWN ? compared.keys : KEYS_SHOWN;
	print_summary(page, &compared);
	parallel_draw(&compared, shown, page->out);
	report_trial_curves(&compared, shown, page->out);
	print_head(page, &compared, keys);
	for (uint32_t i = 0; i < shown; i++)
		print_trial(page, &compared, keys, compared.trial[i]);
	fputs("</tbody></table></div>\n", page->out);
	if (shown < compared.trials || keys < compared.keys)
		fprintf(page->out,
			"<p class=\"soft\">… and %u more trials, which are worse, and %u more settings: kiln "
			"experiments show prints all</p>\n",
			compared.trials - shown, compared.keys - keys);
	print_reasons(page, &compared, shown);
	fputs("</section>\n", page->out);
}
