/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/base/program.h"
#include "core/box/night.h"
#include "generator/generator.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>

#define LIMIT_S       5   /* the program kills itself after this time, because PID 1 waits for it */
#define LINE_BYTES    960 /* /dev/kmsg accepts about 1 KiB */
#define GAP_WARN_DAYS 366u

/* Logs to the kernel's log, because journald is not running yet. */
static void say(int level, const char *format, ...) PRINTF(2, 3);

static void say(int level, const char *format, ...)
{
	const char *given = getenv("KILN_KMSG");
	CLEANUP(close_fd) int fd = open(given ? given : "/dev/kmsg", O_WRONLY | O_CLOEXEC | O_APPEND);
	char line[LINE_BYTES];
	size_t used = (size_t)snprintf(line, sizeof(line), "<%d>kiln-generator: ", LOG_DAEMON | level);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	used = strlen(line);
	line[used] = '\n';
	if (fd < 0 || write(fd, line, used + 1) < 0)
		(void)!write(STDERR_FILENO, line, used + 1);
}

static void say_mistakes(struct error *err)
{
	char *rest = err->text, *line;

	while ((line = strsep(&rest, "\n")))
		say(LOG_ERR, "%s", line);
}

static int write_drop_in(const char *folder, const char *unit, const char *text, struct error *err)
{
	char path[PATH_BYTES];
	CLEANUP(close_fd) int fd = -1;
	int r;

	(void)snprintf(path, sizeof(path), "%.3000s/%s.d", folder, unit);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return error_set(err, -errno, "%s: cannot make it: %s", path, strerror(errno));
	(void)snprintf(path, sizeof(path), "%.3000s/%s.d/50-kiln.conf", folder, unit);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", path, strerror(errno));
	r = file_write_all(fd, text, strlen(text));
	return r < 0 ? error_set(err, r, "%s: cannot write it: %s", path, strerror(-r)) : 0;
}

static int write_file(const char *folder, const struct units_file *file, struct error *err)
{
	int r = write_drop_in(folder, file->unit, file->text, err);

	for (size_t i = 0; r == 0 && i < UNITS_TEMPLATES && file->template[i]; i++)
		r = write_drop_in(folder, file->template[i], file -> text, err);
	return r;
}

static struct units_file files[UNITS_KINDS];

/* Makes the texts of all drop-ins before any is written, so that drop-ins never come from two
 * configurations. */
static int make(const char *path, int64_t now, struct config *ret_config, struct error *err)
{
	int r = config_load(path, ret_config, err);

	for (int kind = 0; r == 0 && kind < UNITS_KINDS; kind++)
		r = units_write(ret_config, (enum units_kind)kind, now, &files[kind], err);
	return r;
}

/* Returns 1 where there is no usable configuration. */
static int load(int64_t now, struct config *ret_config, struct error *err)
{
	char path[PATH_BYTES], good[PATH_BYTES + 8];
	int r = make(path_of(PATH_CONFIG, NULL, path), now, ret_config, err);

	if (r == 0 || r == -ENOENT)
		return r < 0;
	say_mistakes(err);
	config_done(ret_config);
	(void)snprintf(good, sizeof(good), "%s" CONFIG_GOOD_SUFFIX, path);
	if (make(good, now, ret_config, err) < 0) {
		say(LOG_ERR, "%s cannot be used, and there is no earlier good one: no run starts by itself",
		    path);
		return 1;
	}
	say(LOG_WARNING, "%s cannot be used: the units follow the last good one, %s", path, good);
	return 0;
}

static void warn_of_gap(const struct config *config, int64_t now)
{
	struct night_gap gap;

	if (night_gap_next(config, now, GAP_WARN_DAYS, &gap))
		say(LOG_WARNING,
		    "run.at = \"%s\" does not exist on %04d-%02d-%02d in %s: that run starts at %02u:%02u",
		    config->run.at, gap.year, gap.month, gap.day, config->run.zone, gap.minutes / 60,
		    gap.minutes % 60);
}

static const struct program program = {
	"kiln-generator", "NORMAL EARLY LATE",
	"Writes drop-ins for the units of Kiln from kiln.conf into the folder NORMAL: systemd.generator(7)."
};

int main(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	int64_t now = time(NULL);
	int r = program_begin(&program, argc, argv);

	if (r != PROGRAM_GOES_ON)
		return r;
	(void)alarm(LIMIT_S);
	if (load(now, &config, &err))
		return EX_OK;
	warn_of_gap(&config, now);
	for (int kind = 0; kind < UNITS_KINDS; kind++)
		if (*files[kind].text && write_file(argv[1], &files[kind], &err) < 0) {
			say_mistakes(&err);
			return EX_IOERR;
		}
	return EX_OK;
}
