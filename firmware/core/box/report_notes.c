/* SPDX-License-Identifier: Apache-2.0 */
/* The sections with a night's warnings, faults and missing parts. */
#include "core/base/html.h"
#include "core/box/report_sections.h"

#define LIST_MAX 20 /* entries of one list on the page */

/* ---- Warnings ---- */

static void print_seen(const char *split, const cJSON *seen, FILE *out)
{
	CLEANUP(free_ptr) char *warning = report_seen(split, seen);

	if (warning)
		html_print(out, "<p class=\"note\"><b>Warning:</b> %s</p>\n", warning);
}

static void print_unfit(const cJSON *unfit, FILE *out)
{
	const cJSON *row;

	if (!cJSON_IsObject(unfit))
		return;
	html_print(out, "<section class=\"note\"><h2>The data do not fit %s</h2>\n<ul>",
		   report_words(unfit, "file"));
	cJSON_ArrayForEach(row, json_member(unfit, "rows")) {
		const char *todo = cJSON_GetStringValue(json_member(row, "todo"));

		html_print(out, "<li><b>%s</b> %s: %s", report_words(row, "result"),
			   report_words(row, "part"), report_words(row, "text"));
		if (todo && *todo)
			html_print(out, "<br>→ %s", todo);
		fputs("</li>\n", out);
	}
	fputs("</ul></section>\n", out);
}

void report_warnings(const struct report_page *page)
{
	const cJSON *given_up = report_of(page, "test_given_up", "test_given_up");
	const cJSON *daemon;
	FILE *out = page->out;

	print_seen("validation", report_of(page, "validation_seen", "validation_seen"), out);
	print_seen("test", report_of(page, "test_seen", "test_seen"), out);
	if (cJSON_IsString(given_up))
		html_print(out, "<p class=\"note\"><b>No figures of the test:</b> %s</p>\n",
			   given_up->valuestring);
	cJSON_ArrayForEach(daemon, json_member(page->report, "degraded"))
		html_print(out, "<p class=\"note\"><b>%s was degraded at the end:</b> %s</p>\n",
			   report_words(daemon, "daemon"), report_words(daemon, "why"));
	print_unfit(json_member(page->report, "unfit"), out);
}

/* ---- Faults ---- */

static void print_fault(const cJSON *fault, FILE *out)
{
	const char *level = report_words(fault, "level");
	char at[32];

	html_print(out, "<li><b>%s</b> <span class=\"level %s\">%s</span>", report_words(fault, "event"),
		   level, level);
	fprintf(out, " <span class=\"soft\">%.0f×, last at %s UTC</span>", report_number(fault, "count"),
		report_date(report_number(fault, "last_s"), false, at));
	html_print(out, "<br>%s</li>\n", report_words(fault, "message"));
}

void report_faults_list(const struct report_page *page)
{
	const cJSON *faults = json_member(page->report, "faults"), *fault;
	FILE *out = page->out;

	if (!page->report)
		return;
	fputs("<section><h2>Faults of the night</h2>\n", out);
	if (!cJSON_IsArray(faults))
		fputs("<p>Not known: the journal cannot be read.</p>", out);
	else if (cJSON_GetArraySize(faults) == 0)
		fputs("<p>None.</p>", out);
	else
		fputs("<ul>", out);
	cJSON_ArrayForEach(fault, faults)
		print_fault(fault, out);
	fputs(cJSON_GetArraySize(faults) > 0 ? "</ul></section>\n" : "</section>\n", out);
}

/* ---- Lists ---- */

static void begin_list(const char *title, double count, FILE *out)
{
	fprintf(out, "<section><h2>%s: %.0f</h2>\n<ul class=\"names\">", title, count);
}

static void end_list(double count, int shown, FILE *out)
{
	if (count > shown)
		fprintf(out, "<li>… and %.0f more</li>", count - shown);
	fputs("</ul></section>\n", out);
}

/* Prints the names in an array. `count`: how many there are, some of which the array may lack. */
static void print_names(const char *title, const cJSON *names, double count, FILE *out)
{
	const cJSON *name;
	int shown = 0;

	if (cJSON_GetArraySize(names) == 0)
		return;
	begin_list(title, count, out);
	cJSON_ArrayForEach(name, names) {
		if (!cJSON_IsString(name) || shown == LIST_MAX)
			continue;
		html_print(out, "<li>%s</li>\n", name->valuestring);
		shown++;
	}
	end_list(count, shown, out);
}

static void print_quarantine(const cJSON *quarantine, FILE *out)
{
	const cJSON *records = json_member(quarantine, "records"), *record;
	const int listed = cJSON_GetArraySize(records);
	const double count = listed + report_number(quarantine, "more");
	int shown = 0;

	if (listed == 0)
		return;
	begin_list("Records that were left out", count, out);
	cJSON_ArrayForEach(record, records) {
		if (shown == LIST_MAX)
			break;
		html_print(out, "<li>%s", report_words(record, "key"));
		fprintf(out, " <span class=\"soft\">%s byte %.0f%s</span></li>\n",
			cJSON_IsTrue(json_member(record, "rest")) ? "from" : "at",
			report_number(record, "offset"),
			cJSON_IsTrue(json_member(record, "rest")) ? " to the end" : "");
		shown++;
	}
	end_list(count, shown, out);
}

void report_missing(const struct report_page *page)
{
	const cJSON *changed = report_of(page, "changed", "changed");
	const cJSON *left = report_of(page, "left_behind", "left_behind");
	FILE *out = page->out;

	print_quarantine(report_of(page, "quarantine", "quarantine"), out);
	print_names("Objects that changed during the run", changed, cJSON_GetArraySize(changed), out);
	print_names("Files that are not in the store", json_member(left, "names"),
		    report_number(left, "files"), out);
}
