/* SPDX-License-Identifier: Apache-2.0 */
/* Where and when a run ran, and what it trained on. */
#include "core/base/html.h"
#include "core/box/report_sections.h"

#include <string.h>

#define CLASSES_MAX  50 /* names of classes on the page */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void print_fact(const struct report_page *page, const char *label, const char *value)
{
	if (value && *value)
		html_print(page->out, "<dt>%s</dt><dd>%s</dd>\n", label, value);
}

static void print_night(const struct report_page *page)
{
	const cJSON *night = json_member(page->report, "night");
	const cJSON *began = report_of(page, "run.started_s", "started_s");
	char from[32], to[32];

	if (cJSON_IsObject(night))
		html_print(page->out, "<dt>night</dt><dd>%s to %s UTC, started by %s</dd>\n",
			   report_date(report_number(night, "from_s"), true, from),
			   report_date(report_number(night, "to_s"), true, to),
			   strcmp(report_words(night, "by"), "timer") == 0 ? "the timer" : "hand");
	if (cJSON_IsNumber(began))
		html_print(page->out, "<dt>run begun</dt><dd>%s UTC</dd>\n",
			   report_date(began->valuedouble, true, from));
}

static void print_box(const struct report_page *page)
{
	const char *build = report_words_of(page, "build", NULL);
	const char *version = report_words_of(page, "version", "kiln_version");

	print_fact(page, "box", report_words_of(page, "host", NULL));
	print_fact(page, "machine", report_words_of(page, "machine", "machine"));
	print_fact(page, "slot", report_words_of(page, "slot", NULL));
	html_print(page->out, "<dt>version</dt><dd>Kiln %s%s%s</dd>\n", version ? version : "-",
		   build ? ", build " : "", build ? build : "");
	print_fact(page, "device", report_words_of(page, "run.device", "device"));
}

static void print_rows(const struct report_page *page)
{
	static const char *const splits[] = { "train", "validation", "test" };
	const char *before = "<dt>rows</dt><dd>";
	const cJSON *metrics = json_member(page->record, "metrics");

	for (size_t i = 0; i < COUNT(splits); i++) {
		const cJSON *split = json_member(metrics, splits[i]);

		if (!cJSON_IsNumber(json_member(split, "rows")))
			continue;
		fprintf(page->out, "%s%.0f %s", before, report_number(split, "rows"), splits[i]);
		before = ", ";
	}
	if (*before == ',')
		fputs("</dd>\n", page->out);
}

static void print_classes(const struct report_page *page)
{
	const cJSON *classes = json_member(page->record, "classes"), *name;
	const int count = cJSON_GetArraySize(classes);
	int shown = 0;

	if (count == 0)
		return;
	fprintf(page->out, "<dt>classes</dt><dd>%d: ", count);
	cJSON_ArrayForEach(name, classes) {
		if (!cJSON_IsString(name) || shown == CLASSES_MAX)
			continue;
		html_print(page->out, "%s%s", shown++ ? ", " : "", name->valuestring);
	}
	fputs(shown < count ? ", …</dd>\n" : "</dd>\n", page->out);
}

static void print_data(const struct report_page *page)
{
	const cJSON *source, *seed = report_of(page, "run.seed", "seed");
	const double batch_rows = report_number(page->report, "run.batch_rows");

	cJSON_ArrayForEach(source, json_member(page->report, "run.sources"))
		print_fact(page, "trained on", cJSON_GetStringValue(source));
	print_rows(page);
	print_classes(page);
	if (batch_rows > 0)
		fprintf(page->out, "<dt>rows a batch</dt><dd>%.0f</dd>\n", batch_rows);
	if (cJSON_IsNumber(seed))
		fprintf(page->out, "<dt>seed</dt><dd>%.0f</dd>\n", seed->valuedouble);
	else /* larger than a double holds */
		print_fact(page, "seed", cJSON_GetStringValue(seed));
	print_fact(page, "starts from", report_words_of(page, "run.start_run", "start_run"));
	print_fact(page, "plan", report_words_of(page, "run.plan_sha256", "plan_sha256"));
	print_fact(page, "outputs", report_words_of(page, "run.outputs", NULL));
}

/* With a series the trials have the outcome. */
static void print_promotion(const struct report_page *page)
{
	const cJSON *promotion = report_of(page, "promotion", "promotion");

	if (!cJSON_IsObject(promotion) || cJSON_IsObject(json_member(page->series, "promotion")))
		return;
	fputs("<dt>promotion</dt><dd>", page->out);
	report_promotion_sentence(page, promotion);
	fputs("</dd>\n", page->out);
}

void report_facts(const struct report_page *page)
{
	const double next_s = report_number(page->report, "night.next_s");
	char next[32];

	fputs("<section><dl>\n", page->out);
	print_night(page);
	print_box(page);
	print_data(page);
	print_promotion(page);
	if (next_s > 0)
		html_print(page->out, "<dt>next night</dt><dd>%s UTC</dd>\n",
			   report_date(next_s, true, next));
	fputs("</dl></section>\n", page->out);
}
