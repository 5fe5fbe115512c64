/* SPDX-License-Identifier: Apache-2.0 */
/* How the sections of a report's HTML page read members and write values. */
#include "core/box/report_sections.h"
#include "core/base/html.h"

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
	html_print(page->out, "%s: %s", report_promotion_words(report_words(promotion, "outcome")),
		   report_words(promotion, "why"));
}
