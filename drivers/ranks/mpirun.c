/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/mpirun.h"

#include "core/base/log.h"
#include "core/run/status.h"
#include "drivers/journal/journal.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LOG_VARIABLE   "KILN_RANKS_LOG" /* "journal": the ranks log to the journal, past mpirun */
#define FAILURE_WAIT_S 10u

/* ---- The folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	(void)remove(path);
	return 0;
}

/* Makes an empty folder. A killed mpirun has left its files. */
static int make_folder(char folder[static PATH_BYTES], struct error *err)
{
	(void)nftw(status_path(STATUS_TRAIND, "mpirun", folder), remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return path_make(folder, err);
}

/* The file is there from the start of mpirun to that of the first rank. */
static char *pending_path(char out[static PATH_BYTES])
{
	return status_path(STATUS_TRAIND, "mpirun/pending", out);
}

static void wait_after_failure(void)
{
	char path[PATH_BYTES];

	if (file_exists(pending_path(path), NULL) <= 0)
		return;
	log_warning("mpirun has started no rank, trying again in %u s", FAILURE_WAIT_S);
	(void)sleep(FAILURE_WAIT_S);
}

static int note_start(struct error *err)
{
	char path[PATH_BYTES];

	return file_write_durable(pending_path(path), "", 0, err);
}

static void forget_start(void)
{
	char path[PATH_BYTES];

	(void)unlink(pending_path(path));
}

/* ---- The environment ---- */

/* OpenCL drivers keep compiled kernels below HOME, which becomes Open MPI's. */
static int keep_caches(void)
{
	const char *home = getenv("HOME");
	char caches[PATH_MAX];

	if (!home)
		return 0;
	(void)snprintf(caches, sizeof(caches), "%s/.cache", home);
	return setenv("XDG_CACHE_HOME", caches, 0);
}

/* Sets "NAME=VALUE". */
static int set_variable(char *text)
{
	char *value = strchr(text, '=');

	*value = '\0';
	return setenv(text, value + 1, 1);
}

static int set_environment(struct ranks_texts *variables, struct error *err)
{
	int r = keep_caches();

	for (size_t i = 0; r == 0 && i < variables->count; i++)
		r = set_variable(variables->text[i]);
	if (r == 0 && log_is_journal())
		r = setenv(LOG_VARIABLE, "journal", 1);
	/* Rank 0 tells systemd that it is alive, and is not the process that systemd has started. */
	if (r == 0)
		r = unsetenv("WATCHDOG_PID");
	return r < 0 ? error_set(err, -errno, "the environment of mpirun: %s", strerror(errno)) : 0;
}

/* ---- Becoming mpirun ---- */

/* The terminal is for the caller, to which it sends SIGINT: mpirun would kill its ranks. */
static void leave_terminal(void)
{
	CLEANUP(close_fd) int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (none >= 0)
		(void)dup2(none, STDIN_FILENO);
	(void)setpgid(0, 0);
}

int mpirun_prepare(char folder[static PATH_BYTES], struct error *err)
{
	wait_after_failure();
	return make_folder(folder, err);
}

int mpirun_exec(const struct ranks_texts *words, struct ranks_texts *environment, struct error *err)
{
	int r;

	if ((r = note_start(err)) < 0 || (r = set_environment(environment, err)) < 0)
		return r;
	leave_terminal();
	(void)execv(RANKS_MPIRUN, words->text);
	r = error_set(err, -EINVAL, RANKS_MPIRUN " cannot be started: %s; install the package openmpi-bin",
		      strerror(errno));
	forget_start();
	return r;
}

void mpirun_arrive(const char *program)
{
	const char *log = getenv(LOG_VARIABLE);

	/* A rank that waits for others would not notice in time that mpirun has gone. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (log && strcmp(log, "journal") == 0)
		(void)journal_take_stderr(program);
	forget_start();
}
