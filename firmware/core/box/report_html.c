/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/report_html.h"
#include "core/base/html.h"
#include "core/box/report_sections.h"
#include "core/box/report_style.h"
#include "core/run/run_summary.h"

#include <math.h>
#include <string.h>

/* ---- Heading ---- */

static const char *class_of(const char *outcome)
{
	static const char *const bad[] = { "failed", "halted", "never_started" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strcmp(outcome, bad[i]) == 0)
			return "bad";
	return strcmp(outcome, "finished") == 0 ? "good" : "wary";
}

static void print_heading(const struct report_page *page, const char *name, const char *id)
{
	const char *outcome = report_words_of(page, "outcome", "state");
	const char *reason = report_words_of(page, "reason", "reason");
	const char *trial = cJSON_GetStringValue(json_member(page->record, "series.trial"));

	html_print(page->out, "<header><h1>%s</h1>\n<p class=\"id\">%s%s%s</p>\n", name, id,
		   trial ? ", trial " : "", trial ? trial : "");
	if (outcome)
		html_print(page->out, "<p><span class=\"outcome %s\">%s</span> %s</p>\n", class_of(outcome),
			   strcmp(outcome, "never_started") == 0 ? "never started" : outcome,
			   reason ? reason : "");
	fputs("</header>\n", page->out);
}

/* ---- Tiles: what a reader wants to know first ---- */

static void print_tile(const struct report_page *page, const char *label, const char *value)
{
	html_print(page->out, "<p><span>%s</span>%s</p>\n", label, value);
}

/* The accuracy or, where the test has none, the loss. */
static void print_test_tile(const struct report_page *page)
{
	const cJSON *test = report_of(page, "test", "metrics.test");
	const bool is_loss = !json_member(test, "accuracy");
	const cJSON *figure = json_member(test, is_loss ? "loss" : "accuracy");
	char value[REPORT_VALUE_BYTES];

	if (cJSON_IsNumber(figure))
		print_tile(page, is_loss ? "test loss" : "test accuracy",
			   report_figure_text(figure->valuedouble, is_loss, value));
}

/* Prints the best value of the last figure that the epochs have: of the validation rather than of the
 * training, and of the accuracy rather than of the loss. */
static void print_best_tile(const struct report_page *page)
{
	char label[REPORT_VALUE_BYTES], value[REPORT_VALUE_BYTES];

	for (size_t i = REPORT_FIGURES; i-- > 0;) {
		const struct report_figure *figure = &report_figures[i];
		const struct report_curve curve = report_curve_of(page->epochs, figure);

		if (!curve.any)
			continue;
		(void)snprintf(label, sizeof(label), "best %.*s", (int)strcspn(figure->label, ","),
			       figure->label);
		print_tile(page, label, report_figure_text(curve.best, figure->is_loss, value));
		return;
	}
}

static void print_epochs_tile(const struct report_page *page)
{
	const double epochs = report_number(page->report, "run.epochs");
	char value[REPORT_VALUE_BYTES];
	int used = snprintf(value, sizeof(value), "%ju", (uintmax_t)run_epochs_done(page->epochs));

	if (epochs > 0)
		(void)snprintf(value + used, sizeof(value) - (size_t)used, " of %.0f", epochs);
	print_tile(page, "epochs", value);
}

/* Returns how long the trainer worked: the sum of its stages. */
static double worked_s(const cJSON *time)
{
	double sum = 0;

	for (size_t i = 0; i < REPORT_STAGES; i++)
		if (!report_stages[i].beside)
			sum += report_number(time, report_stages[i].key);
	return sum;
}

static void print_tiles(const struct report_page *page, const cJSON *time)
{
	char value[REPORT_VALUE_BYTES];

	if (!page->record)
		return;
	fputs("<div class=\"tiles\">\n", page->out);
	print_test_tile(page);
	print_best_tile(page);
	print_epochs_tile(page);
	if (cJSON_IsObject(time))
		print_tile(page, "time of the trainer", report_span_text(worked_s(time), value));
	fputs("</div>\n", page->out);
}

/* ---- Time ---- */

static void print_stage(const struct report_page *page, const struct report_stage *stage, double spent_s,
			double whole_s)
{
	const double share = whole_s > 0 && spent_s > 0 ? fmin(100 * spent_s / whole_s, 100) : 0;
	char text[REPORT_VALUE_BYTES];

	fprintf(page->out,
		"<tr%s><th>%s</th><td><svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\"><rect width=\"%.2f\" height=\"10\"/></svg></td><td>%s</td></tr>\n",
		stage->beside ? " class=\"beside\"" : "", stage->label, share,
		report_span_text(spent_s, text));
}

static void print_time(const struct report_page *page, const cJSON *time)
{
	const double whole_s = worked_s(time);

	if (!cJSON_IsObject(time))
		return;
	fputs("<section><h2>Time by stage</h2>\n<p class=\"soft\">of all nights of the run; the trainer "
	      "began ",
	      page->out);
	if (report_number(time, "starts") == 1)
		fputs("once", page->out);
	else
		fprintf(page->out, "%.0f times", report_number(time, "starts"));
	fputs("</p>\n<table class=\"time\"><tbody>\n", page->out);
	for (size_t i = 0; i < REPORT_STAGES; i++)
		if (cJSON_IsNumber(json_member(time, report_stages[i].key)))
			print_stage(page, &report_stages[i], report_number(time, report_stages[i].key),
				    whole_s);
	fputs("</tbody></table></section>\n", page->out);
}

/* ---- The page ---- */

/* The policy refuses scripts, forms and requests of every kind, also where a text of the report got into the
 * page as a tag. With an icon of no bytes a browser does not ask for /favicon.ico. */
static void print_head(const char *title, FILE *out)
{
	html_print(out,
		   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "style-src 'unsafe-inline'; img-src data:; "
		   "form-action 'none'; base-uri 'none'\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		   "<link rel=\"icon\" href=\"data:,\">\n<title>%s</title>\n<style>\n",
		   title);
	fprintf(out, "%s</style>\n</head>\n", report_style);
}

void report_html(const cJSON *report, const cJSON *record, const cJSON *series, FILE *out)
{
	const struct report_page page = { report, record, series, json_member(record, "epochs"), out };
	const cJSON *time = report_of(&page, "time", "time");
	const char *name = report_words_of(&page, "run.name", "name"),
		   *id = report_words_of(&page, "run.id", "id");

	name = name ? name : "No run started";
	print_head(id ? id : name, out);
	fputs("<body>\n", out);
	print_heading(&page, name, id ? id : report_words(report, "id"));
	print_tiles(&page, time);
	report_warnings(&page);
	report_trials(&page);
	report_facts(&page);
	report_charts(&page);
	report_figures_table(&page);
	report_confusion(&page);
	print_time(&page, time);
	report_faults_list(&page);
	report_missing(&page);
	fputs("</body>\n</html>\n", out);
}
