/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One contract for object stores, two backends: s3://bucket/prefix and file:///dir. Keys are relative to the
 * URL's prefix. A store belongs to one thread; it owns one libcurl multi handle, and blocking calls drive it.
 *
 * Credentials: `where->credential` names a file in systemd's credential directory, else in PATH_CREDENTIALS;
 * "" takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN from the environment, and without
 * them requests are not signed. On file://, keys that could leave the folder are refused: empty, "." or ".."
 * segments, control characters.
 *
 * Blocking: store_list, store_stat, store_get, store_put*, store_delete.
 * Several at once: store_submit() many ranged gets, then store_poll() until they complete.
 * Errors of every call: -ENOENT no such object or bucket; -EACCES refused; -EKEYREJECTED credentials missing;
 * -ETIME the clock is too far from the server's; -ESTALE the object does not match the pin; -EBADMSG the
 * server's answer makes no sense; -ETIMEDOUT, -ECONNREFUSED, -EIO after all retries. The sentence names
 * bucket, key, and the server's code and message.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"
#include "drivers/http/times.h"

#include <stdbool.h>

#define STORE_KEY_MAX     1024u
#define STORE_ETAG_MAX    128u
#define STORE_VERSION_MAX 128u

struct store;

struct store_options {
	uint32_t connections;        /* at once, to begin with, 0 = 8 */
	uint32_t connections_max;    /* while more bring more; below `connections` = no more than those */
	uint64_t target_bytes_per_s; /* a rate that is enough, 0 = none is */
	uint32_t hedge_percent; /* of the bytes may be asked for twice where a range is slow, 0 = never ... */
	uint64_t hedge_bytes;   /* ... and none that is larger: room for them is made by store_open() */
	uint64_t connect_timeout_ms, low_speed_bytes_per_s, low_speed_s; /* 0 = defaults */
	uint32_t attempts_max;                                           /* per request, 0 = default */
	uint64_t patience_ms; /* but more where the server is away: not given up before, 0 = never more */
	uint64_t part_bytes;  /* multipart part size, at least 5 MiB, 0 = 8 MiB */
	/* Submitted and not done at once: for so many there is room from the start, which costs memory as it
	 * is used; for more it is made as they come. */
	uint32_t requests;
	/* What a blocking call says now and then, at least once a second while it waits for the network: that
	 * it is alive. NULL = to nobody. */
	void (*awake)(void *context);
	void *awake_context;
};

/* As configured in `fetch`: time limits and attempts; the rest by default. */
struct store_options store_options_of(const struct config *config);

/* What says that an object is the one we listed: s3 version id or ETag + size; file size + mtime in ns +
 * inode (written into etag as "ns-inode"). Checked on every response. */
struct store_pin {
	uint64_t bytes;
	char etag[STORE_ETAG_MAX];       /* without quotes; "" = not known, not checked */
	char version[STORE_VERSION_MAX]; /* "" = none */
};

struct store_object {
	char key[STORE_KEY_MAX + 1]; /* relative to the store's prefix */
	struct store_pin pin;
	int64_t mtime_s;
};

struct store_counters {
	uint64_t requests, bytes_in, bytes_out, connections;
	uint64_t at_once;            /* requests in flight that the endpoint is thought to bear now ... */
	const char *pace;            /* ... and why; NULL on file:// */
	uint64_t hedged, hedges_won; /* ranges asked for twice; where the second was faster */
	uint64_t retries_connect, retries_timeout, retries_reset, retries_server, retries_slow_down;
};

MUST_CHECK int store_open(const struct config_store *where, const struct store_options *options,
			  struct store **ret_store, struct error *err);
void store_close(struct store *store);
void store_closep(struct store **store);
const char *store_url(const struct store *store);
struct store_counters store_counters_of(const struct store *store);

/* For the log: "requests=3 bytes_in=20 ... retries: connect=0 timeout=0 reset=1 server=0 slow_down=0". */
#define STORE_COUNTERS_TEXT 320u
const char *store_counters_text(const struct store_counters *counters, char out[static STORE_COUNTERS_TEXT]);
/* Of all classes. */
uint64_t store_counters_retries(const struct store_counters *counters);

