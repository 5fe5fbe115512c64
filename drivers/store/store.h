/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Object stores: one interface for two backends, s3://bucket/prefix and file:///dir. Keys are relative to the
 * prefix or folder in the URL. lakefs://repository/ref/prefix is read and written through lakeFS's S3
 * gateway: objects of the branch, tag or commit `where->at`, else of the ref in the URL. A put to a branch
 * stays uncommitted there (drivers/versions).
 *
 * Threads: a store belongs to one thread. It owns one libcurl multi handle, which blocking calls and
 * store_poll() drive; no thread of its own. Only store_wake() may be called from others.
 *
 * Credentials: `where->credential` names a file in systemd's credential directory, else in PATH_CREDENTIALS.
 * "" means AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment; without them
 * requests are not signed. On file:// a key is refused where its path could be outside the folder: empty, "."
 * or ".." segments, control characters.
 *
 * Blocking: store_list*, store_stat, store_get*, store_put*, store_delete, store_abort_stale.
 * Not blocking: start several ranged gets with store_submit(), then call store_poll() until they are
 * completed.
 *
 * Failures: where another attempt may help, it is made inside (drivers/http/retry.h); the caller sees the
 * error only after the last attempt. A slow range may be asked for twice (s3_hedge.h).
 *
 * Crash: an object appears whole or not at all. A killed upload leaves parts that store_abort_stale()
 * removes, or on file:// a temporary file.
 *
 * Errors of every call: -ENOENT no such object or bucket; -EACCES refused; -EKEYREJECTED credentials missing;
 * -ETIME the clock is too far from the server's; -ESTALE the object does not match the pin; after all retries
 * -ENOKEY its certificate does not verify, -EBADMSG its answer makes no sense, -ENONET the network answers in
 * the server's place (a login page, a firewall), -ETIMEDOUT, -ECONNREFUSED, -EIO. The sentence names bucket,
 * key, and the server's code and message.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"
#include "drivers/http/times.h"

#include <stdbool.h>

#define STORE_KEY_MAX     1024u
#define STORE_ETAG_MAX    128u
#define STORE_VERSION_MAX 128u
#define STORE_OBJECT_MAX  ((uint64_t)INT64_MAX) /* bytes of an object; no file has more */
#define STORE_SPARE_BYTES (UINT64_C(16) << 20)  /* for the run record and the journal */

struct store;

struct store_options {
	uint32_t connections; /* concurrent requests at the beginning, 0 = 8 */
	/* Upper bound of concurrent requests. The number rises only while more requests bring more bytes per
	 * second. Where this is below `connections`, `connections` is the bound. */
	uint32_t connections_max;
	/* at this rate the number of requests is not raised further; 0 = no such rate */
	uint64_t target_bytes_per_s;
	uint32_t hedge_percent; /* share of the bytes that may be requested twice, 0 = no hedging */
	uint64_t hedge_bytes;   /* larger ranges are never requested twice; store_open() allocates buffers of
				   this size */
	uint64_t connect_timeout_ms, low_speed_bytes_per_s, low_speed_s; /* 0 = defaults */
	uint32_t attempts_max;                                           /* per request, 0 = default */
	/* how long to try again where the server gives no answer, even after attempts_max attempts; 0 = not
	 * after attempts_max */
	uint64_t patience_ms;
	/* clock_us() at which blocking calls give up with -ETIMEDOUT, whatever the other limits say; a call
	 * that begins later gives up at once; 0 = never. On file:// a wait for the disk has no end: the
	 * kernel does not give up. */
	uint64_t deadline_us;
	uint64_t part_bytes; /* multipart part size, at least 5 MiB, 0 = 8 MiB */
	/* Requests in flight for which memory is reserved at store_open(); memory for further requests is
	 * allocated one by one. */
	uint32_t requests;
	/* Called at least once a second while a blocking call waits for the network, so that the caller can
	 * tell its watchdog that it is alive. May be NULL. */
	void (*awake)(void *context);
	void *awake_context;
};

/* Returns options with the time limits and attempts of the configuration's section `fetch`, and defaults for
 * all others. */
struct store_options store_options_of(const struct config *config);

/* Identifies one version of an object; every answer is compared with it. On s3:// the pin is ETag and size,
 * and the version id where it is known: then exactly this version is read, also when the object has a newer
 * one. On file:// the pin is size, mtime in ns and inode (in `etag`, as "ns-inode"). */
