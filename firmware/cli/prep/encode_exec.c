/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/encode.h"
#include "core/base/json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

/* A program that closed its output too early may run for this time; then it is killed. */
#define END_MS 2000

struct feed {
	FILE *to;
	const struct encode_text *texts;
	uint32_t rows;
};

/* Writes the texts in a thread of its own. A program that answers each line at once fills its output pipe and
 * then stops reading. If one thread wrote all texts before it read an answer, both sides would wait for each
 * other forever. */
static void *feed_thread(void *argument)
{
	struct feed *feed = argument;

	for (uint32_t i = 0; i < feed->rows; i++) {
		cJSON *string = json_string(feed->texts[i].text);
		char *line = cJSON_PrintUnformatted(string);

		cJSON_Delete(string);
		if (!line || fprintf(feed->to, "%s\n", line) < 0) {
			free(line);
			break;
		}
		free(line);
	}
	(void)fclose(feed->to);
	return NULL;
}

static int parse_line(const char *line, uint32_t dims, float *vector, struct error *err)
{
	static const char separators[] = " \t\r\n,[]";
	const char *at = line;
	uint32_t found = 0;

	for (at += strspn(at, separators); *at; at += strspn(at, separators)) {
		char *end;
		float value = strtof(at, &end);

		if (end == at || !isfinite(value))
			return error_set(err, -EBADMSG, "found \"%.*s\", expected a number",
					 (int)strcspn(at, separators), at);
		if (found < dims)
			vector[found] = value;
		found++;
		at = end;
	}
	return found == dims ? 0 : error_set(err, -EBADMSG, "found %u numbers, expected %u", found, dims);
}

static int read_answers(FILE *from, uint32_t rows, uint32_t dims, float *vectors, struct error *err)
{
	CLEANUP(free_ptr) char *line = NULL;
	size_t size = 0;

	for (uint32_t i = 0; i < rows; i++) {
		int r;

		if (getline(&line, &size, from) < 0)
			return error_set(err, -ENODATA, "the program answered %u lines, expected %u", i,
					 rows);
		r = parse_line(line, dims, vectors + (uint64_t)i * dims, err);
		if (r < 0)
			return error_prefix(err, "line %u", i + 1);
	}
	return getline(&line, &size, from) < 0
		       ? 0
		       : error_set(err, -EBADMSG, "the program answered more than the expected %u lines",
				   rows);
}

static pid_t start(const char *command, int *ret_in, int *ret_out)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(out, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return -1;
	}
	if (pid == 0) {
		/* Make a process group, so that one kill() ends the shell and all programs that it
		 * started. */
		(void)setpgid(0, 0);
		if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
			(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	(void)setpgid(pid, pid);
	(void)close(in[0]);
	(void)close(out[1]);
	*ret_in = in[1];
	*ret_out = out[0];
	return pid;
}

/* Waits until the program ends, then kills the rest of its process group. `gave_up`: the program closed its
 * output too early, so wait END_MS at most. Returns true where the program ended by itself. */
static bool reap(pid_t pid, bool gave_up, int *ret_status)
{
	CLEANUP(close_fd) int fd = pidfd_open(pid, 0);
	struct pollfd end = { .fd = fd, .events = POLLIN };
	bool ended = !gave_up || poll(&end, 1, END_MS) > 0;
	siginfo_t info;

	if (ended)
		(void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	(void)kill(-pid, SIGKILL);
	(void)waitpid(pid, ret_status, 0);
	return ended;
}

/* Adds the program's exit status or signal to the error `r` of its answers. Where the program failed, that is
 * an error even if all answers came. */
static int judge(int r, bool ended, int status, struct error *err)
{
	if (!ended || status == 0)
		return r;
	if (r == 0)
		(void)error_set(err, -EIO, "the program answered all lines, expected exit status 0");
	return WIFSIGNALED(status) ? error_prefix(err, "signal %d", WTERMSIG(status))
				   : error_prefix(err, "exit status %d", WEXITSTATUS(status));
}

int encode_exec(const char *command, const struct encode_text *texts, uint32_t rows, uint32_t dims,
		float *vectors, struct error *err)
{
	struct feed feed = { .texts = texts, .rows = rows };
	CLEANUP(close_file) FILE *from = NULL;
	int in, out, status = 0, r;
	pthread_t thread;
	bool ended;
	pid_t pid;

	(void)signal(SIGPIPE, SIG_IGN);
	pid = start(command, &in, &out);
	if (pid < 0)
		return error_set(err, -errno, "%s: cannot start it: %s", command, strerror(errno));
	feed.to = fdopen(in, "w");
	from = fdopen(out, "r");
	if (!feed.to || !from || pthread_create(&thread, NULL, feed_thread, &feed) != 0)
		return error_set(err, -ENOMEM, "%s: no memory", command);
	r = read_answers(from, rows, dims, vectors, err);
	/* Kill a program that printed a wrong line. A program that printed too few lines may end by itself,
	 * because its exit status says more about the cause. */
	if (r < 0 && r != -ENODATA)
		(void)kill(-pid, SIGKILL);
	ended = reap(pid, r < 0, &status);
	(void)pthread_join(thread, NULL);
	r = r == 0 || r == -ENODATA ? judge(r, ended, status, err) : r;
	return r < 0 ? error_prefix(err, "encoder \"%s\"", command) : 0;
}
