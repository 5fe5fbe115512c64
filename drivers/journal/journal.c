/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/journal/journal.h"

#include "core/control/control.h"

#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#define FIELD_MAX 4096u /* bytes of a field; a longer field is cut */

bool journal_take_stderr(const char *program)
{
	CLEANUP(close_fd) int fd = sd_journal_stream_fd(program, LOG_INFO, true);
	char stream[64];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || dup2(fd, STDERR_FILENO) < 0)
		return false;
	/* log_is_journal() looks at this variable. */
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return setenv("JOURNAL_STREAM", stream, 1) == 0;
}

void journal_closep(struct sd_journal **journal)
{
	if (*journal)
		sd_journal_close(*journal);
	*journal = NULL;
}

static int add_match(sd_journal *journal, const char *format, ...) PRINTF(2, 3);

static int add_match(sd_journal *journal, const char *format, ...)
{
	char match[96];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(match, sizeof(match), format, args);
	va_end(args);
	return sd_journal_add_match(journal, match, 0);
}

/* Matches entries by their identifier, from root or from the group of our daemons. match_unit() alone misses
 * two kinds of processes: a short-lived process may have ended before journald reads to which unit it
 * belongs, and kiln-steer@N.service has another name at each call. With KILN_ROOT (in tests) only the
 * identifier is compared. */
static int match_name(sd_journal *journal, const char *unit, int length, bool below_root)
{
	const struct group *group = below_root ? NULL : getgrnam("kiln"); // NOLINT(concurrency-mt-unsafe)
	int r;

	if ((r = add_match(journal, "SYSLOG_IDENTIFIER=kiln-%.*s", length, unit)) < 0 ||
	    (!below_root && (r = add_match(journal, "_UID=0")) < 0) ||
	    (r = sd_journal_add_disjunction(journal)) < 0 || !group)
		return r;
	if ((r = add_match(journal, "SYSLOG_IDENTIFIER=kiln-%.*s", length, unit)) < 0 ||
	    (r = add_match(journal, "_GID=%ju", (uintmax_t)group->gr_gid)) < 0)
		return r;
	return sd_journal_add_disjunction(journal);
}

/* Matches the entries that a unit wrote, and those that systemd wrote about the unit. */
static int match_unit(sd_journal *journal, const char *unit, int length, bool below_root)
{
	int r = match_name(journal, unit, length, below_root);

	if (r < 0 || below_root)
		return r;
	if ((r = add_match(journal, "_SYSTEMD_UNIT=kiln-%.*s.service", length, unit)) < 0 ||
	    (r = sd_journal_add_disjunction(journal)) < 0 ||
	    (r = add_match(journal, "UNIT=kiln-%.*s.service", length, unit)) < 0 ||
	    (r = add_match(journal, "_PID=1")) < 0)
		return r;
	return sd_journal_add_disjunction(journal);
}

static int match_events(sd_journal *journal, const struct event_row *event)
{
	int r = sd_journal_add_conjunction(journal);

	for (size_t i = 0; r >= 0 && i < EVENT_MAX; i++)
		if (!event || event == &event_rows[i])
			r = add_match(journal, "MESSAGE_ID=%s", event_rows[i].message_id);
	return r;
}

/* One match per priority lets the journal use its index: a year of entries has few errors, and the others
 * need not be read. */
static int match_priorities(sd_journal *journal, uint64_t priority)
{
	int r = sd_journal_add_conjunction(journal);

	for (unsigned i = 0; r >= 0 && i <= priority; i++)
		r = add_match(journal, "PRIORITY=%u", i);
	return r;
}

static bool is_below_root(void)
{
	const char *root = getenv("KILN_ROOT");

	return root && *root;
}

int journal_match(struct sd_journal *journal, const struct journal_filter *filter, struct error *err)
{
	const char *unit = filter->unit ? filter->unit : CONTROL_UNITS;
	int r = 0;

	while (r >= 0 && *unit) {
		int length = (int)strcspn(unit, "|");

		r = match_unit(journal, unit, length, is_below_root());
		unit += length + (unit[length] == '|');
	}
	if (r >= 0 && filter->events)
		r = match_events(journal, filter->event);
	if (r >= 0 && filter->priority < 7)
		r = match_priorities(journal, filter->priority);
	return r < 0 ? error_set(err, r, "the journal cannot be searched: %s", strerror(-r)) : 0;
}

/* Any program may claim the identifier "kernel"; only journald sets the transport. */
int journal_match_kernel(struct sd_journal *journal, struct error *err)
{
	const int r =
		add_match(journal, is_below_root() ? "SYSLOG_IDENTIFIER=%s" : "_TRANSPORT=%s", "kernel");

	return r < 0 ? error_set(err, r, "the journal cannot be searched: %s", strerror(-r)) : 0;
}

int journal_open(struct sd_journal **ret_journal, struct error *err)
{
	char folder[4096];
	int r;

	(void)snprintf(folder, sizeof(folder), "%s/var/log/journal",
		       is_below_root() ? getenv("KILN_ROOT") : "");
	r = is_below_root() ? sd_journal_open_directory(ret_journal, folder, 0)
			    : sd_journal_open(ret_journal, SD_JOURNAL_LOCAL_ONLY);
	return r < 0 ? error_set(err, r, "the journal cannot be read: %s", strerror(-r)) : 0;
}

char *journal_field(sd_journal *journal, const char *name)
{
	size_t length, skip = strlen(name) + 1;
	const void *data;

	if (sd_journal_get_data(journal, name, &data, &length) < 0 || length < skip)
		return NULL;
	length -= skip;
	return strndup((const char *)data + skip, length > FIELD_MAX ? FIELD_MAX : length);
}
