/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/fit.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/run.h"
#include "preflight/preflight.h"

#include <string.h>
#include <unistd.h>

static void say(const struct preflight_row *row)
{
	const char *to = *row->todo ? "; " : "";

	if (row->result == PREFLIGHT_FAILED || row->result == PREFLIGHT_WARNING)
		event_send(&(struct event){ .id = EVENT_DATA_UNFIT }, "%s%s%s", row->text, to, row->todo);
	else if (row->result == PREFLIGHT_NOT_SEEN)
		log_warning("%s, going on without a look at the data", row->text);
}

static int write_table(const struct preflight *preflight, struct error *err)
{
	CLEANUP(json_free) cJSON *table = preflight_json(preflight);
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = table ? json_print_line(table, &text, err)
		      : error_set(err, -ENOMEM, "no memory for the table of the data");

	return r < 0 ? r
		     : file_write_durable(path_of(PATH_SLOT, RUN_UNFIT_FILE, path), text, strlen(text), err);
}

static int refuse(const struct preflight *preflight, const struct preflight_row *row, struct error *err)
{
	struct error table_err = { 0 };

	if (write_table(preflight, &table_err) < 0)
		log_warning("%s; the report of this night has no table of the data", table_err.text);
	return error_set(err, -EBADMSG, "the data do not fit %s: %s%s%s", preflight->config->file, row->text,
			 *row->todo ? "; " : "", row->todo);
}

void fit_forget(void)
{
	char path[PATH_BYTES];

	(void)unlink(path_of(PATH_SLOT, RUN_UNFIT_FILE, path));
}

int fit_check(const struct config *config, struct error *err)
{
	CLEANUP(preflight_done) struct preflight preflight;
	const struct preflight_row *unfit;

	preflight_open(config, &preflight);
	preflight.brief = true;
	preflight.deadline_us = clock_us() + FIT_LOOK_S * UINT64_C(1000000);
	preflight_sources(&preflight);
	for (uint32_t i = 0; i < preflight.rows; i++)
		say(&preflight.row[i]);
	unfit = preflight_unfit(&preflight);
	return unfit ? refuse(&preflight, unfit, err) : 0;
}
