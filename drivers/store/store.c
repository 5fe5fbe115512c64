/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/digest/digest.h"
#include "drivers/store/backend.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <mbedtls/md5.h>
#include <mbedtls/sha256.h>

#define CONNECTIONS_DEFAULT   8u
#define CONNECT_TIMEOUT_MS    10000u
#define LOW_SPEED_BYTES_PER_S 1024u
#define LOW_SPEED_S           30u
#define ATTEMPTS_MAX          8u
#define PART_BYTES_DEFAULT    (8u << 20)
#define PART_BYTES_MIN        (5u << 20) /* S3 API, "Amazon S3 multipart upload limits" */
#define HASH_CHUNK_BYTES      (256u << 10)
#define FILE_REQUESTS_MAX     4u
#define REQUEST_IN_FLIGHT     1

static void default_u64(uint64_t *value, uint64_t fallback)
{
	if (!*value)
		*value = fallback;
}

struct store_options store_options_of(const struct config *config)
{
	return (struct store_options){ .connect_timeout_ms = config->fetch.connect_timeout_ms,
				       .low_speed_bytes_per_s = config->fetch.low_speed_bytes_per_s,
				       .low_speed_s = config->fetch.low_speed_s,
				       .attempts_max = (uint32_t)config->fetch.attempts_max };
}

static struct store_options with_defaults(const struct store_options *given)
{
	struct store_options options = given ? *given : (struct store_options){ 0 };

	if (!options.connections)
		options.connections = CONNECTIONS_DEFAULT;
	if (!options.attempts_max)
		options.attempts_max = ATTEMPTS_MAX;
	default_u64(&options.connect_timeout_ms, CONNECT_TIMEOUT_MS);
	default_u64(&options.low_speed_bytes_per_s, LOW_SPEED_BYTES_PER_S);
	default_u64(&options.low_speed_s, LOW_SPEED_S);
	default_u64(&options.part_bytes, PART_BYTES_DEFAULT);
	if (options.part_bytes < PART_BYTES_MIN)
		options.part_bytes = PART_BYTES_MIN;
	return options;
}

int store_open(const struct config_store *where, const struct store_options *options,
	       struct store **ret_store, struct error *err)
{
	struct store_options full = with_defaults(options);
	int r = config_store_check(where, err);

	if (r < 0)
		return r;
	return strncmp(where->url, "s3://", 5) == 0 ? store_s3_open(where, &full, ret_store, err)
						    : store_file_open(where, &full, ret_store, err);
}

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

struct store_counters store_counters_of(const struct store *store)
{
	return store->ops->counters(store);
}

const char *store_counters_text(const struct store_counters *counters, char out[static STORE_COUNTERS_TEXT])
{
	(void)snprintf(out, STORE_COUNTERS_TEXT,
		       "requests=%" PRIu64 " bytes_in=%" PRIu64 " bytes_out=%" PRIu64 " connections=%" PRIu64
		       " at_once=%" PRIu64 " hedged=%" PRIu64 " won=%" PRIu64 " retries: connect=%" PRIu64
		       " timeout=%" PRIu64 " reset=%" PRIu64 " server=%" PRIu64 " slow_down=%" PRIu64,
		       counters->requests, counters->bytes_in, counters->bytes_out, counters->connections,
		       counters->at_once, counters->hedged, counters->hedges_won, counters->retries_connect,
		       counters->retries_timeout, counters->retries_reset, counters->retries_server,
		       counters->retries_slow_down);
	return out;
}

uint64_t store_counters_retries(const struct store_counters *counters)
{
	return counters->retries_connect + counters->retries_timeout + counters->retries_reset +
	       counters->retries_server + counters->retries_slow_down;
}

int store_list(struct store *store, const char *glob,
	       int (*each)(void *context, const struct store_object *object), void *context,
	       struct error *err)
{
	return store->ops->list(store, glob, each, context, err);
}

