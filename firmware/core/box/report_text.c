/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a report's JSON as a page of text. Any member may be missing. */
#include "core/base/visible.h"
#include "core/box/ranks_text.h"
#include "core/box/report_parts.h"
#include "core/box/reports.h"
#include "core/series/compared.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define WIDTH 12 /* width of the column before the values */

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---- Sections ---- */

void report_print_time(const cJSON *time, FILE *out)
{
	if (!cJSON_IsObject(time))
		return;
	fprintf(out, "\ntime by stage (the trainer began %.0f times)\n", report_number(time, "starts"));
	for (size_t i = 0; i < REPORT_STAGES; i++)
		if (cJSON_IsNumber(member(time, report_stages[i].key)))
			fprintf(out, "  %-24s  %10.1f s\n", report_stages[i].label,
				report_number(time, report_stages[i].key));
}

static void print_ranks(const cJSON *ranks, FILE *out)
{
	if (!cJSON_IsObject(ranks))
		return;
	fputs("\nranks, since they began the last time\n", out);
	ranks_text_print(ranks, out);
}

/* Prints the metrics of the test. A regression has no accuracy. */
void report_print_test(const cJSON *test, FILE *out)
{
	if (!cJSON_IsObject(test))
		return;
	fputs("\ntest ", out);
	if (member(test, "accuracy"))
		fprintf(out, "accuracy %.2f %%, ", 100 * report_number(test, "accuracy"));
	fprintf(out, "loss %.4f, %.0f rows\n", report_number(test, "loss"), report_number(test, "rows"));
}

static void print_seen(const char *split, const cJSON *seen, FILE *out)
{
	CLEANUP(free_ptr) char *warning = report_seen(split, seen);
	const char *second = warning ? strchr(warning, '\n') : NULL;

	if (second)
		fprintf(out, "\nwarning      %.*s\n             %s\n", (int)(second - warning), warning,
			second + 1);
}

void report_print_seen(const cJSON *report, FILE *out)
{
	print_seen("validation", member(report, "validation_seen"), out);
	print_seen("test", member(report, "test_seen"), out);
	if (cJSON_IsString(member(report, "test_given_up")))
		fprintf(out, "\nwarning      no figures of the test: %s\n",
			report_words(report, "test_given_up"));
}

void report_print_left_behind(const cJSON *left, FILE *out)
{
	const cJSON *name;

	if (!cJSON_IsObject(left))
		return;
	fprintf(out,
		"left behind  %.0f files, %.0f bytes, not in the store when the wait for uploads ended\n",
		report_number(left, "files"), report_number(left, "bytes"));
	cJSON_ArrayForEach(name, member(left, "names"))
		if (cJSON_IsString(name))
			fprintf(out, "             %s\n", name->valuestring);
}

void report_print_promotion(const cJSON *promotion, FILE *out)
{
	if (cJSON_IsObject(promotion))
		fprintf(out, "\npromotion    %s: %s\n", report_words(promotion, "outcome"),
			report_words(promotion, "why"));
}

/* Prints the table of what does not fit the data, as `kiln check` prints it. */
static void print_unfit(const cJSON *unfit, FILE *out)
{
	const cJSON *row;

	if (!cJSON_IsObject(unfit))
		return;
	fprintf(out, "\nthe data do not fit %s\n", report_words(unfit, "file"));
	cJSON_ArrayForEach(row, member(unfit, "rows")) {
		fprintf(out, "%-10s %-11s ", report_words(row, "result"), report_words(row, "part"));
		visible_print(report_words(row, "text"), out);
		(void)fputc('\n', out);
		if (*report_words(row, "todo"))
			fprintf(out, "%-10s %-11s -> %s\n", "", "", report_words(row, "todo"));
	}
}

static void print_curves(const cJSON *curves, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < REPORT_FIGURES; i++) {
		const cJSON *curve = member(curves, report_figures[i].key);
		const double factor = report_figures[i].is_loss ? 1 : 100;

		if (!cJSON_IsObject(curve))
			continue;
		if (!any)
			fprintf(out, "\n%-24s  %10s  %10s  %-8s  %10s\n", "by epoch", "first", "best",
				"(epoch)", "last");
		any = true;
		fprintf(out, "  %-22s  %10.4f  %10.4f  (%.0f)%*s  %10.4f\n", report_figures[i].label,
			factor * report_number(curve, "first"), factor * report_number(curve, "best"),
			report_number(curve, "best_epoch"), report_number(curve, "best_epoch") < 10 ? 5 : 4,
			"", factor * report_number(curve, "last"));
	}
}

