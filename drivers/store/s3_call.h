/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The s3:// backend's state, and one call of the S3 API. A call builds and signs a new request for each
 * attempt, and interprets the answer. A struct s3_call exists until the last attempt has ended, through all
 * redirects and retries of drivers/http.
 *
 * Order: s3_call_new -> set the question -> s3_call_run, or s3_call_start and s3_call_wait -> s3_call_free.
 * One thread, the store's.
 */
#pragma once

#include "drivers/http/http.h"
#include "drivers/store/backend.h"
#include "drivers/store/credential.h"
#include "drivers/store/s3_hedge.h"
#include "drivers/store/s3_redirect.h"
#include "drivers/store/s3_reply.h"
#include "drivers/store/sigv4.h"

#define S3_HOST_BYTES   (CONFIG_BUCKET_MAX + sizeof(".") + CONFIG_HOST_MAX + sizeof(":65535"))
#define S3_QUERIES_MAX  8u
#define S3_KEY_MAX      1024u /* bytes of a key, with the prefix; S3 User Guide, "Naming Amazon S3 objects" */
#define S3_FULL_BYTES   (S3_KEY_MAX + 1)
#define S3_SHA256_BYTES 65u

struct s3_store {
	struct store store;
	struct http *http;
	bool tls, aws, path_style, anonymous;
	bool lakefs;  /* the server is lakeFS: keys begin with a ref, and objects have no versions */
	bool presign; /* lakeFS is asked to redirect each get of an object to its own store */
	/* with the port, unless it is the default port; begins with the bucket in virtual-hosted style */
	char host[S3_HOST_BYTES];
	char bucket[CONFIG_BUCKET_MAX + 1], prefix[CONFIG_PREFIX_MAX + 2], region[CONFIG_REGION_MAX + 1];
	struct credential credential;
	struct sigv4_day day; /* the credential's signing key of the day of the last request */
	struct s3_call *idle; /* list of calls that were used and can be used again */
	/* memory for pool_calls calls, allocated by store_s3_open(); NULL = no pool */
	struct s3_call *pool;
	/* pooled: calls of the pool that were ever used; pool_calls: size of the pool */
	uint32_t pooled, pool_calls;
	struct s3_seen seen;
	struct s3_hedge hedge;
	struct {
		bool looked;          /* whether the credential may read a version was found out */
		struct error refused; /* why the store gives no versions; code 0 = nothing was refused */
	} versions;
	/* this server's ETag of an object of several parts tells nothing: an object with another ETag than
	 * S3's had the right bytes */
	bool own_etags;
	bool completed;                    /* set when `until` is completed; http_drive() then returns */
	const struct store_request *until; /* the awaited request, NULL = any */
};

struct s3_call {
	struct http_request http;
	struct s3_store *s3;

	/* What to send; set before s3_call_run() or s3_call_start(). */
	enum http_method method;
	const char *key;        /* relative to the store's prefix; NULL: the call is about the bucket */
	const char *upload_key; /* used in place of `key`: a whole key, with the prefix */
	struct sigv4_pair query[S3_QUERIES_MAX];
	size_t queries;
	bool ranged;
	uint64_t offset, bytes;
	const struct store_pin *pin;
	/* a refusal is final, also one without a reason of S3: the caller asks why another call was refused,
	 * or can do without the answer */
	bool undoubted;
	bool only_new;    /* put the object only where none with this key exists */
	const char *body; /* NULL: the body is read from body_fd, from body_offset on */
	int body_fd;
	uint64_t body_offset, body_bytes;
	char payload_sha256[S3_SHA256_BYTES]; /* hash of the body; "" = no body, or an unsigned one */
	/* Callbacks; each may be NULL. begin() is called when an attempt begins, data() for bytes of the
	 * answer. Without data() the bytes go into http.buffer, and arrived() is called for them. check() is
	 * called when a 2xx answer is complete, ended() once, when call->result is final. */
	void (*begin)(struct s3_call *call);
	int (*data)(struct s3_call *call, const char *data, size_t bytes, struct error *err);
	void (*arrived)(struct s3_call *call, const char *data, size_t bytes);
	int (*check)(struct s3_call *call, enum retry_class *retry, struct error *err);
	void (*ended)(struct s3_call *call);
	void *context;

	/* The result of the call. */
	char etag[STORE_ETAG_MAX], version[STORE_VERSION_MAX];
	struct s3_error error;
	bool done;
	int result;
	struct error err;

	/* For ranged gets only (s3_request.c, s3_hedge.c). */
	struct store_request *request; /* from store_submit() */
	struct s3_call *twin;          /* the other call for the same range, while both are in flight */
	/* the hedge's buffer into which this call writes; NULL: it writes into the request's own buffer */
	struct s3_spare *spare;

	/* For s3_call.c and s3_redirect.c only. */
	/* URL of a redirect that is followed unchanged and without a signature; "" = none */
	char location[HTTP_URL_BYTES];
	/* host of a redirect to another endpoint of AWS, for which the request is signed anew; "" = none */
	char host[S3_HOST_BYTES];
	bool follow, redirected;
	uint32_t redirects;
	struct s3_call *next;
};

static inline struct s3_store *s3_store_of(struct store *store)
{
	return (struct s3_store *)store;
}

static inline void s3_url_free(CURLU **url)
{
	curl_url_cleanup(*url);
}

static inline void s3_url_free_part(char **part)
{
	curl_free(*part);
}

/* Returns an empty call, from the pool where it has a free one. NULL: no memory; err says so. */
struct s3_call *s3_call_new(struct s3_store *s3, enum http_method method, const char *key, struct error *err);
/* Returns a second call that asks for the same range, for the hedge. NULL: no memory. */
struct s3_call *s3_call_twin(struct s3_call *call);
void s3_call_free(struct s3_call *call);
void s3_call_freep(struct s3_call **call);
/* Frees the memory of all calls; none may be in use. */
void s3_calls_done(struct s3_store *s3);

void s3_call_query(struct s3_call *call, const char *name, const char *value);
/* Starts the call. At its end call->done becomes true. */
void s3_call_start(struct s3_call *call);
/* Blocks until call->done is true; returns call->result. */
MUST_CHECK int s3_call_wait(struct s3_call *call, struct error *err);
/* Calls s3_call_start(), then s3_call_wait(). */
MUST_CHECK int s3_call_run(struct s3_call *call, struct error *err);

/* Writes "s3://bucket/key" into `out`, for messages, and returns it. Control characters are escaped. */
const char *s3_call_name(const struct s3_call *call, char out[static STORE_KEY_TEXT]);
