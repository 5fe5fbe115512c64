/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/follow.h"
#include "controld/status/entries.h"
#include "core/control/control.h"

#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <time.h>

struct follow {
	sd_journal *journal;
	char *last;  /* cursor of the event that follow_next() returned last; NULL = none yet */
	bool behind; /* the journal may have entries after `last` */
	bool checks; /* follow_next() must check that `last` is still in the journal */
};

void follow_closep(struct follow **follow)
{
	if (!*follow)
		return;
	journal_closep(&(*follow)->journal);
	free((*follow)->last);
	free(*follow);
	*follow = NULL;
}

/* ---- Where the journal stands ---- */

static bool is_there(sd_journal *journal, const char *cursor)
{
	return sd_journal_seek_cursor(journal, cursor) >= 0 && sd_journal_next(journal) > 0 &&
	       sd_journal_test_cursor(journal, cursor) > 0;
}

/* Moves to the cursor: the first sd_journal_next() then gives the first event after it. */
static int seek_after(sd_journal *journal, const char *cursor)
{
	return is_there(journal, cursor) ? 0 : sd_journal_seek_cursor(journal, cursor);
}

/* Moves to the end: the first sd_journal_next() then gives the first event that is written from now on. */
static int seek_end(sd_journal *journal)
{
	int r = sd_journal_seek_tail(journal);

	if (r >= 0 && (r = sd_journal_previous(journal)) == 0)
		r = sd_journal_seek_head(journal); /* the journal has no event yet */
	return r;
}

/* ---- Opening ---- */

/* Looks for the entry of `since` before the filter is set, because that entry need not be an event. */
static int open_at(struct follow *follow, const char *since, const struct journal_filter *filter,
		   struct error *err)
{
	int r = journal_open(&follow->journal, err);
	bool lost;

	if (r < 0)
		return r;
	if (since && (r = sd_journal_seek_cursor(follow->journal, since)) < 0)
		return error_set(err, r, "\"since\" is no cursor of a journal");
	lost = since && !is_there(follow->journal, since);
	if ((r = journal_match(follow->journal, filter, err)) < 0)
		return r;
	r = since ? seek_after(follow->journal, since) : seek_end(follow->journal);
	if (r < 0)
		return error_set(err, r, "cannot seek in the journal: %s", strerror(-r));
	follow->behind = true;
	if (lost && !(follow->last = strdup(since))) /* follow_next() finds that the cursor is gone */
		return error_set(err, -ENOMEM, "no memory for a subscriber");
	return 0;
}

int follow_open(const char *since, const struct journal_filter *filter, struct follow **ret_follow,
		struct error *err)
{
	CLEANUP(follow_closep) struct follow *follow = calloc(1, sizeof(*follow));
	int r = follow ? open_at(follow, since, filter, err)
		       : error_set(err, -ENOMEM, "no memory for a subscriber");

	if (r == 0)
		*ret_follow = TAKE(follow);
	return r;
}

int follow_fd(const struct follow *follow)
{
	return sd_journal_get_fd(follow->journal);
}

void follow_process(struct follow *follow)
{
	(void)sd_journal_process(follow->journal);
}

/* ---- Lines ---- */

/* Makes the line events.lost. It has the members of an event, for programs that print events. */
static char *lost_line(const char *cursor)
{
	cJSON *params = cJSON_CreateObject();

	(void)json_add_u64(params, "time_us", (uint64_t)time(NULL) * 1000000);
	(void)cJSON_AddStringToObject(params, "unit", "kiln-controld");
	(void)cJSON_AddNumberToObject(params, "priority", LOG_WARNING);
	(void)cJSON_AddStringToObject(params, "event", "events.lost");
	(void)cJSON_AddStringToObject(params, "message",
				      "the journal no longer holds the entries after the cursor");
	(void)cJSON_AddStringToObject(params, "cursor", cursor);
	return control_event("events.lost", params);
}

static char *entry_line(struct follow *follow)
{
	char *line = control_event("event", entries_object(follow->journal, true)), *cursor = NULL;

	if (sd_journal_get_cursor(follow->journal, &cursor) >= 0) {
		free(follow->last);
		follow->last = cursor;
	}
	return line;
}

void follow_begin(struct follow *follow)
{
	follow->checks = follow->behind;
	follow->behind = true;
}

bool follow_next(struct follow *follow, char **ret_line)
{
	bool checks = follow->checks;

	follow->checks = false;
	/* Without this check the library would silently go on with the next file that is left. */
	if (checks && follow->last && !is_there(follow->journal, follow->last)) {
		*ret_line = lost_line(follow->last);
		(void)sd_journal_seek_cursor(follow->journal, follow->last);
		free(TAKE(follow->last));
		return true;
	}
	if (sd_journal_next(follow->journal) <= 0) {
		follow->behind = false;
		return false;
	}
	*ret_line = entry_line(follow);
	return true;
}
