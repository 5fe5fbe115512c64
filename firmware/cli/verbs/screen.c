/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs/screen.h"

#include "cli/base/color.h"
#include "cli/base/exit.h"
#include "cli/base/format.h"
#include "cli/client/result.h"
#include "core/box/ranks_text.h"

#include <math.h>
#include <string.h>
#include <time.h>

const struct verb_exit screen_exits[] = {
	{ CLI_DEGRADED, "the box is degraded" },
	{ CLI_FAILED, "the run failed" },
	{ CLI_IDLE, "no run" },
	{ 0 },
};

int screen_exit_code(const cJSON *status)
{
	static const struct {
		const char *state;
		int code;
	} codes[] = { { "beginning", CLI_OK }, { "running", CLI_OK },        { "paused", CLI_OK },
		      { "stopping", CLI_OK },  { "degraded", CLI_DEGRADED }, { "failed", CLI_FAILED } };
	const char *state = client_text(status, "state");

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(state, codes[i].state) == 0)
			return codes[i].code;
	return CLI_IDLE;
}

struct screen {
	const cJSON *status;
	FILE *out;
};

static void say(const struct screen *screen, const char *name, const char *text)
{
	fprintf(screen->out, "%-11s", name);
	fputs(text, screen->out);
	(void)fputc('\n', screen->out);
}

static void say_in(const struct screen *screen, enum color color, const char *name, const char *text)
{
	fprintf(screen->out, "%-11s%s", name, color_begin(color));
	fputs(text, screen->out);
	fprintf(screen->out, "%s\n", color_end());
}

static void say_box(const struct screen *screen)
{
	const cJSON *status = screen->status;
	const char *state = client_text(status, "state");

	say(screen, "box", client_text(status, "host"));
	say_in(screen, color_of_state(state), "state", state);
	say(screen, "why", client_text(status, "why"));
	if (!cJSON_IsFalse(json_member(status, "clock_set")))
		return;
	say(screen, "clock", "not set: --host does not check the dates of certificates of the role view");
	say(screen, "", client_text(status, "clock"));
}

static void say_network(const struct screen *screen)
{
	if (cJSON_IsString(json_member(screen->status, "network")))
		say(screen, "network", client_text(screen->status, "network"));
	if (cJSON_IsString(json_member(screen->status, "boxes")))
		say(screen, "boxes", client_text(screen->status, "boxes"));
}

static void say_update(const struct screen *screen)
{
	const cJSON *update = json_member(screen->status, "update");
	double percent = client_number(update, "percent");
	const char *why = client_text(update, "text"), *version = client_text(update, "version");
	char text[2500], number[FORMAT_BYTES];

	if (!cJSON_IsObject(update))
		return;
	(void)snprintf(
		text, sizeof(text), "%s%s%s, %s%s%s%s%s", client_text(update, "state"),
		isnan(percent) ? "" : " ", isnan(percent) ? "" : format_number(percent, "%.0f %%", number),
		client_text(update, "url"), *version ? ", version " : "", version, *why ? ": " : "", why);
	say(screen, "update", text);
}

#define REST_BYTES (FORMAT_BYTES + 16u)

/* Writes ", 5 min left", or nothing where the end is not known. */
static const char *left_of(const cJSON *status, char out[static REST_BYTES])
{
	const double eta_s = client_number(status, "progress.eta_s");
	char span[FORMAT_BYTES];

	*out = '\0';
	if (!isnan(eta_s))
		(void)snprintf(out, REST_BYTES, ", %s left", format_span(eta_s, span));
	return out;
}

static void say_progress(const struct screen *screen)
{
	const cJSON *status = screen->status;
	char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], rest[REST_BYTES], text[512];

	say(screen, "run", client_text(status, "run.id"));
	(void)snprintf(text, sizeof(text), "epoch %s of %s, step %s",
		       format_number(client_number(status, "progress.epoch"), "%.0f", a),
		       format_number(client_number(status, "progress.epochs"), "%.0f", b),
		       format_number(client_number(status, "progress.step"), "%.0f", c));
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %s %%%s",
		       format_number(client_number(status, "progress.percent"), "%.1f", a),
		       left_of(status, rest));
	say(screen, "progress", text);
	if (strcmp(client_text(status, "order"), "fast") == 0)
		say(screen, "order", "fast: records as they arrive; a resumed run may repeat or miss some");
}

