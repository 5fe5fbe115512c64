/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kiln run --from run.json`: repeats a run in the foreground, without systemd. Runs kiln-oneshot begin, then
 * the three daemons until all outputs are in the store. A daemon that ends with an exit code for a temporary
 * failure (core/base/error.h) is started again.
 */
#include "core/run/run.h"
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

#define DAEMONS 3u

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

/* Starts a program of Kiln: from the folder of this program, or from the libexec folder that `make install`
 * uses. */
static int spawn(const char *name, char *const arguments[], pid_t *ret_pid, struct error *err)
{
	char here[PATH_BYTES / 4] = "", path[PATH_BYTES];
	ssize_t bytes = readlink("/proc/self/exe", here, sizeof(here) - 1);
	int r;

	if (bytes > 0 && strrchr(here, '/'))
		*strrchr(here, '/') = '\0';
	(void)snprintf(path, sizeof(path), "%s/%s", here, name);
	if (access(path, X_OK) < 0)
		(void)snprintf(path, sizeof(path), "%s/../libexec/kiln/%s", here, name);
	r = posix_spawn(ret_pid, path, NULL, NULL, arguments, environ);
	return r ? error_set(err, -r, "%s: cannot start it: %s", path, strerror(r)) : 0;
}

struct child {
	const char *name;
	char *arguments[3];
	pid_t pid; /* 0: the process has ended */
};

static int end_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : EX_UNAVAILABLE;
}

/* The index of a daemon in the list of children. */
enum { FETCHD, TRAIND, UPLOADD };

static void end_children(struct child *children, bool drain)
{
	for (uint32_t i = 0; i < DAEMONS; i++)
		if (children[i].pid && !(drain && i == UPLOADD))
			(void)kill(children[i].pid, SIGTERM);
}

static struct child *child_of(struct child *children, pid_t pid)
{
	for (uint32_t i = 0; i < DAEMONS; i++)
		if (children[i].pid == pid)
			return &children[i];
	return NULL;
}

/* Waits until all daemons have ended. Returns the exit code of the first daemon with a permanent failure, or
 * EX_OK. After a failed run kiln-uploadd is not stopped, so that it finishes its uploads. When kiln-traind is
 * done, kiln-fetchd is stopped: after `kiln stop` it would wait for the trainer for ever. */
static int wait_for_daemons(struct child *children, struct error *err)
{
	int code = EX_OK, status, r = 0;
	bool trained = false;

	while (children[FETCHD].pid || children[TRAIND].pid || children[UPLOADD].pid) {
		pid_t pid = waitpid(-1, &status, 0);
		struct child *child = pid > 0 ? child_of(children, pid) : NULL;

		if (!child) {
			end_children(children, false); /* a signal interrupted waitpid() */
			continue;
		}
		child->pid = 0;
		if (child == &children[TRAIND] && end_of(status) == EX_OK && children[FETCHD].pid) {
			(void)kill(children[FETCHD].pid, SIGTERM);
			trained = true;
		}
		if (trained && child == &children[FETCHD])
			continue;
		if (!stopped && code == EX_OK &&
		    (end_of(status) == EX_UNAVAILABLE || end_of(status) == EX_TEMPFAIL)) {
			(void)sleep(1);
			r = spawn(child->name, child->arguments, &child->pid, err);
		} else if (end_of(status) != EX_OK && code == EX_OK) {
			code = end_of(status);
			end_children(children, code == EX_DATAERR);
		}
		if (r < 0) {
			end_children(children, false);
			code = EX_OSERR;
		}
	}
	return r < 0 ? r : code;
}

static int run_daemons(struct error *err)
{
	struct child children[DAEMONS] = {
		[FETCHD] = { "kiln-fetchd", { (char[]){ "kiln-fetchd" }, NULL }, 0 },
		[TRAIND] = { "kiln-traind", { (char[]){ "kiln-traind" }, NULL }, 0 },
		[UPLOADD] = { "kiln-uploadd",
			      { (char[]){ "kiln-uploadd" }, (char[]){ "--drain" }, NULL },
			      0 },
	};
	const struct sigaction action = { .sa_handler = stop };
	int r = 0;

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	for (uint32_t i = 0; r == 0 && i < DAEMONS; i++)
		r = spawn(children[i].name, children[i].arguments, &children[i].pid, err);
	if (r < 0)
		end_children(children, false);
	return r < 0 ? r : wait_for_daemons(children, err);
}

static int begin(const struct arguments *arguments, const char *from, struct error *err)
{
	const char *config = arguments_text(arguments, "config");
	const char *words[8] = { "kiln-oneshot", "begin", "--from", from };
	uint32_t count = 4;
	pid_t pid;
	int status, r;

	if (config) {
		words[count++] = "--config";
		words[count++] = config;
	}
	if (arguments_have(arguments, "adopt"))
		words[count++] = "--adopt";
	r = spawn("kiln-oneshot", (char *const *)(uintptr_t)words, &pid, err);
	if (r < 0)
		return r;
	return waitpid(pid, &status, 0) < 0 ? EX_OSERR : end_of(status);
}

/* A repeat that did not finish is not the box's current run: makes the run before it the current run again.
 */
static void give_back(int code)
{
	struct error err;
	char reason[128];

	if (stopped)
		(void)snprintf(reason, sizeof(reason), "kiln run --from was stopped");
	else
		(void)snprintf(reason, sizeof(reason), "a program of kiln run --from ended with exit code %d",
			       code < 0 ? EX_OSERR : code);
	if (run_give_back(reason, &err) < 0)
		(void)cli_error(&err);
}

static int run(const struct arguments *arguments)
{
	const char *from = arguments_text(arguments, "from");
	struct error err;
	int r;

	if (!from)
		return cli_usage(arguments->name, "expected --from RUN.JSON");
	r = begin(arguments, from, &err);
	if (r != EX_OK) /* where it ran, kiln-oneshot has already printed the reason */
		return r < 0 ? cli_error(&err) : CLI_ERROR;
	r = run_daemons(&err);
	if (r < 0)
		(void)cli_error(&err);
	if (r == EX_OK && !stopped)
		return CLI_OK;
	give_back(r);
	return CLI_ERROR;
}

static const struct verb_option options[] = {
	{ .name = "from", .value = VERB_FILE, .argument = "RUN.JSON", .help = "record of the run to repeat" },
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "kiln.conf whose `sources` and `sink` the record must name; default: the box's" },
	{ .name = "adopt",
	  .help = "repeat a run whose record names other stores, with the stores of kiln.conf" },
	{ 0 },
};

const struct verb verb_run = {
	.name = "run",
	.summary = "repeat a run from its run.json, in the foreground",
	.synopsis = "run --from RUN.JSON [--config FILE] [--adopt]",
	.about =
		"Repeats a run with the same configuration, seed and plan, and with the checkpoint that the "
		"run started from. The verb reads them from the record and from the store. The record must "
		"name the stores of kiln.conf, or folders of this machine where there is no kiln.conf, "
		"because "
		"a record alone does not decide to whom this machine sends signed requests. On the same "
		"device, with the same build, the new run ends with the same bits. A repeat that fails or is "
		"stopped does not become the box's current run.",
	.options = { options },
	.here = true,
	.run = run,
};
