/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs/record.h"

#include "cli/runs/curve.h"
#include "core/box/reports.h"

#include <math.h>

#define ROWS_MAX    20 /* most epochs that are printed, unless the user asks for all */
#define CURVE_LEAST 10 /* fewer epochs are easier to read as numbers */

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---- Epochs ---- */

static void print_metric(const cJSON *epoch, const char *key, bool percent, FILE *out)
{
	const double value = json_number(epoch, key, NAN);

	if (isnan(value))
		fprintf(out, "  %10s", "-");
	else if (percent)
		fprintf(out, "  %8.2f %%", 100 * value);
	else
		fprintf(out, "  %10.4f", value);
}

/* Returns the index of the epoch with the lowest validation loss or, where there is none, the lowest loss. */
static int best_of(const cJSON *epochs)
{
	const cJSON *epoch;
	const char *key = "loss";
	double least = INFINITY;
	int best = 0, index = 0;

	cJSON_ArrayForEach(epoch, epochs)
		if (!isnan(json_number(epoch, "validation_loss", NAN)))
			key = "validation_loss";
	cJSON_ArrayForEach(epoch, epochs) {
		if (json_number(epoch, key, NAN) < least) {
			least = json_number(epoch, key, NAN);
			best = index;
		}
		index++;
	}
	return best;
}

/* Returns whether an epoch is one of the ROWS_MAX - 1 that are spread evenly from the first to the last. */
static bool is_spread(int index, int count)
{
	const int rows = ROWS_MAX - 1;

	for (int row = 0; row < rows; row++)
		if (index == row * (count - 1) / (rows - 1))
			return true;
	return false;
}

static void print_epochs(const cJSON *epochs, bool all, FILE *out)
{
	const int count = cJSON_GetArraySize(epochs), best = best_of(epochs);
	const bool some = !all && count > ROWS_MAX;
	const cJSON *epoch;
	int index = -1;

	fprintf(out, "\n%-6s  %10s  %10s  %10s  %10s\n", "epoch", "loss", "accuracy", "val. loss",
		"val. acc.");
	cJSON_ArrayForEach(epoch, epochs) {
		if (++index != best && some && !is_spread(index, count))
			continue;
		fprintf(out, "%-6.0f", json_number(epoch, "epoch", NAN) + 1);
		print_metric(epoch, "loss", false, out);
		print_metric(epoch, "accuracy", true, out);
		print_metric(epoch, "validation_loss", false, out);
		print_metric(epoch, "validation_accuracy", true, out);
		fputs(some && index == best ? "  best\n" : "\n", out);
	}
	if (some)
		fprintf(out, "(some of %d epochs; --all-epochs prints all)\n", count);
}

static void draw_epochs(const cJSON *epochs, FILE *out)
{
	const int count = cJSON_GetArraySize(epochs);
	CLEANUP(free_ptr) double *loss = calloc((size_t)count + 1, sizeof(*loss));
	CLEANUP(free_ptr) double *held_out = calloc((size_t)count + 1, sizeof(*held_out));
	const struct curve curves[] = { { "loss", '*', loss }, { "validation loss", 'o', held_out } };
	const cJSON *epoch;
	bool any = false;
	int index = 0;

	if (count < CURVE_LEAST || !loss || !held_out)
		return;
	cJSON_ArrayForEach(epoch, epochs) {
		loss[index] = json_number(epoch, "loss", NAN);
		held_out[index] = json_number(epoch, "validation_loss", NAN);
		any = any || isfinite(held_out[index]);
		index++;
	}
	curve_draw(curves, any ? 2 : 1, (uint32_t)count, out);
}

/* ---- The record ---- */

int record_print(const cJSON *record, const char *sink_url, bool all_epochs, FILE *out, struct error *err)
{
	const cJSON *epochs = member(record, "epochs"), *reason = member(record, "reason");
	const char *id, *state;
	int r;

	if ((r = json_get_string("run.json", record, "id", &id, err)) < 0 ||
	    (r = json_get_string("run.json", record, "state", &state, err)) < 0)
		return r;
	fprintf(out, "run     %s\nstate   %s\n", id, state);
	if (cJSON_IsString(reason))
		fprintf(out, "reason  %s\n", reason->valuestring);
	print_epochs(epochs, all_epochs, out);
	draw_epochs(epochs, out);
	report_print_seen(record, out);
	report_print_test(member(member(record, "metrics"), "test"), out);
	report_print_promotion(member(record, "promotion"), out);
	report_print_time(member(record, "time"), out);
	if (sink_url)
		fprintf(out, "\noutputs %s/%s\n", sink_url, id);
	report_print_left_behind(member(record, "left_behind"), out);
	return 0;
}
