/* SPDX-License-Identifier: Apache-2.0 */
/* store_poll() reads the file itself, for one request per call. No other thread is used: a read from the page
 * cache takes less time than handing the request over. */
#include "drivers/store/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

/* ---- Reading ---- */

static int check_pin(const char *path, int fd, const struct store_pin *pin, struct error *err)
{
	struct store_pin now;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, -EIO, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -ENOENT, "%s: not a regular file", path);
	if (!pin)
		return 0;
	file_pin_of(&st, &now);
	if (now.bytes != pin->bytes || (pin->etag[0] && strcmp(now.etag, pin->etag) != 0))
		return error_set(err, -ESTALE,
				 "%s changed: pinned %" PRIu64 " bytes, %s; found %" PRIu64 " bytes, %s",
				 path, pin->bytes, pin->etag, now.bytes, now.etag);
	return 0;
}

static int open_pinned(struct file_store *file, const char *key, const struct store_pin *pin,
		       char path[static FILE_PATH_BYTES], int *ret_fd, struct error *err)
{
	int r = file_key_path(file, key, path, err);

	if (r < 0)
		return r;
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_set(err, errno == ENOTDIR ? -ENOENT : -errno, "%s: %s", path, strerror(errno));
	r = check_pin(path, fd, pin, err);
	if (r < 0)
		return r;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int read_range(const char *path, int fd, uint64_t offset, char *buffer, uint64_t bytes,
		      struct error *err)
{
	for (uint64_t done = 0; done < bytes;) {
		ssize_t got = pread(fd, buffer + done, bytes - done, (off_t)(offset + done));

		if (got < 0)
			return error_set(err, -EIO, "%s: reading at byte %" PRIu64 ": %s", path,
					 offset + done, strerror(errno));
		if (got == 0)
			return error_set(err, -ERANGE,
					 "%s: asked for bytes %" PRIu64 " to %" PRIu64 ", it has %" PRIu64,
					 path, offset, offset + bytes, offset + done);
		done += (uint64_t)got;
	}
	return 0;
}

/* Compares the pin before and after the read: a process that writes to the file meanwhile changes its mtime.
 */
static int serve(struct file_store *file, struct store_request *request)
{
	CLEANUP(close_fd) int fd = -1;
	char path[FILE_PATH_BYTES];
	int r = open_pinned(file, request->key, request->pin, path, &fd, &request->err);

	file->counters.requests++;
	if (r == 0)
		r = read_range(path, fd, request->offset, request->buffer, request->bytes, &request->err);
	if (r == 0)
		r = check_pin(path, fd, request->pin, &request->err);
	if (r == 0)
		file->counters.bytes_in += request->bytes;
	return r;
}

static int file_stat(struct store *store, const char *key, struct store_object *ret_object, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char path[FILE_PATH_BYTES];
	struct stat st;
	int r = open_pinned(file_store_of(store), key, NULL, path, &fd, err);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return error_set(err, -EIO, "%s: %s", path, strerror(errno));
	(void)snprintf(ret_object->key, sizeof(ret_object->key), "%s", key);
	ret_object->mtime_s = st.st_mtim.tv_sec;
	file_pin_of(&st, &ret_object->pin);
	return 0;
}

static int file_get_all(struct store *store, const char *key, uint64_t max, char **ret_data,
			uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct store_object object = { 0 };
	int r = file_stat(store, key, &object, err);

	if (r < 0)
		return r;
	if (object.pin.bytes > max)
		return error_set(err, -EFBIG, "%s/%s: %" PRIu64 " bytes, at most %" PRIu64 " are expected",
				 store->url, key, object.pin.bytes, max);
	data = malloc(object.pin.bytes + 1);
	if (!data)
		return error_set(err, -ENOMEM, "%s/%s: no memory for %" PRIu64 " bytes", store->url, key,
				 object.pin.bytes);
	r = store_get(store, key, &object.pin, 0, data, object.pin.bytes, err);
	if (r < 0)
		return r;
	data[object.pin.bytes] = 0;
	*ret_bytes = object.pin.bytes;
	*ret_data = TAKE(data);
	return 0;
}

/* ---- Requests ---- */

static int file_submit(struct store *store, struct store_request *request, struct error *err)
{
	struct file_store *file = file_store_of(store);

	(void)err;
	if (file->queue)
		file->queue_last->next = request;
	else
		file->queue = request;
	file->queue_last = request;
	return 0;
}

static int file_drive(struct store *store, uint32_t timeout_ms, const struct store_request *until,
		      struct error *err)
{
	struct file_store *file = file_store_of(store);
	struct pollfd wake = { .fd = file->wake_fd, .events = POLLIN };
	uint64_t count;

	(void)err;
	if (!file->queue) {
		if (poll(&wake, 1, (int)timeout_ms) == 1)
			(void)!read(file->wake_fd, &count, sizeof(count));
		return 0;
	}
	for (struct store_request *request = NULL;
	     file->queue && (!request || (until && request != until));) {
		request = file->queue;
		file->queue = request->next;
		store_complete(store, request, serve(file, request));
	}
	return 0;
}

static void file_wake(struct store *store)
{
	uint64_t one = 1;

	(void)!write(file_store_of(store)->wake_fd, &one, sizeof(one));
}

static void file_cancel(struct store *store, struct store_request *request)
{
	struct file_store *file = file_store_of(store);
	struct store_request *before = NULL;

	for (struct store_request *at = file->queue; at != request; at = at->next)
		before = at;
	if (before)
		before->next = request->next;
	else
		file->queue = request->next;
	if (file->queue_last == request)
		file->queue_last = before;
}

static void file_cancel_all(struct store *store)
{
	struct file_store *file = file_store_of(store);

	while (file->queue) {
		struct store_request *request = file->queue;

		file->queue = request->next;
		store_complete(store, request, -ECANCELED);
	}
}

static struct store_counters file_counters(const struct store *store)
{
	return ((const struct file_store *)store)->counters;
}

/* ---- Open and close ---- */

static void file_close(struct store *store)
{
	struct file_store *file = file_store_of(store);

	close_fd(&file->wake_fd);
	free(store->url);
	free(file);
}

static const struct store_ops file_ops = {
	.close = file_close,
	.list = file_list,
	.list_versions = file_list,
	.stat = file_stat,
	.get_all = file_get_all,
	.put = file_put,
	.put_file = file_put_file,
	.abort_stale = file_abort_stale,
	.delete = file_delete,
	.submit = file_submit,
	.drive = file_drive,
	.wake = file_wake,
	.cancel = file_cancel,
	.cancel_all = file_cancel_all,
	.counters = file_counters,
};

int store_file_open(const struct config_store *where, const struct store_options *options,
		    struct store **ret_store, struct error *err)
{
	const char *root = where->url + sizeof("file://") - 1;
	size_t bytes = strlen(root);
	struct file_store *file;

	while (bytes > 1 && root[bytes - 1] == '/')
		bytes--;
	if (bytes >= sizeof(file->root))
		return error_set(err, -EINVAL, "store URL '%s': the folder's name is longer than %zu bytes",
				 where->url, sizeof(file->root) - 1);
	file = calloc(1, sizeof(*file));
	if (!file)
		return error_set(err, -ENOMEM, "no memory for a store");
	file->store = (struct store){ .ops = &file_ops,
				      .url = strndup(where->url, sizeof("file://") - 1 + bytes),
				      .options = *options };
	(void)snprintf(file->root, sizeof(file->root), "%.*s", bytes > 1 ? (int)bytes : 0, root);
	file->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (file->wake_fd < 0 || !file->store.url) {
		file_close(&file->store);
		return error_set(err, -errno, "opening the store: %s", strerror(errno));
	}
	*ret_store = &file->store;
	return 0;
}