static void print_faults(const cJSON *faults, FILE *out)
{
	const cJSON *fault;
	char at[32];

	if (!cJSON_IsArray(faults)) {
		fputs("\nfaults       not known: the journal cannot be read\n", out);
		return;
	}
	fprintf(out, "\nfaults       %s\n",
		cJSON_GetArraySize(faults) ? "count, last time, level and last message of each" : "none");
	cJSON_ArrayForEach(fault, faults)
		fprintf(out, "  %4.0f  %s  %s  %s: %.200s\n", report_number(fault, "count"),
			report_date(report_number(fault, "last_s"), false, at), report_words(fault, "level"),
			report_words(fault, "event"), report_words(fault, "message"));
}

static void print_night(const cJSON *report, FILE *out)
{
	const cJSON *night = member(report, "night");
	char from[32], to[32], next[32];

	fprintf(out, "%-*s %s .. %s UTC, started by %s\n", WIDTH, "night",
		report_date(report_number(night, "from_s"), true, from),
		report_date(report_number(night, "to_s"), false, to),
		strcmp(report_words(night, "by"), "timer") == 0 ? "the timer" : "hand");
	fprintf(out, "%-*s %s, Kiln %s\n", WIDTH, "box", report_words(report, "host"),
		report_words(report, "version"));
	fprintf(out, "%-*s %s\n", WIDTH, "outcome", report_words(report, "outcome"));
	if (cJSON_IsString(member(report, "reason")))
		fprintf(out, "%-*s %s\n", WIDTH, "reason", report_words(report, "reason"));
	if (report_number(night, "next_s") > 0)
		fprintf(out, "%-*s %s UTC\n", WIDTH, "next night",
			report_date(report_number(night, "next_s"), true, next));
}

static void print_run(const cJSON *report, FILE *out)
{
	const cJSON *run = member(report, "run"), *source;
	const char *start = cJSON_GetStringValue(member(run, "start_run"));
	char at[32];

	if (!cJSON_IsObject(run))
		return;
	fprintf(out, "%-*s %s: %s, begun %s UTC\n", WIDTH, "run", report_words(run, "id"),
		report_words(run, "state"), report_date(report_number(run, "started_s"), true, at));
	fprintf(out, "%-*s %.0f of %.0f epochs, %.0f rows a batch, seed %.0f%s%s\n", WIDTH, "",
		report_number(run, "epochs_done"), report_number(run, "epochs"),
		report_number(run, "batch_rows"), report_number(run, "seed"),
		start && *start ? ", from " : "", start ? start : "");
	cJSON_ArrayForEach(source, member(run, "sources"))
		if (cJSON_IsString(source))
			fprintf(out, "%-*s %s\n", WIDTH, "data", source->valuestring);
	fprintf(out, "%-*s %.16s\n", WIDTH, "plan", report_words(run, "plan_sha256"));
	fprintf(out, "%-*s %s\n", WIDTH, "device", report_words(run, "device"));
	fprintf(out, "%-*s %s\n", WIDTH, "outputs", report_words(run, "outputs"));
}

/* Prints the series of the night, with the value of its winner. */
static void print_series(const cJSON *series, FILE *out)
{
	const cJSON *value = member(series, "value");
	char text[REPORT_VALUE_BYTES], objective[COMPARED_WORDS_BYTES];

	if (!cJSON_IsObject(series))
		return;
	fprintf(out, "%-*s %s: %s\n", WIDTH, "series", report_words(series, "id"),
		report_words(series, "state"));
	fprintf(out, "%-*s %.0f trials: %.0f done, %.0f failed, %.0f stopped early, %s of work\n", WIDTH, "",
		report_number(series, "trials"), report_number(series, "finished"),
		report_number(series, "failed"), report_number(series, "pruned"),
		report_span_text(report_number(series, "spent_s"), text));
	if (cJSON_IsNumber(value))
		fprintf(out, "%-*s %s won: %s %s\n", WIDTH, "", report_words(series, "winner"),
			compared_objective(series, objective),
			report_figure_text(value->valuedouble, !compared_is_share(series), text));
}

/* Prints the promotion of the series or, where the run is no trial, of the run. */
static void print_promotion(const cJSON *report, FILE *out)
{
	const cJSON *of_series = json_member(report, "series.promotion");

	report_print_promotion(cJSON_IsObject(of_series) ? of_series : member(report, "promotion"), out);
}

void report_print(const cJSON *report, FILE *out)
{
	const cJSON *daemon;

	fprintf(out, "%s\n\n", report_words(report, "text"));
	print_night(report, out);
	print_series(member(report, "series"), out);
	print_run(report, out);
	print_unfit(member(report, "unfit"), out);
	print_curves(member(report, "curves"), out);
	report_print_seen(report, out);
	report_print_test(member(report, "test"), out);
	print_promotion(report, out);
	report_print_time(member(report, "time"), out);
	print_ranks(member(report, "ranks"), out);
	print_faults(member(report, "faults"), out);
	cJSON_ArrayForEach(daemon, member(report, "degraded"))
		fprintf(out, "degraded     %s: %s\n", report_words(daemon, "daemon"),
			report_words(daemon, "why"));
	report_print_left_behind(member(report, "left_behind"), out);
}
