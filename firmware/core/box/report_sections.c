/* SPDX-License-Identifier: Apache-2.0 */
/* How the sections of a report's HTML page read members and write values. */
#include "core/box/report_sections.h"
#include "core/base/html.h"

#include <math.h>
#include <string.h>

const cJSON *report_of(const struct report_page *page, const char *in_report, const char *in_record)
{
	const cJSON *item = json_member(page->report, in_report);

	if ((!item || cJSON_IsNull(item)) && in_record)
		item = json_member(page->record, in_record);
	return item && !cJSON_IsNull(item) ? item : NULL;
}

const char *report_words_of(const struct report_page *page, const char *in_report, const char *in_record)
{
	return cJSON_GetStringValue(report_of(page, in_report, in_record));
}

void report_promotion_sentence(const struct report_page *page, const cJSON *promotion)
{
	static const char *const outcomes[][2] = { { "promoted", "the model is the new champion" },
						   { "kept", "the champion stays" },
						   { "refused", "the model cannot be judged" } };
	const char *outcome = report_words(promotion, "outcome");

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		if (strcmp(outcome, outcomes[i][0]) == 0) {
			outcome = outcomes[i][1];
			break;
		}
	html_print(page->out, "%s: %s", outcome, report_words(promotion, "why"));
}

char *report_figure_text(double value, bool is_loss, char out[static REPORT_VALUE_BYTES])
{
	if (!is_loss)
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.2f %%", 100 * value);
	else if (value == 0 || (fabs(value) >= 1e-3 && fabs(value) < 1e6))
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.4f", value);
	else
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.3g", value);
	return out;
}

char *report_span_text(double seconds, char out[static REPORT_VALUE_BYTES])
{
	const double minutes = floor(seconds / 60);

	if (seconds < 60)
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.1f s", seconds);
	else if (minutes < 60)
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.0f min %02.0f s", minutes,
			       floor(seconds - 60 * minutes));
	else
		(void)snprintf(out, REPORT_VALUE_BYTES, "%.0f h %02.0f min", floor(minutes / 60),
			       fmod(minutes, 60));
	return out;
}