int store_stat(struct store *store, const char *key, struct store_object *ret_object, struct error *err)
{
	return store->ops->stat(store, key, ret_object, err);
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

/* Whether a put succeeded whose answer was lost, the object tells. */
static int is_of_these(struct store *store, const char *key, const void *data, uint64_t bytes,
		       struct error *err)
{
	CLEANUP(free_ptr) char *there = NULL;
	uint64_t there_bytes = 0;
	int rc = store_get_all(store, key, bytes, &there, &there_bytes, err);

	if (rc == -EFBIG || (rc == 0 && (there_bytes != bytes || memcmp(there, data, bytes) != 0)))
		return error_set(err, -EEXIST, "%s/%s: there is one already", store->url, key);
	return rc;
}

int store_put_new(struct store *store, const char *key, const void *data, uint64_t bytes, struct error *err)
{
	int rc = store->ops->put(store, key, data, bytes, true, err);

	return rc == -EEXIST ? is_of_these(store, key, data, bytes, err) : rc;
}

int store_put_file(struct store *store, const char *key, const char *path, char *ret_sha256_hex,
		   struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t sha256[32];
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s: not a regular file", path);
	rc = store->ops->put_file(store, key, fd, (uint64_t)st.st_size, ret_sha256_hex ? sha256 : NULL, err);
	if (rc == 0 && ret_sha256_hex)
		digest_hex(sha256, sizeof(sha256), ret_sha256_hex);
	return rc;
}

int store_abort_stale(struct store *store, struct error *err)
{
	return store->ops->abort_stale(store, err);
}

int store_delete(struct store *store, const char *key, struct error *err)
{
	return store->ops->delete (store, key, err);
}

/* ---- Requests ---- */

int store_submit(struct store *store, struct store_request *request, struct error *err)
{
	request->result = REQUEST_IN_FLIGHT;
	request->next = NULL;
	return store->ops->submit(store, request, err);
}

bool store_is_in_flight(const struct store_request *request)
{
	return request->result == REQUEST_IN_FLIGHT;
}

void store_awake(const struct store *store)
{
	if (store->options.awake)
		store->options.awake(store->options.awake_context);
}

void store_complete(struct store *store, struct store_request *request, int result)
{
	request->result = result;
	request->next = NULL;
	if (store->done)
		store->done_last->next = request;
	else
		store->done = request;
	store->done_last = request;
}

static struct store_request *take_done(struct store *store, const struct store_request *which)
{
	struct store_request *before = NULL, *request = store->done;

	while (request && which && request != which) {
		before = request;
		request = request->next;
	}
	if (!request)
		return NULL;
	if (before)
		before->next = request->next;
	else
		store->done = request->next;
	if (store->done_last == request)
		store->done_last = before;
	request->next = NULL;
	return request;
}

int store_poll(struct store *store, uint32_t timeout_ms, struct store_request **ret_done, struct error *err)
{
	int rc;

	*ret_done = take_done(store, NULL);
	if (*ret_done)
		return 0;
	rc = store->ops->drive(store, timeout_ms, NULL, err);
	*ret_done = take_done(store, NULL);
	return rc;
}

void store_wake(struct store *store)
{
	store->ops->wake(store);
}

bool store_cancel(struct store *store, struct store_request *request)
{
	if (request->result == REQUEST_IN_FLIGHT)
		store->ops->cancel(store, request);
	else if (!take_done(store, request))
		return false;
	request->result = error_set(&request->err, -ECANCELED, "given up");
	return true;
}

void store_cancel_all(struct store *store)
{
	store->ops->cancel_all(store);
	for (struct store_request *request; (request = take_done(store, NULL));)
		request->result = error_set(&request->err, -ECANCELED, "given up");
}

/* Drive until `request` is completed; others that complete meanwhile stay queued for store_poll(). */
static int wait_for(struct store *store, struct store_request *request, struct error *err)
{
	while (request->result == REQUEST_IN_FLIGHT) {
		int rc = store->ops->drive(store, 1000, request, err);

		store_awake(store);
		if (rc < 0) {
			store_cancel_all(store); /* the request may lie on our caller's stack */
			return rc;
		}
	}
	(void)take_done(store, request);
	if (request->result < 0 && err)
		*err = request->err;
	return request->result;
}

int store_get(struct store *store, const char *key, const struct store_pin *pin, uint64_t offset,
	      void *buffer, uint64_t bytes, struct error *err)
{
	struct store_request request = {
		.key = key, .pin = pin, .offset = offset, .buffer = buffer, .bytes = bytes
	};
	int rc = store_submit(store, &request, err);

	return rc < 0 ? rc : wait_for(store, &request, err);
}

/* ---- An object into a file ---- */

/* Fetch [0, object->pin.bytes) into memory by parts, a few at once. All are completed when this returns. */
static int get_parts(struct store *store, const struct store_object *object, const char *key, char *memory,
		     struct error *err)
{
	struct store_request requests[FILE_REQUESTS_MAX];
	uint64_t part = store->options.part_bytes, parts = (object->pin.bytes + part - 1) / part;
	uint64_t next = 0, waited = 0;
	int result = 0;

	while (waited < next || (next < parts && result == 0)) {
		struct store_request *request = &requests[next % FILE_REQUESTS_MAX];
		int rc;

		if (next < parts && result == 0 && next - waited < FILE_REQUESTS_MAX) {
			uint64_t offset = next * part, left = object->pin.bytes - offset;

			*request = (struct store_request){ .key = key,
							   .pin = &object->pin,
							   .offset = offset,
							   .buffer = memory + offset,
							   .bytes = left < part ? left : part };
			rc = store_submit(store, request, err);
			next += rc == 0;
		} else {
			rc = wait_for(store, &requests[waited++ % FILE_REQUESTS_MAX], result ? NULL : err);
		}
		if (rc < 0 && result == 0)
			result = rc;
	}
	return result;
}

/* The blocks are reserved before they are mapped, so that a full disk is an error here and not a SIGBUS
 * later. */
static int get_into(struct store *store, const struct store_object *object, const char *key, int fd,
		    struct error *err)
{
	uint64_t bytes = object->pin.bytes;
	char *memory;
	int rc;

	if (!bytes)
		return 0;
	rc = posix_fallocate(fd, 0, (off_t)bytes);
	if (rc)
		return error_set(err, -rc, "%" PRIu64 " bytes: %s", bytes, strerror(rc));
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return error_set(err, -errno, "mapping %" PRIu64 " bytes: %s", bytes, strerror(errno));
	rc = get_parts(store, object, key, memory, err);
	(void)munmap(memory, bytes);
	return rc;
}

static int sync_parent(const char *path)
{
	char directory[4096];
	char *slash;

	(void)snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = 0;
	CLEANUP(close_fd) int fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int store_get_file(struct store *store, const char *key, const char *path, struct error *err)
{
	char temporary[4096];
	struct store_object object;
	int rc = store_stat(store, key, &object, err);

	if (rc < 0)
		return rc;
	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
		return error_set(err, -ENAMETOOLONG, "%s: the path is too long", path);
	CLEANUP(close_fd) int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_set(err, -errno, "%s: %s", temporary, strerror(errno));
	rc = get_into(store, &object, key, fd, err);
	if (rc == 0 && (fsync(fd) < 0 || rename(temporary, path) < 0 || sync_parent(path) < 0))
		rc = error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (rc < 0)
		(void)unlink(temporary);
	return rc;
}

/* ---- What both backends use ---- */

size_t store_glob_literal(const char *glob)
{
	return glob ? strcspn(glob, "*?[\\") : 0;
}

bool store_glob_matches(const char *glob, const char *key)
{
	return !glob || fnmatch(glob, key, 0) == 0;
}

const char *store_key_text(const char *key, char out[static STORE_KEY_TEXT])
{
	char *to = out;

	for (; *key && to < out + STORE_KEY_TEXT - 5; key++) {
		unsigned char c = (unsigned char)*key;

		if (c < 0x20 || c == 0x7f)
			to += sprintf(to, "\\x%02x", c);
		else
			*to++ = *key;
	}
	*to = 0;
	return out;
}

static int hash_chunk(int fd, uint64_t offset, uint64_t bytes, uint8_t *chunk,
		      mbedtls_sha256_context *const sha256[2], mbedtls_md5_context *md5, struct error *err)
{
	size_t want = bytes < HASH_CHUNK_BYTES ? (size_t)bytes : HASH_CHUNK_BYTES;
	ssize_t got = pread(fd, chunk, want, (off_t)offset);

	if (got < 0)
		return error_set(err, -EIO, "reading the file: %s", strerror(errno));
	if (got == 0)
		return error_set(err, -ESTALE, "the file became shorter: it ends at byte %" PRIu64, offset);
	for (int i = 0; i < 2; i++)
		if (sha256[i])
			(void)mbedtls_sha256_update_ret(sha256[i], chunk, (size_t)got);
	if (md5)
		(void)mbedtls_md5_update_ret(md5, chunk, (size_t)got);
	return (int)got;
}

int store_hash_file(int fd, uint64_t offset, uint64_t bytes, const struct store_hashes *hashes,
		    void (*between)(void *context), void *context, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *chunk = malloc(HASH_CHUNK_BYTES);
	mbedtls_sha256_context sha256;
	mbedtls_md5_context md5;
	int rc = chunk ? 0 : error_set(err, -ENOMEM, "no memory to read a file");

	mbedtls_sha256_init(&sha256);
	mbedtls_md5_init(&md5);
	(void)mbedtls_sha256_starts_ret(&sha256, 0);
	(void)mbedtls_md5_starts_ret(&md5);
	for (uint64_t done = 0; rc >= 0 && done < bytes; done += (uint64_t)rc) {
		rc = hash_chunk(fd, offset + done, bytes - done, chunk,
				(mbedtls_sha256_context *const[2]){ hashes->whole,
								    hashes->ret_sha256 ? &sha256 : NULL },
				hashes->ret_md5 ? &md5 : NULL, err);
		if (rc < 0)
			break;
		if (between)
			between(context);
	}
	if (rc >= 0 && hashes->ret_sha256)
		(void)mbedtls_sha256_finish_ret(&sha256, hashes->ret_sha256);
	if (rc >= 0 && hashes->ret_md5)
		(void)mbedtls_md5_finish_ret(&md5, hashes->ret_md5);
	mbedtls_sha256_free(&sha256);
	mbedtls_md5_free(&md5);
	return rc < 0 ? rc : 0;
}
