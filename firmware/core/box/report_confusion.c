/* SPDX-License-Identifier: Apache-2.0 */
/* How the model confuses the classes: the confusion matrix as a table of shaded cells, the classes that are
 * taken for others most often, and precision and recall of each class. */
#include "core/base/html.h"
#include "core/box/report_sections.h"
#include "core/run/run_confusion.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NUMBERS_MAX 20u /* classes up to which a cell shows its number */
#define LEVEL_MAX   4u  /* classes up to which the names of columns are not turned */
#define PAIRS_MAX   20u

#define CLASS_BYTES 24u
/* Returns the name of a class or, where the record does not know it, its number, which is written to `out`.
 */
static const char *class_name(const struct report_page *page, uint64_t class, char out[static CLASS_BYTES])
{
	const cJSON *names = json_member(page->record, "classes");
	const char *name =
		class <= INT32_MAX ? cJSON_GetStringValue(cJSON_GetArrayItem(names, (int)class)) : NULL;

	if (name && *name)
		return name;
	(void)snprintf(out, CLASS_BYTES, "%" PRIu64, class);
	return out;
}

static void print_th(const struct report_page *page, uint64_t class)
{
	char number[CLASS_BYTES];

	html_print(page->out, "<th><span>%s</span></th>", class_name(page, class, number));
}

/* ---- The matrix ---- */

/* Prints a cell. The larger its part of the row, the darker it is. */
static void print_cell(const struct report_page *page, double rows, double of, bool right)
{
	if (rows > 0)
		fprintf(page->out, "<td class=\"%s\" style=\"--a:%.2f\">%.0f</td>", right ? "r" : "w",
			0.08 + 0.62 * rows / of, rows);
	else
		fputs("<td>0</td>", page->out);
}

static void print_matrix(const struct report_page *page, const double *matrix, uint64_t classes)
{
	fprintf(page->out, "<div class=\"wide\"><table class=\"confusion%s%s\"><thead><tr><td></td>",
		classes > LEVEL_MAX ? " turned" : "", classes > NUMBERS_MAX ? " dense" : "");
	for (uint64_t i = 0; i < classes; i++)
		print_th(page, i);
	fputs("</tr></thead><tbody>\n", page->out);
	for (uint64_t label = 0; label < classes; label++) {
		const double of = run_confusion_class_of(matrix, classes, label).rows;

		fputs("<tr>", page->out);
		print_th(page, label);
		for (uint64_t i = 0; i < classes; i++)
			print_cell(page, matrix[label * classes + i], of, label == i);
		fputs("</tr>\n", page->out);
	}
	fputs("</tbody></table></div>\n", page->out);
}

/* ---- Tables ---- */

static void begin_table(const struct report_page *page, const char *class, const char *head)
{
	fprintf(page->out, "<div class=\"wide\"><table class=\"%s\"><thead><tr>%s</tr></thead><tbody>\n",
		class, head);
}

static void end_table(const struct report_page *page)
{
	fputs("</tbody></table></div>\n", page->out);
}

static void print_pair(const struct report_page *page, uint64_t label, uint64_t prediction, double rows)
{
	char label_number[CLASS_BYTES], number[CLASS_BYTES];

	html_print(page->out, "<tr><th>%s</th><th>%s</th>", class_name(page, label, label_number),
		   class_name(page, prediction, number));
	fprintf(page->out, "<td>%.0f</td></tr>\n", rows);
}

static void print_class(const struct report_page *page, uint64_t class,
			const struct run_confusion_class *figures)
{
	char precision[REPORT_VALUE_BYTES], recall[REPORT_VALUE_BYTES], number[CLASS_BYTES];

	html_print(page->out, "<tr><th>%s</th>", class_name(page, class, number));
	fprintf(page->out, "<td>%.0f</td><td>%s</td><td>%s</td></tr>\n", figures->rows,
		report_figure_text(figures->precision, false, precision),
		report_figure_text(figures->recall, false, recall));
}

