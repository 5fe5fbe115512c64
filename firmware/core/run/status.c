/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/status.h"
#include "core/base/clock.h"
#include "core/base/paths.h"
#include "core/base/slot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define COPY_BYTES 8192 /* each copy has pages of its own */

struct copy {
	uint64_t sequence;
	uint32_t crc, reserved; /* crc of `sequence` and `status` */
	struct status status;
};
static_assert(sizeof(struct copy) <= COPY_BYTES, "a copy fits its pages");

struct status_page {
	enum status_daemon daemon;
	int fd;
	uint64_t sequence, started_us;
};

static struct {
	char text[sizeof(((struct status *)NULL)->degraded)];
	_Atomic bool is;
} degraded;

static const char *const names[STATUS_DAEMONS] = { "fetchd", "traind", "uploadd" };

const char *status_daemon_name(enum status_daemon daemon)
{
	return names[daemon];
}

const char *status_stage_name(enum stall_stage stage)
{
	static const char *const stages[] = { "list",    "cache",      "queue",    "retry",
					      "connect", "first_byte", "transfer", "worker",
					      "inflate", "parse",      "gather",   "decode" };
	static_assert(sizeof(stages) / sizeof(stages[0]) == STALL_STAGES, "a name for each stage");

	return stages[stage];
}

static uint32_t crc_of(const struct copy *copy)
{
	uLong crc = crc32(0, (const Bytef *)&copy->sequence, sizeof(copy->sequence));

	return (uint32_t)crc32(crc, (const Bytef *)&copy->status, sizeof(copy->status));
}

static bool read_copy(int fd, int which, struct copy *copy)
{
	return pread(fd, copy, sizeof(*copy), (off_t)which * COPY_BYTES) == (ssize_t)sizeof(*copy) &&
	       copy->crc == crc_of(copy);
}

/* Reads the newest complete copy. Returns false where no copy is complete. */
static bool newest(int fd, struct copy *ret_copy)
{
	struct copy copy[2];
	bool whole[2] = { read_copy(fd, 0, &copy[0]), read_copy(fd, 1, &copy[1]) };

	if (!whole[0] && !whole[1])
		return false;
	*ret_copy = !whole[1] || (whole[0] && copy[0].sequence > copy[1].sequence) ? copy[0] : copy[1];
	return true;
}

/* kiln-uploadd works for all slots. */
static enum path root_of(enum status_daemon daemon)
{
	return daemon == STATUS_UPLOADD ? PATH_STATUS : PATH_SLOT_STATUS;
}

char *status_path(enum status_daemon daemon, const char *file, char out[static PATH_BYTES])
{
	char tail[64], rank[32] = "";

	if (slot_rank())
		(void)snprintf(rank, sizeof(rank), "/rank-%u", slot_rank());
	(void)snprintf(tail, sizeof(tail), "%s%s%s%s", names[daemon], rank, file ? "/" : "",
		       file ? file : "");
	return path_of(root_of(daemon), tail, out);
}

static char *page_path(enum status_daemon daemon, char out[static PATH_BYTES])
{
	return status_path(daemon, "page", out);
}

int status_open(enum status_daemon daemon, struct status_page **ret_page, struct error *err)
{
	CLEANUP(status_closep) struct status_page *page = calloc(1, sizeof(*page));
	char path[PATH_BYTES];
	struct copy copy;
	int r;

	if (!page)
		return error_set(err, -ENOMEM, "no memory for a status page");
	page->fd = -1;
	r = path_make(status_path(daemon, NULL, path), err);
	if (r < 0)
		return r;
	page->fd = open(page_path(daemon, path), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (page->fd < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	page->daemon = daemon;
	page->started_us = clock_day_us();
	page->sequence = newest(page->fd, &copy) ? copy.sequence : 0;
	*ret_page = page;
	page = NULL;
	return 0;
}

void status_closep(struct status_page **page)
{
	if (!*page)
		return;
	if ((*page)->fd >= 0)
		(void)close((*page)->fd);
	free(*page);
	*page = NULL;
}

void status_set_degraded(const char *text)
{
	if (*text)
		(void)snprintf(degraded.text, sizeof(degraded.text), "%s", text);
	atomic_store(&degraded.is, *text != '\0');
}

void status_write(struct status_page *page, struct status *status)
{
	struct copy copy = { .sequence = ++page->sequence };

	status->version = STATUS_VERSION;
	status->daemon = page->daemon;
	status->pid = getpid();
	status->started_us = page->started_us;
	status->updated_us = clock_day_us();
	(void)snprintf(status->degraded, sizeof(status->degraded), "%s",
		       atomic_load(&degraded.is) ? degraded.text : "");
	memcpy(&copy.status, status, sizeof(copy.status)); /* copies the padding, too, which the CRC covers */
	copy.crc = crc_of(&copy);
	(void)!pwrite(page->fd, &copy, sizeof(copy), (off_t)(copy.sequence & 1) * COPY_BYTES);
}

/* A page that somebody else wrote may have too many ranks, and texts without an end. */
static void bound(struct status_traind *traind)
{
	if (traind->ranks > STATUS_RANKS_MAX)
		traind->ranks = STATUS_RANKS_MAX;
	traind->device[sizeof(traind->device) - 1] = '\0';
	for (uint32_t i = 0; i < STATUS_RANKS_MAX; i++) {
		traind->rank[i].host[sizeof(traind->rank[i].host) - 1] = '\0';
		traind->rank[i].device[sizeof(traind->rank[i].device) - 1] = '\0';
	}
}

int status_read(enum status_daemon daemon, struct status *ret_status, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char path[PATH_BYTES];
	struct copy copy;

	fd = open(page_path(daemon, path), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	if (!newest(fd, &copy))
		return error_set(err, -EBADMSG, "%s: neither copy is whole", path);
	if (copy.status.version != STATUS_VERSION || copy.status.daemon != daemon)
		return error_set(err, -EBADMSG,
				 "%s: found version %u of daemon %u, expected version %u of daemon %u", path,
				 copy.status.version, copy.status.daemon, STATUS_VERSION, daemon);
	*ret_status = copy.status;
	ret_status->run_id[sizeof(ret_status->run_id) - 1] = '\0';
	ret_status->phase[sizeof(ret_status->phase) - 1] = '\0';
	ret_status->text[sizeof(ret_status->text) - 1] = '\0';
	ret_status->degraded[sizeof(ret_status->degraded) - 1] = '\0';
	if (daemon == STATUS_TRAIND)
		bound(&ret_status->traind);
	return 0;
}