struct store_pin {
	uint64_t bytes;
	char etag[STORE_ETAG_MAX];       /* without quotes; "" = not known, so not checked */
	char version[STORE_VERSION_MAX]; /* version id of S3; "" = none */
};

/* Returns the pin of an object whose size, ETag and version are known, such as those of a plan; "" = none. */
struct store_pin store_pin_make(uint64_t bytes, const char *etag, const char *version);

struct store_object {
	char key[STORE_KEY_MAX + 1]; /* key relative to the store's prefix */
	struct store_pin pin;
	int64_t mtime_s;
};

struct store_counters {
	uint64_t requests, bytes_in, bytes_out, connections;
	uint64_t at_once; /* upper bound of concurrent requests now ... */
	const char *pace; /* ... and the reason for it; NULL on file:// */
	/* ranges that were asked for twice; ranges of which the second request was faster */
	uint64_t hedged, hedges_won;
	uint64_t retries_connect, retries_timeout, retries_reset, retries_server, retries_slow_down,
		retries_malformed;
};

MUST_CHECK int store_open(const struct config_store *where, const struct store_options *options,
			  struct store **ret_store, struct error *err);

/* Room for a host: a bucket, a dot, the host of an endpoint and a NUL. */
#define STORE_HOST_BYTES (CONFIG_BUCKET_MAX + CONFIG_HOST_MAX + 2u)
/* Writes the name or address of the host that a store asks for objects, without the port; "" for file://.
 * Opens nothing. Errors: -EINVAL a wrong configuration. */
MUST_CHECK int store_host(const struct config_store *where, char out[static STORE_HOST_BYTES],
			  struct error *err);
void store_close(struct store *store);
void store_closep(struct store **store);
const char *store_url(const struct store *store);
struct store_counters store_counters_of(const struct store *store);

#define STORE_COUNTERS_TEXT 384u
/* Writes the counters for the log: "requests=3 bytes_in=20 ... retries: connect=0 timeout=0 reset=1 server=0
 * slow_down=0 malformed=0". */
const char *store_counters_text(const struct store_counters *counters, char out[static STORE_COUNTERS_TEXT]);
/* Adds the numbers of another store of the same source; `pace` stays. */
void store_counters_add(struct store_counters *sum, const struct store_counters *more);
/* Returns the number of retries of all classes together. */
uint64_t store_counters_retries(const struct store_counters *counters);

/* Calls `each` for every object below the prefix whose key matches `glob` (fnmatch without FNM_PATHNAME; NULL
 * = all), in bytewise order of keys, page by page. Where `each` returns a value other than 0, the list ends,
 * and store_list() returns the value. */
MUST_CHECK int store_list(struct store *store, const char *glob,
			  int (*each)(void *context, const struct store_object *object), void *context,
			  struct error *err);
/* Does what store_list() does, with pins that also name the version, where the bucket keeps versions and the
 * credential may list and read them (the actions s3:ListBucketVersions and s3:GetObjectVersion of S3).
 * Elsewhere the pins are those of store_list(): a refusal costs one request, is not tried again, and later
 * lists of this store do not ask for versions any more. Costs a page for each 1 000 versions, also of old
 * ones. */
MUST_CHECK int store_list_versions(struct store *store, const char *glob,
				   int (*each)(void *context, const struct store_object *object),
				   void *context, struct error *err);
/* Returns why store_list_versions() gives no versions, a sentence with the server's refusal. NULL: nothing
 * was refused; objects without a version were put while the bucket kept none. Valid until store_close(). */
const char *store_versions_refused(const struct store *store);
MUST_CHECK int store_stat(struct store *store, const char *key, struct store_object *ret_object,
			  struct error *err);

/* Asks for an object that the caller has put just now. A store may answer 404 for a moment, where replicas
 * follow or a cache remembers an earlier 404: then asks again, for about 13 s. Errors: those of store_stat(),
 * but -EIO in place of -ENOENT. */
MUST_CHECK int store_stat_put(struct store *store, const char *key, struct store_object *ret_object,
			      struct error *err);

/* Gets exactly `bytes` bytes from `offset` into the caller's buffer. `pin` may be NULL. Errors: -ERANGE,
 * without a pin: the object ends before that. */
MUST_CHECK int store_get(struct store *store, const char *key, const struct store_pin *pin, uint64_t offset,
			 void *buffer, uint64_t bytes, struct error *err);
