/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/archive.h"

#include "core/base/paths.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK_BYTES  (1u << 20)
#define MEMBERS_MAX  1024u
#define CONFIG_NAME  "config.json"
#define WEIGHTS_NAME "model.weights.h5"

struct reading {
	const char *path, *weights_path;
	struct archive *archive;
	char *config;
	uint64_t config_bytes;
	int weights;
};

static int refuse(const struct reading *reading, const char *member, const char *why, struct error *err)
{
	return error_set(err, -EBADMSG, "%s: %s: %s", reading->path, member, why);
}

static int read_config(struct reading *reading, struct error *err)
{
	la_ssize_t bytes;

	if (reading->config)
		return refuse(reading, CONFIG_NAME, "it is there twice", err);
	reading->config = malloc(ARCHIVE_CONFIG_MAX + 1);
	if (!reading->config)
		return error_set(err, -ENOMEM, "%s: no memory for %s", reading->path, CONFIG_NAME);
	while (reading->config_bytes <= ARCHIVE_CONFIG_MAX) {
		bytes = archive_read_data(reading->archive, reading->config + reading->config_bytes,
					  ARCHIVE_CONFIG_MAX + 1 - reading->config_bytes);
		if (bytes < 0)
			return refuse(reading, CONFIG_NAME, "cut or damaged", err);
		if (bytes == 0)
			return 0;
		reading->config_bytes += (uint64_t)bytes;
	}
	return error_set(err, -EBADMSG, "%s: %s: more than %u bytes", reading->path, CONFIG_NAME,
			 ARCHIVE_CONFIG_MAX);
}

static int copy_weights(struct reading *reading, char *block, struct error *err)
{
	uint64_t copied = 0;
	la_ssize_t bytes;
	int r = 0;

	while (r == 0 && (bytes = archive_read_data(reading->archive, block, BLOCK_BYTES)) != 0) {
		if (bytes < 0)
			return refuse(reading, WEIGHTS_NAME, "cut or damaged", err);
		copied += (uint64_t)bytes;
		if (copied > ARCHIVE_WEIGHTS_MAX)
			return error_set(err, -EBADMSG, "%s: %s: more than %llu bytes", reading->path,
					 WEIGHTS_NAME, ARCHIVE_WEIGHTS_MAX);
		r = file_write_all(reading->weights, block, (uint64_t)bytes);
		if (r < 0)
			(void)error_set(err, r, "%s: cannot write it: %s", reading->weights_path,
					strerror(-r));
	}
	return r;
}

static int read_weights(struct reading *reading, struct error *err)
{
	CLEANUP(free_ptr) char *block = malloc(BLOCK_BYTES);

	if (!block)
		return error_set(err, -ENOMEM, "%s: no memory for its weights", reading->path);
	if (reading->weights >= 0)
		return refuse(reading, WEIGHTS_NAME, "it is there twice", err);
	reading->weights = open(reading->weights_path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (reading->weights < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", reading->weights_path,
				 strerror(errno));
	return copy_weights(reading, block, err);
}

static int read_members(struct reading *reading, struct error *err)
{
	struct archive_entry *entry;
	uint32_t members = 0;
	int z, r = 0;

	while (r == 0 && (z = archive_read_next_header(reading->archive, &entry)) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(entry);

		if (++members > MEMBERS_MAX)
			return refuse(reading, "members", "more than 1024", err);
		if (!name || archive_entry_filetype(entry) != AE_IFREG)
			continue;
		if (strcmp(name, CONFIG_NAME) == 0)
			r = read_config(reading, err);
		else if (strcmp(name, WEIGHTS_NAME) == 0)
			r = read_weights(reading, err);
	}
	if (r < 0)
		return r;
	if (z != ARCHIVE_EOF)
		return error_set(err, -EBADMSG, "%s: no .keras file, which is a zip archive: %s",
				 reading->path, archive_error_string(reading->archive));
	if (!reading->config || reading->weights < 0)
		return error_set(err, -EBADMSG, "%s: no .keras file of Keras 3: it has no %s", reading->path,
				 reading->config ? WEIGHTS_NAME : CONFIG_NAME);
	return 0;
}

int archive_read_keras(const char *path, const char *weights, cJSON **ret_config, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct reading reading = { .path = path, .weights_path = weights, .weights = -1 };
	int r;

	if (fd < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	reading.archive = archive_read_new();
	if (!reading.archive)
		return error_set(err, -ENOMEM, "%s: no memory to read it", path);
	(void)archive_read_support_format_zip(reading.archive);
	if (archive_read_open_fd(reading.archive, fd, BLOCK_BYTES) != ARCHIVE_OK)
		r = error_set(err, -EBADMSG, "%s: no .keras file, which is a zip archive: %s", path,
			      archive_error_string(reading.archive));
	else
		r = read_members(&reading, err);
	if (r == 0)
		r = json_parse(path, reading.config, reading.config_bytes, ret_config, err);
	(void)archive_read_free(reading.archive);
	close_fd(&reading.weights);
	free(reading.config);
	return r;
}
