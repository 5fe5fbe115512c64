/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/encode.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

struct feed {
	FILE *to;
	const struct encode_text *texts;
	uint32_t rows;
};

/* Writing and reading at once: a program that answers line by line would block on a full pipe otherwise. */
static void *feed_thread(void *argument)
{
	struct feed *feed = argument;

	for (uint32_t i = 0; i < feed->rows; i++) {
		cJSON *string = cJSON_CreateString(feed->texts[i].text);
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
	const char *separators = " \t\r\n,[]", *at = line;
	uint32_t found = 0;

	for (at += strspn(at, separators); *at; at += strspn(at, separators)) {
		char *end;
		float value = strtof(at, &end);

		if (end == at || !isfinite(value))
			return error_set(err, -EBADMSG, "found \"%.20s\", expected a number", at);
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
			return error_set(err, -EBADMSG, "it ended after %u lines, expected %u", i, rows);
		r = parse_line(line, dims, vectors + (uint64_t)i * dims, err);
		if (r < 0)
			return error_prefix(err, "line %u", i + 1);
	}
	return getline(&line, &size, from) < 0
		       ? 0
		       : error_set(err, -EBADMSG, "more than the %u lines expected", rows);
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
		if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
			(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	*ret_in = in[1];
	*ret_out = out[0];
	return pid;
}

int encode_exec(const char *command, const struct encode_text *texts, uint32_t rows, uint32_t dims,
		float *vectors, struct error *err)
{
	struct feed feed = { .texts = texts, .rows = rows };
	CLEANUP(close_file) FILE *from = NULL;
	int in, out, status, r;
	pthread_t thread;
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
	if (r < 0)
		(void)kill(pid, SIGKILL);
	(void)pthread_join(thread, NULL);
	(void)waitpid(pid, &status, 0);
	if (r < 0)
		return error_prefix(err, "encoder \"%s\"", command);
	if (status != 0)
		return error_set(err, -EIO, "encoder \"%s\" ended with status %d", command,
				 WEXITSTATUS(status));
	return 0;
}
