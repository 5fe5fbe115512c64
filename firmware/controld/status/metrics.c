/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/metrics.h"
#include "controld/status/status.h"
#include "core/base/log.h"
#include "core/base/paths.h"

#include <math.h>
#include <string.h>

#define TEXTFILE_MS 15000u

static const struct metric {
	const char *name, *type, *path, *help; /* path: that of the member in the status object */
} metrics[] = {
	{ "kiln_epoch", "gauge", "progress.epoch", "Epoch in work, counted from 1." },
	{ "kiln_step", "gauge", "progress.step", "Training steps of the run." },
	{ "kiln_progress_ratio", "gauge", "progress.percent", "Share of the run that is done, 0 to 1." },
	{ "kiln_eta_seconds", "gauge", "progress.eta_s", "Time until the last step." },
	{ "kiln_records_per_second", "gauge", "rates.records_per_s", "Records trained on." },
	{ "kiln_fetch_bytes_per_second", "gauge", "rates.bytes_per_s", "Bytes received from the store." },
	{ "kiln_gpu_busy_ratio", "gauge", "rates.gpu_busy_percent",
	  "Share of time that the device had work." },
	{ "kiln_gpu_waiting_ratio", "gauge", "rates.waiting_percent",
	  "Share of time that the device waited for data." },
	{ "kiln_loss", "gauge", "loss", "Training loss of the epoch so far." },
	{ "kiln_accuracy", "gauge", "accuracy", "Training accuracy of the epoch so far." },
	{ "kiln_validation_loss", "gauge", "validation_loss", "Loss of the last validation." },
	{ "kiln_validation_accuracy", "gauge", "validation_accuracy", "Accuracy of the last validation." },
	{ "kiln_checkpoint_step", "gauge", "checkpoint.step",
	  "Step of the newest checkpoint, on the disk or in the store." },
	{ "kiln_checkpoint_timestamp_seconds", "gauge", "checkpoint.time_s",
	  "When the newest checkpoint on the disk was written." },
	{ "kiln_checkpoint_uploaded_step", "gauge", "checkpoint.uploaded_step",
	  "Step of the newest checkpoint in the store." },
	{ "kiln_fetch_retries", "counter", "fetch_retries", "Requests that were repeated." },
	{ "kiln_upload_retries", "counter", "upload_retries", "Uploads that were repeated." },
	{ "kiln_skipped_records", "counter", "skipped_records", "Records left out by fetch.bad_record." },
	{ "kiln_throttled_seconds", "counter", "throttled_s", "Pauses between steps to cool down." },
	{ "kiln_fetch_requests_in_flight", "gauge", "fetch.tuning.requests_in_flight",
	  "Upper bound of concurrent requests to the store." },
	{ "kiln_fetch_workers", "gauge", "fetch.tuning.workers", "Decode workers in use." },
	{ "kiln_fetch_windows_ahead", "gauge", "fetch.tuning.windows_ahead",
	  "Windows of a stream read ahead of the one in use." },
	{ "kiln_disk_free_bytes", "gauge", "disk.free_bytes", "Free on the data disk." },
	{ "kiln_disk_total_bytes", "gauge", "disk.total_bytes", "Size of the data disk." },
};

static const char *const states[] = { "idle",     "running", "paused", "stopping", "stopped",  "expired",
				      "finished", "failed",  "pruned", "degraded", "beginning" };

static void write_metric(const struct metric *metric, const cJSON *status, FILE *out)
{
	const cJSON *item = json_member(status, metric->path);
	bool counter = strcmp(metric->type, "counter") == 0;
	bool percent = strstr(metric->path, "percent") != NULL;

	if (!cJSON_IsNumber(item))
		return;
	fprintf(out, "# TYPE %s %s\n# HELP %s %s\n%s%s %.17g\n", metric->name, metric->type, metric->name,
		metric->help, metric->name, counter ? "_total" : "",
		percent ? item->valuedouble / 100 : item->valuedouble);
}

/* Writes the value of a label: '\\' and '"' are escaped (OpenMetrics 1.0, escaped-string), a line end becomes
 * a space. */
static void write_label(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			(void)fputc('\\', out);
		(void)fputc(*text == '\n' ? ' ' : *text, out);
	}
}