/* Writes "wide, trial 3 of 8" or, between two trials, "next wide, trial 3 of 8". */
static void trial_of(const cJSON *series, char *out, size_t size)
{
	const bool between = !cJSON_IsString(json_member(series, "trial"));
	char a[FORMAT_BYTES], b[FORMAT_BYTES];

	format_number(client_number(series, "trials"), "%.0f", b);
	if (between && !cJSON_IsString(json_member(series, "next")))
		(void)snprintf(out, size, "%s trials", b);
	else
		(void)snprintf(out, size, "%s%.64s, trial %s of %s", between ? "next " : "",
			       client_text(series, between ? "next" : "trial"),
			       format_number(client_number(series, "number"), "%.0f", a), b);
}

/* Prints "wide, trial 3 of 8 of NAME, running; best so far: adam, 0.93". */
static void say_series(const struct screen *screen)
{
	const cJSON *series = json_member(screen->status, "series");
	char trial[2 * FORMAT_BYTES + 96], value[FORMAT_BYTES], text[512];
	size_t used;

	if (!cJSON_IsObject(series))
		return;
	trial_of(series, trial, sizeof(trial));
	used = (size_t)snprintf(text, sizeof(text), "%s of %.95s, %s", trial, client_text(series, "id"),
				client_text(series, "state"));
	if (cJSON_IsString(json_member(series, "best")))
		(void)snprintf(text + used, sizeof(text) - used, "; best %s: %.64s, %s %s",
			       cJSON_IsString(json_member(series, "winner")) ? "of all" : "so far",
			       client_text(series, "best"), client_text(series, "objective"),
			       format_number(client_number(series, "best_value"), "%.6g", value));
	say(screen, "series", text);
}

/* Prints "slot 1     grid-02: epoch 3 of 25, step 1050, 10.2 %, loss 0.6531" for each trial of another slot.
 */
static void say_beside(const struct screen *screen)
{
	char name[16], a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES], e[FORMAT_BYTES],
		text[512];
	const cJSON *row;

	cJSON_ArrayForEach(row, json_member(screen->status, "series.beside")) {
		const bool known = cJSON_IsNumber(json_member(row, "step"));

		(void)snprintf(name, sizeof(name), "slot %.0f", client_number(row, "slot"));
		if (known)
			(void)snprintf(text, sizeof(text), "%.64s%s: epoch %s of %s, step %s, %s %%, loss %s",
				       client_text(row, "trial"),
				       cJSON_IsFalse(json_member(row, "alive")) ? " (ended)" : "",
				       format_number(client_number(row, "epoch"), "%.0f", a),
				       format_number(client_number(row, "epochs"), "%.0f", b),
				       format_number(client_number(row, "step"), "%.0f", c),
				       format_number(client_number(row, "percent"), "%.1f", d),
				       format_number(client_number(row, "loss"), "%.4f", e));
		else
			(void)snprintf(text, sizeof(text), "%.64s begins", client_text(row, "trial"));
		say(screen, name, text);
	}
}

static void say_left_behind(const struct screen *screen)
{
	const cJSON *left = json_member(screen->status, "run.left_behind"), *name;
	char a[FORMAT_BYTES], b[FORMAT_BYTES], text[1024];
	const char *between = ": ";
	size_t used;

	if (!cJSON_IsObject(left))
		return;
	used = (size_t)snprintf(text, sizeof(text), "%s files, %s, not in the store yet",
				format_number(client_number(left, "files"), "%.0f", a),
				format_bytes(client_number(left, "bytes"), b));
	cJSON_ArrayForEach(name, json_member(left, "names")) {
		if (!cJSON_IsString(name) || used >= sizeof(text))
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", between,
					 name->valuestring);
		between = ", ";
	}
	say(screen, "left", text);
}

