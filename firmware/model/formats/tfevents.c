/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/tfevents.h"

#include "core/base/paths.h"
#include "data/tfrecord.h"
#include "model/formats/tfevents_write.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define PREFIX       "events.out.tfevents."
#define FILE_VERSION "brain.Event:2"
#define HOST_BYTES   65u
#define CUT_MAX      (UINT64_C(1) << 31)

enum { EVENT_FILE_VERSION = 3, EVENT_SESSION_LOG = 7 };
enum { VALUE_SIMPLE_VALUE = 2 };
enum { SESSION_LOG_STATUS = 1, SESSION_LOG_START = 1 };

struct tfevents {
	int fd;
	uint64_t bytes, first_bytes; /* size of all complete records in the file; size of the first record */
	uint64_t segment_bytes;
	uint64_t second; /* Unix time in the name of the file */
	char folder[PATH_BYTES], path[PATH_BYTES];
};

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Removes a record that was written only in part: with it in the file, readers could not find the records
 * after it. */
static int cut_back(struct tfevents *events, int r, struct error *err)
{
	(void)!ftruncate(events->fd, (off_t)events->bytes);
	return error_set(err, r, "%s: cannot append at byte %" PRIu64 ": %s", events->path, events->bytes,
			 strerror(-r));
}

static int open_next(struct tfevents *events, struct error *err);

static int append_frame(struct tfevents *events, const uint8_t *frame, uint64_t bytes, struct error *err)
{
	ssize_t written = write(events->fd, frame, bytes);

	if (written < 0)
		return cut_back(events, -errno, err);
	if ((uint64_t)written < bytes)
		return cut_back(events, -ENOSPC, err);
	events->bytes += bytes;
	return 0;
}

int tfevents_append(struct tfevents *events, const struct wire *event, struct error *err)
{
	uint8_t small[TFEVENTS_EVENT_BYTES + TFRECORD_FRAME_BYTES];
	CLEANUP(free_ptr) void *large = NULL;
	uint64_t bytes = event->bytes + TFRECORD_FRAME_BYTES;
	int r;

	if (event->bytes > event->capacity)
		return error_set(err, -EINVAL, "%s: an event of %" PRIu64 " bytes, at most %" PRIu64,
				 events->path, event->bytes, event->capacity);
	if (bytes > sizeof(small) && !(large = malloc(bytes)))
		return error_set(err, -ENOMEM, "%s: no memory", events->path);
	if (events->bytes > events->first_bytes && events->bytes + bytes > events->segment_bytes) {
		r = open_next(events, err);
		if (r < 0)
			return r;
	}
	(void)tfrecord_frame(event->data, event->bytes, large ? large : small);
	return append_frame(events, large ? large : small, bytes, err);
}

int tfevents_sync(struct tfevents *events, struct error *err)
{
	if (fdatasync(events->fd) < 0)
		return error_set(err, -errno, "%s: cannot write it: %s", events->path, strerror(errno));
	return 0;
}

/* Protobuf does not write a step of 0. */
void tfevents_begin(struct wire *event, uint64_t step)
{
	wire_double(event, EVENT_WALL_TIME, now_s());
	if (step)
		wire_varint(event, EVENT_STEP, step);
}

int tfevents_check_tag(const struct tfevents *events, const char *tag, struct error *err)
{
	return strlen(tag) <= TFEVENTS_TAG_MAX ? 0
					       : error_set(err, -EINVAL, "%s: a tag of %zu bytes, at most %u",
							   events->path, strlen(tag), TFEVENTS_TAG_MAX);
}

/* ---- Summaries ---- */

int tfevents_scalars(struct tfevents *events, uint64_t step, const struct tfevents_scalar *scalars,
		     uint32_t count, struct error *err)
{
	uint8_t bytes[TFEVENTS_EVENT_BYTES], summary_bytes[TFEVENTS_EVENT_BYTES - 64];
	struct wire event = { bytes, sizeof(bytes), 0 },
		    summary = { summary_bytes, sizeof(summary_bytes), 0 };

	for (uint32_t i = 0; i < count; i++) {
		uint8_t value_bytes[TFEVENTS_TAG_MAX + 16];
		struct wire point = { value_bytes, sizeof(value_bytes), 0 };
		int r = tfevents_check_tag(events, scalars[i].tag, err);

		if (r < 0)
			return r;
		wire_string(&point, VALUE_TAG, scalars[i].tag);
		wire_float(&point, VALUE_SIMPLE_VALUE, scalars[i].value);
		wire_bytes(&summary, SUMMARY_VALUE, point.data, point.bytes);
	}
	tfevents_begin(&event, step);
	wire_bytes(&event, EVENT_SUMMARY, summary.data, summary.bytes);
	return tfevents_append(events, &event, err);
}

/* ---- Going back ---- */

/* Reads the step that tfevents_begin() wrote. Returns false for the event that begins a file. */
static bool has_step(const struct tfrecord *record, uint64_t *ret_step)
{
	const uint8_t *at = record->data + 9, *end = record->data + record->bytes;
	uint64_t step = 0;

	if (record->bytes > 9 && *at == (EVENT_STEP << 3 | WIRE_VARINT))
		for (uint32_t shift = 0; ++at < end && shift < 64; shift += 7) {
			step |= (uint64_t)(*at & 127) << shift;
			if (*at < 128)
				break;
		}
	*ret_step = step;
	return !(record->bytes > 9 && *at == (EVENT_FILE_VERSION << 3 | WIRE_LENGTH));
}

/* Returns the length of the part of a file before the first record of `step` or a later step, or before the
 * first record that is incomplete. */
