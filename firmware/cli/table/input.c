/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/input.h"

#include "core/base/temporary.h"
#include "trained/location.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <zlib.h>

#define BUFFER_BYTES (1u << 18)

struct input {
	const char *name;
	FILE *program;        /* of exec:PROGRAM */
	gzFile file;          /* all inputs; it inflates gzip, and returns other bytes as they are */
	struct archive *zstd; /* NULL: the bytes are not zstd */
	char first[4];        /* the first bytes, which tell zstd */
	uint64_t first_bytes;
	char piece[BUFFER_BYTES];
};

static void input_closep(struct input **input)
{
	input_close(*input);
}

/* ---- Opening ---- */

static int open_object(const struct config_store *where, const char *url, int *ret_fd, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	char path[PATH_BYTES];
	const char *key;
	int r = location_open(where, url, &store, &key, err);

	if (r < 0 || (r = temporary_file("table", path, err)) < 0)
		return r;
	r = store_get_file(store, key, path, UINT64_MAX, err);
	*ret_fd = r < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	(void)unlink(path);
	return r < 0 ? r : *ret_fd < 0 ? error_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static int open_fd(struct input *input, const struct config_store *where, int *ret_fd, struct error *err)
{
	const char *name = input->name;

	if (strncmp(name, INPUT_EXEC, strlen(INPUT_EXEC)) == 0) {
		/* NOLINTNEXTLINE(cert-env33-c): the user gives a command line for a shell */
		input->program = popen(name + strlen(INPUT_EXEC), "re");
		*ret_fd = input->program ? fcntl(fileno(input->program), F_DUPFD_CLOEXEC, 0) : -1;
	} else if (strcmp(name, "-") == 0) {
		*ret_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	} else if (location_is_url(name)) {
		return open_object(where, name, ret_fd, err);
	} else {
		*ret_fd = open(name, O_RDONLY | O_CLOEXEC);
	}
	return *ret_fd < 0 ? error_set(err, -errno, "%s: cannot read it: %s", name, strerror(errno)) : 0;
}

/* ---- zlib: gzip, and bytes that are not compressed ---- */

static int read_plain(struct input *input, char *data, uint64_t bytes, uint64_t *ret_bytes, struct error *err)
{
	const int n = gzread(input->file, data, (unsigned)bytes);
	const char *text;
	int z;

	text = gzerror(input->file, &z);
	if (n < 0 || z < 0)
		return error_set(err, z == Z_ERRNO ? -errno : -EBADMSG,
				 "%s: cannot read it after byte %jd: %s", input->name,
				 (intmax_t)gzoffset(input->file), z == Z_ERRNO ? strerror(errno) : text);
	*ret_bytes = (uint64_t)n;
	return 0;
}

/* ---- libarchive: zstd ---- */

static la_ssize_t give(struct archive *archive, void *context, const void **ret_data)
{
	struct input *input = context;
	struct error err = { 0 };
	uint64_t bytes = 0;

	*ret_data = input->piece;
	if (input->first_bytes) {
		memcpy(input->piece, input->first, input->first_bytes);
		bytes = input->first_bytes;
		input->first_bytes = 0;
		return (la_ssize_t)bytes;
	}
	if (read_plain(input, input->piece, sizeof(input->piece), &bytes, &err) < 0) {
		archive_set_error(archive, EIO, "%s", err.text);
		return ARCHIVE_FATAL;
	}
	return (la_ssize_t)bytes;
}

static int open_zstd(struct input *input, struct error *err)
{
	struct archive_entry *entry;

	input->zstd = archive_read_new();
	if (!input->zstd)
		return error_set(err, -ENOMEM, "%s: no memory", input->name);
	(void)archive_read_support_filter_zstd(input->zstd);
	(void)archive_read_support_format_raw(input->zstd);
	if (archive_read_open(input->zstd, input, NULL, give, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(input->zstd, &entry) != ARCHIVE_OK)
		return error_set(err, -EBADMSG, "%s: damaged zstd: %s", input->name,
				 archive_error_string(input->zstd));
	return 0;
}

static int read_zstd(struct input *input, char *data, uint64_t bytes, uint64_t *ret_bytes, struct error *err)
{
	const la_ssize_t n = archive_read_data(input->zstd, data, bytes);

	if (n < 0)
		return error_set(err, -EBADMSG, "%s: damaged or cut zstd: %s", input->name,
				 archive_error_string(input->zstd));
	*ret_bytes = (uint64_t)n;
	return 0;
}

/* ---- The functions of the header ---- */

int input_open(const struct config_store *where, const char *name, struct input **ret_input,
	       struct error *err)
{
	static const char zstd[4] = { '\x28', '\xb5', '\x2f', '\xfd' };
	CLEANUP(input_closep) struct input *input = calloc(1, sizeof(*input));
	int fd = -1, r;

	if (!input)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	input->name = name;
	if ((r = open_fd(input, where, &fd, err)) < 0)
		return r;
	input->file = gzdopen(fd, "r");
	if (!input->file) {
		(void)close(fd);
		return error_set(err, -ENOMEM, "%s: no memory", name);
	}
	(void)gzbuffer(input->file, BUFFER_BYTES);
	r = read_plain(input, input->first, sizeof(input->first), &input->first_bytes, err);
	if (r == 0 && input->first_bytes == sizeof(zstd) && memcmp(input->first, zstd, sizeof(zstd)) == 0)
		r = open_zstd(input, err);
	if (r < 0)
		return r;
	*ret_input = TAKE(input);
	return 0;
}

/* Waits for the program, which has closed its output. */
static int end_program(struct input *input, struct error *err)
{
	const int status = input->program ? pclose(TAKE(input->program)) : 0;

	if (status == 0)
		return 0;
	return WIFSIGNALED(status)
		       ? error_set(err, -EIO, "%s: the program ended with signal %d", input->name,
				   WTERMSIG(status))
		       : error_set(err, -EIO, "%s: the program ended with exit status %d, expected 0",
				   input->name, WEXITSTATUS(status));
}

int input_read(struct input *input, char *data, uint64_t bytes, uint64_t *ret_bytes, struct error *err)
{
	uint64_t done = 0, n = 1;

	if (!input->zstd && input->first_bytes) {
		done = input->first_bytes < bytes ? input->first_bytes : bytes;
		memcpy(data, input->first, done);
		input->first_bytes = 0;
	}
	while (done < bytes && n > 0) {
		int r = input->zstd ? read_zstd(input, data + done, bytes - done, &n, err)
				    : read_plain(input, data + done, bytes - done, &n, err);

		if (r < 0)
			return r;
		done += n;
	}
	*ret_bytes = done;
	return n > 0 ? 0 : end_program(input, err);
}

void input_close(struct input *input)
{
	if (!input)
		return;
	if (input->zstd)
		(void)archive_read_free(input->zstd);
	if (input->file)
		(void)gzclose(input->file);
	if (input->program)
		(void)pclose(input->program);
	free(input);
}