/* Gets a whole object of at most `max` bytes (else -EFBIG) into malloc'ed memory, with a NUL after its end.
 */
MUST_CHECK int store_get_all(struct store *store, const char *key, uint64_t max, char **ret_data,
			     uint64_t *ret_bytes, struct error *err);
/* Gets a whole object of at most `max` bytes (else -EFBIG) into a file, which appears only when it is
 * complete and on the disk (temporary name, fsync, rename). Asks for size and version first, and a second
 * time where the object does not match them, or does not fit. Errors: -ENOSPC fewer than STORE_SPARE_BYTES
 * would stay free there; then nothing is fetched. */
MUST_CHECK int store_get_file(struct store *store, const char *key, const char *path, uint64_t max,
			      struct error *err);

MUST_CHECK int store_put(struct store *store, const char *key, const void *data, uint64_t bytes,
			 struct error *err);
/* Puts an object, then asks the store for it with store_stat_put(). *ret_object may be NULL. Errors: also
 * -EIO, the store has another number of bytes than were sent. */
MUST_CHECK int store_put_checked(struct store *store, const char *key, const void *data, uint64_t bytes,
				 struct store_object *ret_object, struct error *err);
/* Puts an object only where no object with this key exists; of several writers at the same time one succeeds.
 * Returns 0 also where the object has exactly these bytes already. Errors: -EEXIST the object has other
 * bytes; -EOPNOTSUPP the server refuses the condition (If-None-Match). A server that is too old to know the
 * condition overwrites the object. */
MUST_CHECK int store_put_new(struct store *store, const char *key, const void *data, uint64_t bytes,
			     struct error *err);
/* Puts a file, in parts where it is larger than the part size; a failure aborts the upload. Then asks the
 * store for the object with store_stat_put(). *ret_sha256_hex (65 bytes) and *ret_bytes, the size of the
 * file, may be NULL. Errors: also -EIO, the store has another number of bytes than were sent, or other bytes:
 * an object of several parts is read again where its ETag is not the one that S3 gives to these parts. */
MUST_CHECK int store_put_file(struct store *store, const char *key, const char *path, char *ret_sha256_hex,
			      uint64_t *ret_bytes, struct error *err);
#define STORE_ABORTS_MAX 1000u
/* Aborts unfinished multipart uploads below the prefix, at most STORE_ABORTS_MAX, and returns how many. On
 * file:// removes temporaries of killed writers and returns 0. On lakefs:// does nothing and returns 0. */
int store_abort_stale(struct store *store, struct error *err);
/* Deletes an object. No error where there is no such object. */
MUST_CHECK int store_delete(struct store *store, const char *key, struct error *err);

/* ---- Several ranged gets at once ---- */

struct store_request {
	const char *key; /* key, pin and buffer must stay valid until completion */
	const struct store_pin *pin;
	uint64_t offset, bytes;
	void *buffer;
	void *context;
	/* Or NULL. store_poll() calls it when bytes [from, from + bytes) of the range are in the buffer;
	 * during the call `data` points to these bytes. `from` = 0 means that a new attempt began: the bytes
	 * of an earlier attempt are not valid any more. file:// does not call it. */
	void (*arrived)(struct store_request *request, uint64_t from, const void *data, uint64_t bytes);
	struct http_times times; /* filled while the request is in flight; file:// leaves it as it is */
	int result;              /* filled at completion: 0 or a negative errno, with err */
	struct error err;
	struct store_request *next; /* for drivers/store only */
	void *work;                 /* for the backend only */
};

MUST_CHECK int store_submit(struct store *store, struct store_request *request, struct error *err);
/* Sends and receives for at most `timeout_ms`. *ret_done is one completed request; where it is not NULL call
 * again, as there may be more. */
MUST_CHECK int store_poll(struct store *store, uint32_t timeout_ms, struct store_request **ret_done,
			  struct error *err);
/* Returns whether a request was submitted and is neither completed nor cancelled. */
bool store_is_in_flight(const struct store_request *request);
/* Makes a store_poll() that waits return. Any thread may call. */
void store_wake(struct store *store);
/* Cancels one request: its result is -ECANCELED, the caller may free its memory, and store_poll() will not
 * return it. Returns false where store_poll() has returned it already. */
bool store_cancel(struct store *store, struct store_request *request);
/* Cancels every request that store_poll() has not returned yet, as store_cancel() does. */
void store_cancel_all(struct store *store);
