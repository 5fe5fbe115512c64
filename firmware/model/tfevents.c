/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tfevents.h"

#include "core/paths.h"
#include "data/tfrecord.h"
#include "model/wire.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define PREFIX      "events.out.tfevents."
#define EVENT_BYTES 512u
#define HOST_BYTES  65u

/* Field numbers. */
enum {
	EVENT_WALL_TIME = 1,
	EVENT_STEP = 2,
	EVENT_FILE_VERSION = 3,
	EVENT_SUMMARY = 5,
	EVENT_SESSION_LOG = 7
};
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE_VALUE = 2 };
enum { SESSION_LOG_STATUS = 1, SESSION_LOG_START = 1 };

struct tfevents {
	int fd;
	uint64_t bytes; /* whole records in the file */
	char path[PATH_BYTES];
};

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A record cut short would hide all that follow it: take it back. */
static int cut_back(struct tfevents *events, int code, struct error *err)
{
	(void)!ftruncate(events->fd, (off_t)events->bytes);
	return error_set(err, code, "%s: cannot append at byte %" PRIu64 ": %s", events->path, events->bytes,
			 strerror(-code));
}

/* Every buffer below holds its message for tags of TFEVENTS_TAG_MAX. */
static int append(struct tfevents *events, const struct wire *event, struct error *err)
{
	uint8_t frame[EVENT_BYTES + TFRECORD_FRAME_BYTES];
	uint64_t bytes;
	ssize_t written;

	if (event->bytes > event->capacity)
		return error_set(err, -EINVAL, "%s: an event of %" PRIu64 " bytes, at most %" PRIu64,
				 events->path, event->bytes, event->capacity);
	bytes = tfrecord_frame(event->data, event->bytes, frame);
	written = write(events->fd, frame, bytes);
	if (written < 0)
		return cut_back(events, -errno, err);
	if ((uint64_t)written < bytes)
		return cut_back(events, -ENOSPC, err);
	if (fdatasync(events->fd) < 0)
		return cut_back(events, -errno, err);
	events->bytes += bytes;
	return 0;
}

/* Wall time and step, which every event begins with; a step of 0 is not written, as protobuf does. */
static void begin_event(struct wire *event, uint64_t step)
{
	wire_double(event, EVENT_WALL_TIME, now_s());
	if (step)
		wire_varint(event, EVENT_STEP, step);
}

int tfevents_session_start(struct tfevents *events, uint64_t step, struct error *err)
{
	uint8_t bytes[EVENT_BYTES], log_bytes[8];
	struct wire event = { bytes, sizeof(bytes), 0 }, log = { log_bytes, sizeof(log_bytes), 0 };

	wire_varint(&log, SESSION_LOG_STATUS, SESSION_LOG_START);
	begin_event(&event, step);
	wire_bytes(&event, EVENT_SESSION_LOG, log.data, log.bytes);
	return append(events, &event, err);
}

int tfevents_scalar(struct tfevents *events, const char *tag, uint64_t step, float value, struct error *err)
{
	uint8_t bytes[EVENT_BYTES], summary_bytes[EVENT_BYTES / 2 + 8], value_bytes[EVENT_BYTES / 2];
	struct wire event = { bytes, sizeof(bytes), 0 },
		    summary = { summary_bytes, sizeof(summary_bytes), 0 },
		    point = { value_bytes, sizeof(value_bytes), 0 };

	if (strlen(tag) > TFEVENTS_TAG_MAX)
		return error_set(err, -EINVAL, "%s: a tag of %zu bytes, at most %u", events->path,
				 strlen(tag), TFEVENTS_TAG_MAX);
	wire_string(&point, VALUE_TAG, tag);
	wire_float(&point, VALUE_SIMPLE_VALUE, value);
	wire_bytes(&summary, SUMMARY_VALUE, point.data, point.bytes);
	begin_event(&event, step);
	wire_bytes(&event, EVENT_SUMMARY, summary.data, summary.bytes);
	return append(events, &event, err);
}

/* ---- Open ---- */

/* Seconds for the next name: those of now, but behind every file that is there, also when a process was
 * restarted within a second or the clock was set back. */
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

int tfevents_open(const char *folder, struct tfevents **ret_events, struct error *err)
{
	CLEANUP(tfevents_closep) struct tfevents *events = calloc(1, sizeof(*events));
	uint8_t bytes[EVENT_BYTES];
	struct wire version = { bytes, sizeof(bytes), 0 };
	char host[HOST_BYTES] = "";
	uint64_t second = 0;
	int r;

	if (!events)
		return error_set(err, -ENOMEM, "%s: no memory", folder);
	events->fd = -1;
	r = next_second(folder, &second, err);
	if (r < 0)
		return r;
	if (gethostname(host, sizeof(host) - 1) < 0 || !*host)
		(void)snprintf(host, sizeof(host), "kiln");
	if ((size_t)snprintf(events->path, sizeof(events->path), "%s/" PREFIX "%010" PRIu64 ".%s.%d.0.v2",
			     folder, second, host, (int)getpid()) >= sizeof(events->path))
		return error_set(err, -ENAMETOOLONG, "%s: too long a name", folder);
	events->fd = open(events->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
	if (events->fd < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", events->path, strerror(errno));
	begin_event(&version, 0);
	wire_string(&version, EVENT_FILE_VERSION, "brain.Event:2");
	if ((r = append(events, &version, err)) < 0 || (r = sync_folder(folder, err)) < 0) {
		(void)unlink(events->path);
		return r;
	}
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