static uint64_t good_bytes(const char *data, uint64_t bytes, uint64_t step)
{
	struct tfrecord record = { 0 };
	uint64_t offset = 0, found;
	struct error err;

	while (tfrecord_next(data, bytes, offset, CUT_MAX, &record, &err) == 0) {
		if (has_step(&record, &found) && found >= step)
			break;
		offset = record.next;
	}
	return offset;
}

static int cut_file(const char *path, uint64_t step, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC);
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0, good;
	int r = file_read(path, CUT_MAX, &data, &bytes, err);

	if (r < 0)
		return r;
	good = good_bytes(data, bytes, step);
	if (good == bytes)
		return 0;
	if (fd < 0 || ftruncate(fd, (off_t)good) < 0 || fsync(fd) < 0)
		return error_set(err, -errno, "%s: cannot cut it to %" PRIu64 " bytes: %s", path, good,
				 strerror(errno));
	return 0;
}

static int cut_others(const struct tfevents *events, uint64_t step, struct error *err)
{
	DIR *entries = opendir(events->folder);
	struct dirent *entry;
	int r = 0;

	if (!entries)
		return error_set(err, -errno, "%s: cannot list it: %s", events->folder, strerror(errno));
	while (r == 0 && (entry = readdir(entries))) {
		char path[2 * PATH_BYTES];

		(void)snprintf(path, sizeof(path), "%s/%s", events->folder, entry->d_name);
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 && strcmp(path, events->path) != 0)
			r = cut_file(path, step, err);
	}
	(void)closedir(entries);
	return r;
}

int tfevents_session_start(struct tfevents *events, uint64_t step, struct error *err)
{
	uint8_t bytes[TFEVENTS_EVENT_BYTES], log_bytes[8];
	struct wire event = { bytes, sizeof(bytes), 0 }, log = { log_bytes, sizeof(log_bytes), 0 };
	int r = cut_others(events, step, err);

	if (r < 0)
		return r;
	wire_varint(&log, SESSION_LOG_STATUS, SESSION_LOG_START);
	tfevents_begin(&event, step);
	wire_bytes(&event, EVENT_SESSION_LOG, log.data, log.bytes);
	return tfevents_append(events, &event, err);
}

/* ---- Open ---- */

/* Returns the second for the next file's name: now, or later than every file in the folder, in case a process
 * was restarted within a second or the clock was set back. */
static int next_second(const char *folder, uint64_t *ret_second, struct error *err)
{
	DIR *entries = opendir(folder);
	uint64_t second = (uint64_t)now_s();
	struct dirent *entry;

	if (!entries)
		return error_set(err, -errno, "%s: cannot list it: %s", folder, strerror(errno));
	while ((entry = readdir(entries))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0) {
			uint64_t found = strtoull(entry->d_name + strlen(PREFIX), NULL, 10);

			if (found >= second && found < UINT64_MAX)
				second = found + 1;
		}
	}
	(void)closedir(entries);
	*ret_second = second;
	return 0;
}

static int sync_folder(const char *folder, struct error *err)
{
	CLEANUP(close_fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return error_set(err, -errno, "%s: cannot sync it: %s", folder, strerror(errno));
	return 0;
}

/* Makes the file of events->second with its first record. */
static int make_file(struct tfevents *events, struct error *err)
{
	uint8_t bytes[TFEVENTS_EVENT_BYTES];
	struct wire version = { bytes, sizeof(bytes), 0 };
	char host[HOST_BYTES] = "";
	int r;

	if (gethostname(host, sizeof(host) - 1) < 0 || !*host)
		(void)snprintf(host, sizeof(host), "kiln");
	if ((size_t)snprintf(events->path, sizeof(events->path), "%s/" PREFIX "%010" PRIu64 ".%s.%d.0.v2",
			     events->folder, events->second, host, (int)getpid()) >= sizeof(events->path))
		return error_set(err, -ENAMETOOLONG, "%s: too long a name", events->folder);
	events->bytes = events->first_bytes = 0;
	events->fd = open(events->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
	if (events->fd < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", events->path, strerror(errno));
	tfevents_begin(&version, 0);
	wire_string(&version, EVENT_FILE_VERSION, FILE_VERSION);
	if ((r = tfevents_append(events, &version, err)) < 0 || (r = sync_folder(events->folder, err)) < 0) {
		(void)unlink(events->path);
		close_fd(&events->fd);
		return r;
	}
	events->first_bytes = events->bytes;
	return 0;
}

/* Continues in a new file. The full file is synced first and then never changes. If the new file cannot be
 * made, the full one stays open. */
static int open_next(struct tfevents *events, struct error *err)
{
	struct tfevents next = *events;
	const uint64_t now = (uint64_t)now_s();
	int r = tfevents_sync(events, err);

	next.second = now > events->second ? now : events->second + 1;
	if (r == 0)
		r = make_file(&next, err);
	if (r < 0)
		return r;
	close_fd(&events->fd);
	*events = next;
	return 0;
}

int tfevents_open(const char *folder, uint64_t segment_bytes, struct tfevents **ret_events, struct error *err)
{
	CLEANUP(tfevents_closep) struct tfevents *events = calloc(1, sizeof(*events));
	int r;

	if (!events)
		return error_set(err, -ENOMEM, "%s: no memory", folder);
	events->fd = -1;
	events->segment_bytes = segment_bytes;
	(void)snprintf(events->folder, sizeof(events->folder), "%s", folder);
	if ((r = next_second(folder, &events->second, err)) < 0 || (r = make_file(events, err)) < 0)
		return r;
	*ret_events = TAKE(events);
	return 0;
}

void tfevents_close(struct tfevents *events)
{
	if (!events)
		return;
	close_fd(&events->fd);
	free(events);
}

void tfevents_closep(struct tfevents **events)
{
	tfevents_close(*events);
}