/* Every object below the prefix whose key matches `glob` (fnmatch without FNM_PATHNAME; NULL = all), in
 * bytewise key order, streamed page by page; `each` returning non-zero stops and is returned. */
MUST_CHECK int store_list(struct store *store, const char *glob,
			  int (*each)(void *context, const struct store_object *object), void *context,
			  struct error *err);
MUST_CHECK int store_stat(struct store *store, const char *key, struct store_object *ret_object,
			  struct error *err);

/* Exactly `bytes` bytes from `offset` into the caller's buffer. `pin` may be NULL. */
MUST_CHECK int store_get(struct store *store, const char *key, const struct store_pin *pin, uint64_t offset,
			 void *buffer, uint64_t bytes, struct error *err);
/* A whole object of at most `max` bytes (-EFBIG above) into malloc'ed memory, NUL-terminated behind its end.
 */
MUST_CHECK int store_get_all(struct store *store, const char *key, uint64_t max, char **ret_data,
			     uint64_t *ret_bytes, struct error *err);
/* A whole object into a file (temporary name, fsync, rename). */
MUST_CHECK int store_get_file(struct store *store, const char *key, const char *path, struct error *err);

MUST_CHECK int store_put(struct store *store, const char *key, const void *data, uint64_t bytes,
			 struct error *err);
/* The same where there is no such object; of several at once one succeeds. -EEXIST: there is one, of other
 * bytes than these. -EOPNOTSUPP: the server cannot tell; one that is too old to know the question puts it. */
MUST_CHECK int store_put_new(struct store *store, const char *key, const void *data, uint64_t bytes,
			     struct error *err);
/* A file, multipart above the part size; a failure aborts the upload. *ret_sha256_hex (65 bytes) may be NULL.
 */
MUST_CHECK int store_put_file(struct store *store, const char *key, const char *path, char *ret_sha256_hex,
			      struct error *err);
/* Abort unfinished multipart uploads below the prefix; returns how many. 0 on file://, which removes left
 * temporaries. */
int store_abort_stale(struct store *store, struct error *err);
/* Deleting what is not there succeeds. */
MUST_CHECK int store_delete(struct store *store, const char *key, struct error *err);

/* ---- Several ranged gets at once ---- */

struct store_request {
	const char *key; /* all of these must stay valid until completion */
	const struct store_pin *pin;
	uint64_t offset, bytes;
	void *buffer;
	void *context;
	/* Or NULL: bytes [from, from + bytes) of the range have been put into the buffer, and are `data`,
	 * too, during the call. From store_poll(). An attempt that begins anew begins with 0 again, and what
	 * was there before means nothing. A backend without network may not call it. */
	void (*arrived)(struct store_request *request, uint64_t from, const void *data, uint64_t bytes);
	struct http_times times; /* filled as it goes on; file:// fills nothing */
	int result;              /* filled at completion: 0 or a negative errno, with err */
	struct error err;
	struct store_request *next; /* the store's */
	void *work;                 /* the backend's */
};

MUST_CHECK int store_submit(struct store *store, struct store_request *request, struct error *err);
/* Move transfers on for at most `timeout_ms`; *ret_done is one completed request or NULL. Call again while
 * non-NULL. */
MUST_CHECK int store_poll(struct store *store, uint32_t timeout_ms, struct store_request **ret_done,
			  struct error *err);
/* It was submitted, and is neither done nor given up. */
bool store_is_in_flight(const struct store_request *request);
/* Make a store_poll() that sleeps in its own thread return; any thread may call. */
void store_wake(struct store *store);
/* Give up one request: its result is -ECANCELED, its memory the caller's again, and store_poll() will not
 * return it. False: it is not there to be given up, as store_poll() has returned it. */
bool store_cancel(struct store *store, struct store_request *request);
/* Give up every request that store_poll() has not returned yet: its result is -ECANCELED and its memory the
 * caller's again when this returns; store_poll() will not return it. */
void store_cancel_all(struct store *store);
