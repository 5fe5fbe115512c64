/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs/check_table.h"

#include "cli/base/color.h"
#include "cli/base/exit.h"
#include "cli/base/say.h"
#include "core/base/visible.h"

static void print_row(const struct preflight_row *row)
{
	static const enum color colors[] = { [PREFLIGHT_OK] = COLOR_GOOD,
					     [PREFLIGHT_WARNING] = COLOR_WARNING,
					     [PREFLIGHT_FAILED] = COLOR_BAD,
					     [PREFLIGHT_NOT_SEEN] = COLOR_WARNING };

	printf("%s%-10s%s %-11s ", color_begin(colors[row->result]), preflight_result_name(row->result),
	       color_end(), row->part);
	visible_print(row->text, stdout);
	(void)putchar('\n');
	if (*row->todo)
		printf("%-10s %-11s -> %s\n", "", "", row->todo);
}

static void print_table(const struct preflight *preflight)
{
	const uint32_t failed = preflight_count(preflight, PREFLIGHT_FAILED);

	for (uint32_t i = 0; i < preflight->rows; i++)
		print_row(&preflight->row[i]);
	printf("\n%s: %u ok, %u warnings, %u failed, %u not seen\n", preflight->config->file,
	       preflight_count(preflight, PREFLIGHT_OK), preflight_count(preflight, PREFLIGHT_WARNING),
	       failed, preflight_count(preflight, PREFLIGHT_NOT_SEEN));
}

int check_print(const struct preflight *preflight, bool json)
{
	CLEANUP(json_free) cJSON *table = json ? preflight_json(preflight) : NULL;
	const int r = json ? cli_print_json(table) : (print_table(preflight), CLI_OK);

	return r == CLI_OK && preflight_count(preflight, PREFLIGHT_FAILED) ? CLI_ERROR : r;
}
