/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/base/visible.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LINE_MAX_BYTES (LOG_TEXT_MAX + 120u)

static const char *program_name = "kiln";
static int level_max = LOG_INFO;

static int level_from(const char *name)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {
		{ "err", LOG_ERR },   { "warning", LOG_WARNING }, { "notice", LOG_NOTICE },
		{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
	};

	for (size_t i = 0; name && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(name, levels[i].name) == 0)
			return levels[i].level;
	return LOG_INFO;
}

void log_open(const char *program)
{
	program_name = program;
	level_max = level_from(getenv("KILN_LOG"));
}

const char *log_program(void)
{
	return program_name;
}

/* Compares standard error with JOURNAL_STREAM, systemd.exec(5): systemd sets this variable to the
 * "device:inode" of the standard error that it opened. A parent process may have redirected standard error
 * since then. */
bool log_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char text[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	(void)snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, text) == 0;
}

static int line_start(int level, char *line, size_t size)
{
	char clock[16] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (log_is_journal())
		return snprintf(line, size, "<%d>", level);
	if (localtime_r(&now, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	return snprintf(line, size, "%s %s: ", clock, program_name);
}

/* Copies the text to the end of `line`. Further lines of the text are indented, so that none of them looks
 * like a line of its own, nor begins with a priority. */
static void add_text(const char *text, char *line, size_t size)
{
	size_t used = strlen(line);

	for (; *text && used + 3 < size; text++) {
		line[used++] = *text;
		if (*text == '\n') {
			line[used++] = ' ';
			line[used++] = ' ';
		}
	}
	line[used] = '\0';
}

void log_line(int level, const char *format, ...)
{
	char raw[LOG_TEXT_MAX], text[LOG_TEXT_MAX], line[LINE_MAX_BYTES];
	va_list args;
	size_t used;

	if (level > level_max)
		return;
	va_start(args, format);
	(void)vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	(void)line_start(level, line, sizeof(line));
	add_text(visible_lines(raw, text, sizeof(text)), line, sizeof(line) - 1);
	used = strlen(line);
	line[used] = '\n';
	/* Ignore an error: a failed log line must not stop the work. */
	if (write(STDERR_FILENO, line, used + 1) < 0)
		return;
}
