/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/digest/digest.h"
#include "drivers/store/backend.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* pauses of store_stat_put(): 0.2, 0.4 ... 6.4 s */
#define PUT_PAUSE_US     200000u
#define PUT_PAUSE_US_MAX 6400000u

void store_close(struct store *store)
{
	if (!store)
		return;
	store_cancel_all(store);
	store->ops->close(store);
}

void store_closep(struct store **store)
{
	store_close(*store);
}

const char *store_url(const struct store *store)
{
	return store->url;
}

struct store_pin store_pin_make(uint64_t bytes, const char *etag, const char *version)
{
	struct store_pin pin = { .bytes = bytes };

	(void)snprintf(pin.etag, sizeof(pin.etag), "%s", etag);
	(void)snprintf(pin.version, sizeof(pin.version), "%s", version);
	return pin;
}

struct store_counters store_counters_of(const struct store *store)
{
	return store->ops->counters(store);
}

const char *store_counters_text(const struct store_counters *counters, char out[static STORE_COUNTERS_TEXT])
{
	(void)snprintf(out, STORE_COUNTERS_TEXT,
		       "requests=%" PRIu64 " bytes_in=%" PRIu64 " bytes_out=%" PRIu64 " connections=%" PRIu64
		       " at_once=%" PRIu64 " hedged=%" PRIu64 " won=%" PRIu64 " retries: connect=%" PRIu64
		       " timeout=%" PRIu64 " reset=%" PRIu64 " server=%" PRIu64 " slow_down=%" PRIu64
		       " malformed=%" PRIu64,
		       counters->requests, counters->bytes_in, counters->bytes_out, counters->connections,
		       counters->at_once, counters->hedged, counters->hedges_won, counters->retries_connect,
		       counters->retries_timeout, counters->retries_reset, counters->retries_server,
		       counters->retries_slow_down, counters->retries_malformed);
	return out;
}

void store_counters_add(struct store_counters *sum, const struct store_counters *more)
{
	sum->requests += more->requests;
	sum->bytes_in += more->bytes_in;
	sum->bytes_out += more->bytes_out;
	sum->connections += more->connections;
	sum->at_once += more->at_once;
	sum->hedged += more->hedged;
	sum->hedges_won += more->hedges_won;
	sum->retries_connect += more->retries_connect;
	sum->retries_timeout += more->retries_timeout;
	sum->retries_reset += more->retries_reset;
	sum->retries_server += more->retries_server;
	sum->retries_slow_down += more->retries_slow_down;
	sum->retries_malformed += more->retries_malformed;
}

uint64_t store_counters_retries(const struct store_counters *counters)
{
	return counters->retries_connect + counters->retries_timeout + counters->retries_reset +
	       counters->retries_server + counters->retries_slow_down + counters->retries_malformed;
}

int store_list(struct store *store, const char *glob,
	       int (*each)(void *context, const struct store_object *object), void *context,
	       struct error *err)
{
	return store->ops->list(store, glob, each, context, err);
}

int store_list_versions(struct store *store, const char *glob,
			int (*each)(void *context, const struct store_object *object), void *context,
			struct error *err)
{
	return store->ops->list_versions(store, glob, each, context, err);
}

const char *store_versions_refused(const struct store *store)
{
	return store->ops->versions_refused ? store->ops->versions_refused(store) : NULL;
}

int store_stat(struct store *store, const char *key, struct store_object *ret_object, struct error *err)
{
	return store->ops->stat(store, key, ret_object, err);
}

int store_stat_put(struct store *store, const char *key, struct store_object *ret_object, struct error *err)
{
	char text[STORE_KEY_MAX + 512];
	int r;

	for (useconds_t pause_us = PUT_PAUSE_US;; pause_us *= 2) {
		r = store_stat(store, key, ret_object, err);
		if (r != -ENOENT || pause_us > PUT_PAUSE_US_MAX)
			break;
		(void)usleep(pause_us);
	}
	if (r != -ENOENT)
		return r;
	(void)snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, err ? err->text : "");
	return error_set(err, -EIO, "%s, right after the upload", text);
}

int store_get_all(struct store *store, const char *key, uint64_t max, char **ret_data, uint64_t *ret_bytes,
		  struct error *err)
{
	return store->ops->get_all(store, key, max, ret_data, ret_bytes, err);
}

int store_put(struct store *store, const char *key, const void *data, uint64_t bytes, struct error *err)
{
	return store->ops->put(store, key, data, bytes, false, err);
}

/* Asks for an object that was put just now, and compares its size. */
static int check_put(struct store *store, const char *key, uint64_t sent, struct store_object *ret_object,
		     struct error *err)
{
	struct store_object object;
	int r = store_stat_put(store, key, &object, err);

	if (r == 0 && object.pin.bytes != sent)
		return error_set(err, -EIO, "%s/%s: sent %" PRIu64 " bytes, the store has %" PRIu64,
				 store->url, key, sent, object.pin.bytes);
	if (r == 0 && ret_object)
		*ret_object = object;
	return r;
}

int store_put_checked(struct store *store, const char *key, const void *data, uint64_t bytes,
		      struct store_object *ret_object, struct error *err)
{
	int r = store_put(store, key, data, bytes, err);

	return r < 0 ? r : check_put(store, key, bytes, ret_object, err);
}

/* Returns 0 where the object has exactly these bytes: then our own put may have succeeded, and only its
 * answer was lost. */
static int holds(struct store *store, const char *key, const void *data, uint64_t bytes, struct error *err)
{
	CLEANUP(free_ptr) char *there = NULL;
	uint64_t there_bytes = 0;
	int r = store_get_all(store, key, bytes, &there, &there_bytes, err);

	if (r == -EFBIG || (r == 0 && (there_bytes != bytes || memcmp(there, data, bytes) != 0)))
		return error_set(err, -EEXIST, "%s/%s: an object with other bytes exists already", store->url,
				 key);
	return r;
}

int store_put_new(struct store *store, const char *key, const void *data, uint64_t bytes, struct error *err)
{
	int r = store->ops->put(store, key, data, bytes, true, err);

	return r == -EEXIST ? holds(store, key, data, bytes, err) : r;
}

int store_put_file(struct store *store, const char *key, const char *path, char *ret_sha256_hex,
		   uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t sha256[32];
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s: not a regular file", path);
	r = store->ops->put_file(store, key, fd, (uint64_t)st.st_size, ret_sha256_hex ? sha256 : NULL, err);
	if (r == 0)
		r = check_put(store, key, (uint64_t)st.st_size, NULL, err);
	if (r == 0 && ret_sha256_hex)
		digest_hex(sha256, sizeof(sha256), ret_sha256_hex);
	if (r == 0 && ret_bytes)
		*ret_bytes = (uint64_t)st.st_size;
	return r;
}

int store_abort_stale(struct store *store, struct error *err)
{
	return store->ops->abort_stale(store, err);
}

int store_delete(struct store *store, const char *key, struct error *err)
{
	return store->ops->delete (store, key, err);
}
