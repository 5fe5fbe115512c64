/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The s3:// backend's state, and one call of the S3 API: what is sent, signed anew for each attempt, and what
 * the answer means. A call lives through all attempts, redirects and retries of drivers/http.
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
#define S3_KEY_MAX      1024u /* with the prefix; S3 User Guide, "Naming Amazon S3 objects" */
#define S3_FULL_BYTES   (S3_KEY_MAX + 1)
#define S3_SHA256_BYTES 65u

struct s3_store {
	struct store store;
	struct http *http;
	bool tls, aws, path_style, anonymous;
	char host[S3_HOST_BYTES]; /* with the port where it is not the scheme's; the bucket's own where
				     virtual */
	char bucket[CONFIG_BUCKET_MAX + 1], prefix[CONFIG_PREFIX_MAX + 2], region[CONFIG_REGION_MAX + 1];
	struct credential credential;
	struct s3_call *idle;        /* calls that are free for use */
	struct s3_call *pool;        /* calls with memory from the start; NULL = each is allocated */
	uint32_t pooled, pool_calls; /* calls of the pool: used so far, in all */
	struct s3_seen seen;
	struct s3_hedge hedge;
	bool completed;                    /* a request was completed: http_drive() may return */
	const struct store_request *until; /* the awaited request, NULL = any */
};

struct s3_call {
	struct http_request http;
	struct s3_store *s3;

	/* The question; set before s3_call_run() or s3_call_start(). */
	enum http_method method;
	const char *key;        /* below the store's prefix; NULL: the bucket */
	const char *upload_key; /* or a whole key */
	struct sigv4_pair query[S3_QUERIES_MAX];
	size_t queries;
	bool ranged;
	uint64_t offset, bytes;
	const struct store_pin *pin;
	bool only_new;    /* a put, where there is no such object */
	const char *body; /* or NULL: body_fd from body_offset */
	int body_fd;
	uint64_t body_offset, body_bytes;
	char payload_sha256[S3_SHA256_BYTES]; /* hash of the body; "" = no body, or an unsigned one */
	/* Each may be NULL. begin(): an attempt begins. data(): bytes of the answer; NULL: they go into
	 * http.buffer, and arrived() is told. check(): a 2xx answer is complete. ended(): called last, with
	 * call->result set. */
	void (*begin)(struct s3_call *call);
	int (*data)(struct s3_call *call, const char *data, size_t bytes, struct error *err);
	void (*arrived)(struct s3_call *call, const char *data, size_t bytes);
	int (*check)(struct s3_call *call, enum retry_class *retry, struct error *err);
	void (*ended)(struct s3_call *call);
	void *context;

	/* The answer. */
	char etag[STORE_ETAG_MAX], version[STORE_VERSION_MAX];
	struct s3_error error;
	bool done;
	int result;
	struct error err;

	/* Ranged gets alone (s3_request.c, s3_hedge.c). */
	struct store_request *request; /* from store_submit() */
	struct s3_call *twin;          /* the other attempt at the request, in flight */
	struct s3_spare *spare;        /* the buffer that this attempt writes to; NULL: the request's own */

	/* For s3_call.c and s3_redirect.c alone. */
	char location[HTTP_URL_BYTES]; /* where a redirect points, sent as it is and unsigned */
	char host[S3_HOST_BYTES];      /* or AWS's other endpoint for the bucket, signed anew */
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

/* A zeroed call, from the pool where one is free. NULL with a sentence: no memory. */
struct s3_call *s3_call_new(struct s3_store *s3, enum http_method method, const char *key, struct error *err);
/* A second call with the same question, for the hedge. NULL: no memory. */
struct s3_call *s3_call_twin(struct s3_call *call);
void s3_call_free(struct s3_call *call);
void s3_call_freep(struct s3_call **call);
/* Frees the memory of all calls; none may be in use. */
void s3_calls_done(struct s3_store *s3);

void s3_call_query(struct s3_call *call, const char *name, const char *value);
/* Starts the call; call->done tells the end. */
void s3_call_start(struct s3_call *call);
/* Blocks until call->done; returns call->result. */
MUST_CHECK int s3_call_wait(struct s3_call *call, struct error *err);
/* s3_call_start(), then s3_call_wait(). */
MUST_CHECK int s3_call_run(struct s3_call *call, struct error *err);

/* "s3://bucket/key", printable. */
const char *s3_call_name(const struct s3_call *call, char out[static STORE_KEY_TEXT]);