static void begin_pairs(const struct report_page *page)
{
	fputs("<p class=\"soft\">The classes that the model took for others most often.</p>\n", page->out);
	begin_table(page, "classes pairs", "<th>true class</th><th>chosen class</th><th>rows</th>");
}

/* Precision and recall in the words of a reader who does not know them. */
static void begin_classes(const struct report_page *page, const char *which)
{
	fprintf(page->out,
		"<p class=\"soft\">%s. Precision: of the rows that the model took for the class, how many "
		"are "
		"of it. Recall: of the rows of the class, how many the model found.</p>\n",
		which);
	begin_table(page, "classes", "<th>class</th><th>rows</th><th>precision</th><th>recall</th>");
}

/* ---- The section ---- */

static void print_whole(const struct report_page *page, const double *matrix, uint64_t classes)
{
	struct run_confusion_pair pair[PAIRS_MAX];
	const uint32_t pairs =
		classes > NUMBERS_MAX ? run_confusion_pairs(matrix, classes, PAIRS_MAX, pair) : 0;

	print_matrix(page, matrix, classes);
	if (pairs > 0) {
		begin_pairs(page);
		for (uint32_t i = 0; i < pairs; i++)
			print_pair(page, pair[i].label, pair[i].prediction, pair[i].rows);
		end_table(page);
	}
	begin_classes(page, "Each class");
	for (uint64_t i = 0; i < classes; i++) {
		const struct run_confusion_class figures = run_confusion_class_of(matrix, classes, i);

		print_class(page, i, &figures);
	}
	end_table(page);
}

static uint64_t class_of(const cJSON *entry, const char *key)
{
	const double class = json_number(entry, key, 0);

	return class > 0 && class < (double)INT32_MAX ? (uint64_t) class : 0;
}

/* Prints what stands out of many classes. */
static void print_lists(const struct report_page *page, const cJSON *confusion)
{
	const cJSON *entry;
	uint32_t shown = 0;

	begin_pairs(page);
	cJSON_ArrayForEach(entry, json_member(confusion, "pairs"))
		if (shown++ < PAIRS_MAX)
			print_pair(page, class_of(entry, "label"), class_of(entry, "prediction"),
				   report_number(entry, "rows"));
	end_table(page);
	begin_classes(page, "The classes of which the model found least");
	shown = 0;
	cJSON_ArrayForEach(entry, json_member(confusion, "weakest")) {
		const struct run_confusion_class figures = { .rows = report_number(entry, "rows"),
							     .precision = report_number(entry, "precision"),
							     .recall = report_number(entry, "recall") };

		if (shown++ < RUN_CONFUSION_LISTED)
			print_class(page, class_of(entry, "class"), &figures);
	}
	end_table(page);
}

void report_confusion(const struct report_page *page)
{
	const cJSON *confusion = json_member(page->record, "confusion");
	CLEANUP(free_ptr) double *matrix = NULL;
	const uint64_t classes = run_confusion_matrix(confusion, &matrix);
	const double epoch = json_number(confusion, "epoch", NAN);

	if (classes == 0 && !cJSON_IsArray(json_member(confusion, "pairs")))
		return;
	fprintf(page->out,
		"<section><h2>Which classes the model confuses</h2>\n<p class=\"soft\">%.0f rows of the %s "
		"split",
		report_number(confusion, "rows"),
		strcmp(report_words(confusion, "split"), "test") == 0 ? "test" : "validation");
	if (isfinite(epoch))
		fprintf(page->out, ", epoch %.0f", epoch + 1);
	fputs(classes > 0
		      ? ". Each line is a true class, each column a class that the model chose. The darker a "
			"cell, the larger its part of its line.</p>\n"
		      : ".</p>\n",
	      page->out);
	if (classes > 0)
		print_whole(page, matrix, classes);
	else
		print_lists(page, confusion);
	fputs("</section>\n", page->out);
}
