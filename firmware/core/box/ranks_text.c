/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/ranks_text.h"

#include "core/box/report_parts.h"

static void print_rank(const cJSON *rank, FILE *out)
{
	static const struct {
		const char *before, *key;
	} times[] = { { "device", "device_s" },
		      { ", waits for data", "feed_s" },
		      { ", for ranks", "others_s" },
		      { ", for the exchange", "exchange_s" } };
	const size_t count = sizeof(times) / sizeof(times[0]);
	double passed_s = 0;

	for (size_t i = 0; i < count; i++)
		passed_s += report_number(rank, times[i].key);
	fprintf(out, "rank %-6.0f", report_number(rank, "rank"));
	fprintf(out, "%s: %.0f records/s; ", report_words(rank, "box"), report_number(rank, "records_per_s"));
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s %.0f %%", times[i].before,
			passed_s > 0 ? 100 * report_number(rank, times[i].key) / passed_s : 0);
	fprintf(out, "; %s\n", report_words(rank, "device"));
}

static void print_slowest(const cJSON *slowest, FILE *out)
{
	const double cost_s = report_number(slowest, "cost_s");

	if (!cJSON_IsObject(slowest))
		return;
	if (cJSON_IsNumber(json_member(slowest, "rank")))
		fprintf(out, "slowest    rank %.0f on %s: the others waited %.1f s for it; ",
			report_number(slowest, "rank"), report_words(slowest, "box"), cost_s);
	else
		fprintf(out, "slowest    no rank: all waited %.1f s; ", cost_s);
	fprintf(out, "%s: %s\n", report_words(slowest, "stage"), report_words(slowest, "means"));
}

void ranks_text_print(const cJSON *ranks, FILE *out)
{
	const cJSON *rank;

	cJSON_ArrayForEach(rank, json_member(ranks, "rank"))
		print_rank(rank, out);
	print_slowest(json_member(ranks, "slowest"), out);
}
