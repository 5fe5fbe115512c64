/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a report's JSON as a page of text. Any member may be missing. */
#include "core/base/visible.h"
#include "core/box/reports.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define WIDTH 12 /* width of the column before the values */

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = member(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *text(const cJSON *object, const char *key)
{
	const char *value = cJSON_GetStringValue(member(object, key));

	return value ? value : "-";
}

/* Formats a time as "2026-11-22 22:00:00" or, where `day` is false, without the date. */
static const char *date(double seconds, bool day, char out[static 32])
{
	const time_t time = (time_t)seconds;
	struct tm tm = { 0 };

	(void)gmtime_r(&time, &tm);
	(void)strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
	if (!day)
		memmove(out, out + 11, strlen(out + 11) + 1);
	return out;
}

/* ---- Sections ---- */

void report_print_time(const cJSON *time, FILE *out)
{
	static const struct {
		const char *key, *label;
	} rows[] = { { "starting_s", "device, kernels, weights" },
		     { "waiting_s", "waiting for data" },
		     { "training_s", "training" },
		     { "evaluating_s", "evaluating" },
		     { "checkpoints_s", "checkpoints" },
		     { "paused_s", "paused" },
		     { "throttled_s", "pauses to cool down" },
		     { "upload_s", "uploads, meanwhile" } };

	if (!cJSON_IsObject(time))
		return;
	fprintf(out, "\ntime by stage (the trainer began %.0f times)\n", number(time, "starts"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (cJSON_IsNumber(member(time, rows[i].key)))
			fprintf(out, "  %-24s  %10.1f s\n", rows[i].label, number(time, rows[i].key));
}

/* Prints the metrics of the test. A regression has no accuracy. */
void report_print_test(const cJSON *test, FILE *out)
{
	if (!cJSON_IsObject(test))
		return;
	fputs("\ntest ", out);
	if (member(test, "accuracy"))
		fprintf(out, "accuracy %.2f %%, ", 100 * number(test, "accuracy"));
	fprintf(out, "loss %.4f, %.0f rows\n", number(test, "loss"), number(test, "rows"));
}

static void print_seen(const char *split, const cJSON *seen, FILE *out)
{
	if (!cJSON_IsObject(seen))
		return;
	if (number(seen, "shards") > 0)
		fprintf(out,
			"\nwarning      the figures of the %s are too good: %s trained on %.0f of the %.0f "
			"%s shards,\n             and this run starts from its weights\n",
			split, text(seen, "run"), number(seen, "shards"), number(seen, "of"), split);
	else
		fprintf(out,
			"\nwarning      the figures of the %s may be too good: this run starts from the "
			"weights of %s,\n             and %.0f of the %.0f %s shards were replaced since\n",
			split, text(seen, "run"), number(seen, "replaced"), number(seen, "of"), split);
}

void report_print_seen(const cJSON *report, FILE *out)
{
	print_seen("validation", member(report, "validation_seen"), out);
	print_seen("test", member(report, "test_seen"), out);
	if (cJSON_IsString(member(report, "test_given_up")))
		fprintf(out, "\nwarning      no figures of the test: %s\n", text(report, "test_given_up"));
}

void report_print_left_behind(const cJSON *left, FILE *out)
{
	const cJSON *name;

	if (!cJSON_IsObject(left))
		return;
	fprintf(out,
		"left behind  %.0f files, %.0f bytes, not in the store when the wait for uploads ended\n",
		number(left, "files"), number(left, "bytes"));
	cJSON_ArrayForEach(name, member(left, "names"))
		if (cJSON_IsString(name))
			fprintf(out, "             %s\n", name->valuestring);
}

/* Prints the table of what does not fit the data, as `kiln check` prints it. */
static void print_unfit(const cJSON *unfit, FILE *out)
{
	const cJSON *row;

	if (!cJSON_IsObject(unfit))
		return;
	fprintf(out, "\nthe data do not fit %s\n", text(unfit, "file"));
	cJSON_ArrayForEach(row, member(unfit, "rows")) {
		fprintf(out, "%-10s %-11s ", text(row, "result"), text(row, "part"));
		visible_print(text(row, "text"), out);
		(void)fputc('\n', out);
		if (*text(row, "todo"))
			fprintf(out, "%-10s %-11s -> %s\n", "", "", text(row, "todo"));
	}
}

static void print_curves(const cJSON *curves, FILE *out)
{
	static const struct {
		const char *key, *label;
		bool percent;
	} rows[] = { { "loss", "loss", false },
		     { "accuracy", "accuracy, %", true },
		     { "validation_loss", "validation loss", false },
		     { "validation_accuracy", "validation accuracy, %", true } };
	bool any = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const cJSON *curve = member(curves, rows[i].key);
		const double factor = rows[i].percent ? 100 : 1;

		if (!cJSON_IsObject(curve))
			continue;
		if (!any)
			fprintf(out, "\n%-24s  %10s  %10s  %-8s  %10s\n", "by epoch", "first", "best",
				"(epoch)", "last");
		any = true;
		fprintf(out, "  %-22s  %10.4f  %10.4f  (%.0f)%*s  %10.4f\n", rows[i].label,
			factor * number(curve, "first"), factor * number(curve, "best"),
			number(curve, "best_epoch"), number(curve, "best_epoch") < 10 ? 5 : 4, "",
			factor * number(curve, "last"));
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
		fprintf(out, "  %4.0f  %s  %s  %s: %.200s\n", number(fault, "count"),
			date(number(fault, "last_s"), false, at), text(fault, "level"), text(fault, "event"),
			text(fault, "message"));
}

static void print_night(const cJSON *report, FILE *out)
{
	const cJSON *night = member(report, "night");
	char from[32], to[32], next[32];

	fprintf(out, "%-*s %s .. %s UTC, started by %s\n", WIDTH, "night",
		date(number(night, "from_s"), true, from), date(number(night, "to_s"), false, to),
		strcmp(text(night, "by"), "timer") == 0 ? "the timer" : "hand");
	fprintf(out, "%-*s %s, Kiln %s\n", WIDTH, "box", text(report, "host"), text(report, "version"));
	fprintf(out, "%-*s %s\n", WIDTH, "outcome", text(report, "outcome"));
	if (cJSON_IsString(member(report, "reason")))
		fprintf(out, "%-*s %s\n", WIDTH, "reason", text(report, "reason"));
	if (number(night, "next_s") > 0)
		fprintf(out, "%-*s %s UTC\n", WIDTH, "next night", date(number(night, "next_s"), true, next));
}

static void print_run(const cJSON *report, FILE *out)
{
	const cJSON *run = member(report, "run"), *source;
	const char *start = cJSON_GetStringValue(member(run, "start_run"));
	char at[32];

	if (!cJSON_IsObject(run))
		return;
	fprintf(out, "%-*s %s: %s, begun %s UTC\n", WIDTH, "run", text(run, "id"), text(run, "state"),
		date(number(run, "started_s"), true, at));
	fprintf(out, "%-*s %.0f of %.0f epochs, %.0f rows a batch, seed %.0f%s%s\n", WIDTH, "",
		number(run, "epochs_done"), number(run, "epochs"), number(run, "batch_rows"),
		number(run, "seed"), start && *start ? ", from " : "", start ? start : "");
	cJSON_ArrayForEach(source, member(run, "sources"))
		if (cJSON_IsString(source))
			fprintf(out, "%-*s %s\n", WIDTH, "data", source->valuestring);
	fprintf(out, "%-*s %.16s\n", WIDTH, "plan", text(run, "plan_sha256"));
	fprintf(out, "%-*s %s\n", WIDTH, "device", text(run, "device"));
	fprintf(out, "%-*s %s\n", WIDTH, "outputs", text(run, "outputs"));
}

void report_print(const cJSON *report, FILE *out)
{
	const cJSON *daemon;

	fprintf(out, "%s\n\n", text(report, "text"));
	print_night(report, out);
	print_run(report, out);
	print_unfit(member(report, "unfit"), out);
	print_curves(member(report, "curves"), out);
	report_print_seen(report, out);
	report_print_test(member(report, "test"), out);
	report_print_time(member(report, "time"), out);
	print_faults(member(report, "faults"), out);
	cJSON_ArrayForEach(daemon, member(report, "degraded"))
		fprintf(out, "degraded     %s: %s\n", text(daemon, "daemon"), text(daemon, "why"));
	report_print_left_behind(member(report, "left_behind"), out);
}