static void write_state(const cJSON *status, FILE *out)
{
	const char *state = cJSON_GetStringValue(json_member(status, "state"));

	fputs("# TYPE kiln_state gauge\n# HELP kiln_state State of the box: 1 for the present one.\n", out);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		fprintf(out, "kiln_state{state=\"%s\"} %d\n", states[i],
			state && strcmp(state, states[i]) == 0);
}

static void write_temperatures(const cJSON *status, FILE *out)
{
	const cJSON *item;

	fputs("# TYPE kiln_temperature_celsius gauge\n# UNIT kiln_temperature_celsius celsius\n", out);
	cJSON_ArrayForEach(item, json_member(status, "temperatures")) {
		fputs("kiln_temperature_celsius{sensor=\"", out);
		write_label(cJSON_GetStringValue(json_member(item, "name")), out);
		fprintf(out, "\"} %.17g\n", json_member(item, "celsius")->valuedouble);
	}
}

static void write_stalls(const cJSON *status, FILE *out)
{
	const cJSON *item;

	fputs("# TYPE kiln_stall_seconds counter\n# UNIT kiln_stall_seconds seconds\n"
	      "# HELP kiln_stall_seconds Time that the trainer waited for data, by stage.\n",
	      out);
	cJSON_ArrayForEach(item, json_member(status, "fetch.stages"))
		fprintf(out, "kiln_stall_seconds_total{stage=\"%s\"} %.17g\n",
			cJSON_GetStringValue(json_member(item, "stage")),
			json_member(item, "waited_s")->valuedouble);
}

/* Writes a metric of each rank. `stage` NULL: without this label. */
static void write_rank_lines(const cJSON *status, const char *name, const char *stage, const char *key,
			     FILE *out)
{
	const cJSON *rank;

	cJSON_ArrayForEach(rank, json_member(status, "fetch.ranks.rank")) {
		fprintf(out, "%s{rank=\"%.0f\",box=\"", name, json_member(rank, "rank")->valuedouble);
		write_label(cJSON_GetStringValue(json_member(rank, "box")), out);
		if (stage)
			fprintf(out, "\",stage=\"%s", stage);
		fprintf(out, "\"} %.17g\n", json_member(rank, key)->valuedouble);
	}
}

static void write_ranks(const cJSON *status, FILE *out)
{
	static const char *const stages[][2] = { { "feed", "feed_s" },
						 { "others", "others_s" },
						 { "exchange", "exchange_s" },
						 { "device", "device_s" } };

	if (!cJSON_IsObject(json_member(status, "fetch.ranks")))
		return;
	fputs("# TYPE kiln_rank_rows counter\n# HELP kiln_rank_rows Records that a rank trained on.\n", out);
	write_rank_lines(status, "kiln_rank_rows_total", NULL, "rows", out);
	fputs("# TYPE kiln_rank_seconds counter\n# UNIT kiln_rank_seconds seconds\n"
	      "# HELP kiln_rank_seconds How a rank spent its time.\n",
	      out);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		write_rank_lines(status, "kiln_rank_seconds_total", stages[i][0], stages[i][1], out);
}

char *metrics_text(const cJSON *status)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	write_state(status, out);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		write_metric(&metrics[i], status, out);
	write_temperatures(status, out);
	write_stalls(status, out);
	write_ranks(status, out);
	fputs("# EOF\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

void metrics_sweep(struct box *box, uint64_t now_ms)
{
	CLEANUP(json_free) cJSON *status = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	struct metrics_file *file = &box->metrics;
	struct error err = { 0 };
	char path[PATH_BYTES];
	int r;

	if (!file->dir || (file->tried_ms && now_ms - file->tried_ms < TEXTFILE_MS))
		return;
	file->tried_ms = now_ms;
	status = status_object(box);
	text = status ? metrics_text(status) : NULL;
	if (!text)
		return;
	(void)snprintf(path, sizeof(path), "%s/kiln.prom", file->dir);
	r = file_write_durable(path, text, strlen(text), &err);
	if (r < 0 && !*file->error)
		log_warning("%s, trying again every %u s", err.text, TEXTFILE_MS / 1000);
	(void)snprintf(file->error, sizeof(file->error), "%.255s", r < 0 ? err.text : "");
}
