/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client/hosts.h"

#include "cli/base/exit.h"
#include "cli/client/host.h"
#include "core/base/cleanup.h"
#include "core/base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define HOSTS_MAX 256
#define HOST_MS   90000u
#define SAID_MAX  (1u << 20)

struct asked {
	struct client_host host;
	pid_t pid;
	int said; /* memory file (memfd) with the output of the child process */
	int code; /* -1 = the child process has not ended */
};

/* Prints the output of one box with the box's name before each line. */
static void print_said(const struct asked *asked)
{
	CLEANUP(free_ptr) char *text = calloc(1, SAID_MAX + 1);
	FILE *out = asked->code == CLI_OK || asked->code >= CLI_DEGRADED ? stdout : stderr;
	char *at = text, *line;

	if (!text || pread(asked->said, text, SAID_MAX, 0) <= 0) {
		fprintf(out, "%s: %s\n", asked->host.name, asked->code == CLI_OK ? "done" : "no answer");
		return;
	}
	while ((line = strsep(&at, "\n")))
		if (*line || at)
			fprintf(out, "%s: %s\n", asked->host.name, line);
	if (lseek(asked->said, 0, SEEK_END) > SAID_MAX)
		fprintf(stderr,
			"%s: the output is cut after %u bytes; give --host this box alone to see all of it\n",
			asked->host.name, SAID_MAX);
}

static void ask(struct asked *asked, int (*run)(int argc, char **argv), int argc, char **argv)
{
	asked->code = -1;
	asked->said = memfd_create("said", MFD_CLOEXEC);
	(void)fflush(NULL);
	asked->pid = asked->said < 0 ? -1 : fork();
	if (asked->pid < 0)
		asked->code = CLI_NO_HOST;
	if (asked->pid != 0)
		return;
	(void)dup2(asked->said, STDOUT_FILENO);
	(void)dup2(asked->said, STDERR_FILENO);
	asked->host.one_of_many = true;
	client_use(&asked->host);
	argc = run(argc, argv);
	(void)fflush(NULL);
	_exit(argc);
}

static void wait_for_all(struct asked *asked, int count)
{
	const struct timespec moment = { 0, 10000000 };
	uint64_t until = clock_ms() + HOST_MS;

	for (int i = 0; i < count; i++)
		while (asked[i].code < 0) {
			int status = 0;
			pid_t pid = waitpid(asked[i].pid, &status, WNOHANG);

			if (pid == asked[i].pid)
				asked[i].code = WIFEXITED(status) ? WEXITSTATUS(status) : CLI_NO_HOST;
			else if (clock_ms() >= until)
				(void)kill(asked[i].pid, SIGKILL);
			if (asked[i].code < 0)
				(void)nanosleep(&moment, NULL);
		}
}

int hosts_sum_up(const int *codes, int count)
{
	int lost = 0, idle = 0, error = CLI_OK, worst = CLI_OK;

	for (int i = 0; i < count; i++) {
		lost += codes[i] == CLI_NO_HOST;
		if (codes[i] == CLI_ERROR || codes[i] == CLI_USAGE)
			error = codes[i];
		idle += codes[i] == CLI_IDLE;
		if (codes[i] != CLI_IDLE && codes[i] > worst)
			worst = codes[i];
	}
	if (lost)
		return lost == count ? CLI_NO_HOST : CLI_SOME_HOSTS;
	if (error)
		return error;
	return idle == count ? CLI_IDLE : worst;
}

/* Returns true for a verb that runs until the user stops it. With several boxes such a verb would be killed
 * at the time limit, and all its output would be lost. */
static bool never_ends(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "watch") == 0)
		return true;
	/* Accept --follow at any position, and shortened, as the parser does. */
	for (int i = 2; i < argc && strcmp(argv[1], "log") == 0; i++)
		if (strlen(argv[i]) > 2 && strncmp(argv[i], "--follow", strlen(argv[i])) == 0)
			return true;
	return false;
}

int hosts_run(const char *list, int (*run)(int argc, char **argv), int argc, char **argv)
{
	static struct asked asked[HOSTS_MAX];
	int codes[HOSTS_MAX], count = 0;

	while (*list) {
		size_t length = strcspn(list, ",");

		if (count == HOSTS_MAX || !host_parse(list, length, &asked[count].host)) {
			fprintf(stderr, "kiln: --host: found \"%.*s\", expected NAME=ADDRESS[:PORT]\n",
				(int)length, list);
			return CLI_USAGE;
		}
		count++;
		list += length + (list[length] == ',');
	}
	if (count == 1) {
		client_use(&asked[0].host);
		return run(argc, argv);
	}
	if (never_ends(argc, argv)) {
		fprintf(stderr, "kiln: --host: %s runs until it is stopped, expected one host\n", argv[1]);
		return CLI_USAGE;
	}
	for (int i = 0; i < count; i++)
		ask(&asked[i], run, argc, argv);
	wait_for_all(asked, count);
	for (int i = 0; i < count; i++) {
		print_said(&asked[i]);
		(void)close(asked[i].said);
		codes[i] = asked[i].code;
	}
	return hosts_sum_up(codes, count);
}