/* Formats the loss and the accuracy; a regression has no accuracy. */
static const char *quality(double loss, double accuracy, char out[static 128])
{
	char a[FORMAT_BYTES], b[FORMAT_BYTES];

	if (isnan(accuracy))
		(void)snprintf(out, 128, "loss %s", format_number(loss, "%.4f", a));
	else
		(void)snprintf(out, 128, "loss %s, accuracy %s %%", format_number(loss, "%.4f", a),
			       format_number(100 * accuracy, "%.2f", b));
	return out;
}

static void say_rates(const struct screen *screen)
{
	const cJSON *status = screen->status;
	char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES], train[128], held_out[128],
		text[512];

	(void)snprintf(text, sizeof(text), "%s records/s, %s/s, GPU busy %s %%, waiting for data %s %%",
		       format_number(client_number(status, "rates.records_per_s"), "%.0f", a),
		       format_bytes(client_number(status, "rates.bytes_per_s"), b),
		       format_number(client_number(status, "rates.gpu_busy_percent"), "%.1f", c),
		       format_number(client_number(status, "rates.waiting_percent"), "%.1f", d));
	say(screen, "rates", text);
	(void)snprintf(text, sizeof(text), "%s, validation %s",
		       quality(client_number(status, "loss"), client_number(status, "accuracy"), train),
		       quality(client_number(status, "validation_loss"),
			       client_number(status, "validation_accuracy"), held_out));
	say(screen, "quality", text);
	if (cJSON_IsObject(json_member(status, "run.metrics.test")))
		say(screen, "test",
		    quality(client_number(status, "run.metrics.test.loss"),
			    client_number(status, "run.metrics.test.accuracy"), held_out));
}

static void say_checkpoint(const struct screen *screen)
{
	const cJSON *status = screen->status, *safe = json_member(status, "checkpoint.safe");
	char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], text[512] = "none yet";

	if (cJSON_IsNumber(json_member(status, "checkpoint.step")))
		(void)snprintf(text, sizeof(text), "step %s, %s ago, %s; in the store: step %s",
			       format_number(client_number(status, "checkpoint.step"), "%.0f", a),
			       format_span(client_number(status, "time_s") -
						   client_number(status, "checkpoint.time_s"),
					   b),
			       cJSON_IsTrue(safe)    ? "safely uploaded"
			       : cJSON_IsFalse(safe) ? "not uploaded yet"
						     : "upload not known",
			       format_number(client_number(status, "checkpoint.uploaded_step"), "%.0f", c));
	say(screen, "checkpoint", text);
	(void)snprintf(text, sizeof(text), "%s fetching, %s uploading; %s records skipped",
		       format_number(client_number(status, "fetch_retries"), "%.0f", a),
		       format_number(client_number(status, "upload_retries"), "%.0f", b),
		       format_number(client_number(status, "skipped_records"), "%.0f", c));
	say(screen, "retries", text);
}

static void say_tracking(const struct screen *screen)
{
	const cJSON *tracking = json_member(screen->status, "tracking"),
		    *problem = json_member(tracking, "problem");
	char a[FORMAT_BYTES], text[512];

	if (!cJSON_IsObject(tracking))
		return;
	if (cJSON_IsString(problem))
		(void)snprintf(text, sizeof(text), "%s runs wait: %s",
			       format_number(client_number(tracking, "waiting"), "%.0f", a),
			       problem->valuestring);
	else
		(void)snprintf(text, sizeof(text), "%s metrics sent",
			       format_number(client_number(tracking, "sent"), "%.0f", a));
	say(screen, "tracking", text);
}

static void say_cache(const struct screen *screen)
{
	const cJSON *cache = json_member(screen->status, "cache");
	double hits = client_number(cache, "hits"), misses = client_number(cache, "misses");
	char a[FORMAT_BYTES], text[256];

	if (!cJSON_IsObject(cache))
		return;
	(void)snprintf(text, sizeof(text), "%.0f of %.0f shards from this box's disk, %s", hits,
		       hits + misses, format_bytes(client_number(cache, "hit_bytes"), a));
	say(screen, "cache", text);
	if (client_number(cache, "next_objects") > 0) {
		(void)snprintf(text, sizeof(text), "%.0f objects fetched ahead, %s",
			       client_number(cache, "next_objects"),
			       format_bytes(client_number(cache, "next_bytes"), a));
		say(screen, "next trial", text);
	}
}

static void say_machine(const struct screen *screen)
{
	const cJSON *status = screen->status, *item;
	char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], text[512];
	size_t used = 0;

	(void)snprintf(text, sizeof(text), "%s of %s free (%s %%)",
		       format_bytes(client_number(status, "disk.free_bytes"), a),
		       format_bytes(client_number(status, "disk.total_bytes"), b),
		       format_number(client_number(status, "disk.free_percent"), "%.1f", c));
	say(screen, "disk", text);
	text[0] = '\0';
	cJSON_ArrayForEach(item, json_member(status, "temperatures")) {
		if (used >= sizeof(text) - 1)
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.0f C", used ? ", " : "",
					 client_text(item, "name"), client_number(item, "celsius"));
	}
	say(screen, "heat", *text ? text : "-");
	if (client_number(status, "throttled_s") > 0) {
		(void)snprintf(text, sizeof(text), "for %s in pauses between steps",
			       format_span(client_number(status, "throttled_s"), a));
		say(screen, "throttled", text);
	}
}

static void say_daemons(const struct screen *screen)
{
	const cJSON *item;
	char text[640];

	cJSON_ArrayForEach(item, json_member(screen->status, "daemons")) {
		(void)snprintf(text, sizeof(text), "%s%s: %s",
			       cJSON_IsFalse(json_member(item, "alive")) ? "(ended) " : "",
			       client_text(item, "phase"), client_text(item, "text"));
		say(screen, item->string, cJSON_IsNull(item) ? "-" : text);
	}
	cJSON_ArrayForEach(item, json_member(screen->status, "errors")) {
		time_t at = (time_t)(client_number(item, "time_us") / 1e6);
		struct tm tm;
		char when[32] = "-";

		if (localtime_r(&at, &tm))
			(void)strftime(when, sizeof(when), "%H:%M:%S", &tm);
		(void)snprintf(text, sizeof(text), "%s %s: %.500s", when, client_text(item, "unit"),
			       client_text(item, "message"));
		say_in(screen, COLOR_BAD, "error", text);
	}
}

/* Prints the report of the last night, and which destinations did not get it yet. */
static void say_report(const struct screen *screen)
{
	const cJSON *report = json_member(screen->status, "report"), *why;

	if (!cJSON_IsObject(report))
		return;
	fprintf(screen->out, "%-11s", "report");
	fputs(client_text(report, "text"), screen->out);
	cJSON_ArrayForEach(why, json_member(report, "pending")) {
		if (!cJSON_IsString(why))
			continue;
		fprintf(screen->out, "; not %s: ",
			strcmp(why->string, "store") == 0  ? "uploaded"
			: strcmp(why->string, "mail") == 0 ? "mailed"
							   : "posted");
		fputs(why->valuestring, screen->out);
	}
	(void)fputc('\n', screen->out);
}

void screen_print(const cJSON *status, FILE *out)
{
	const struct screen screen = { status, out };

	say_box(&screen);
	say_series(&screen);
	say_beside(&screen);
	if (cJSON_IsObject(json_member(status, "run"))) {
		say_progress(&screen);
		say_rates(&screen);
		ranks_text_print(json_member(status, "ranks"), out);
		say_cache(&screen);
		say_tracking(&screen);
		say_checkpoint(&screen);
	}
	say_left_behind(&screen);
	say_network(&screen);
	say_update(&screen);
	say_report(&screen);
	say_machine(&screen);
	say_daemons(&screen);
}

void screen_print_brief(const cJSON *status, FILE *out)
{
	char a[FORMAT_BYTES], b[FORMAT_BYTES], rest[REST_BYTES];

	fprintf(out, "%s, %s %%%s, loss %s, ", client_text(status, "state"),
		format_number(client_number(status, "progress.percent"), "%.1f", a), left_of(status, rest),
		format_number(client_number(status, "loss"), "%.4f", b));
	fputs(client_text(status, "why"), out);
	(void)fputc('\n', out);
}
