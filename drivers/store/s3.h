/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the s3:// backend.
 *
 *     s3.c            opens, closes, ranged gets of several at once
 *     s3_call.c       one call: what is sent, signed for each attempt, and what its answer means
 *     s3_error.c      S3's error codes: errno, whether to try again, the sentence
 *     s3_redirect.c   where a call goes on after a 3xx, and ETags learned behind one
 *     s3_hedge.c      the slowest range asked for a second time
 *     s3_object.c     stat, whole gets, single puts, delete
 *     s3_list.c       pages of keys
 *     s3_multipart.c  uploads in parts
 *     s3_reply.c, s3_xml.c   what answers say
 */
#pragma once

#include "drivers/http/http.h"
#include "drivers/store/backend.h"
#include "drivers/store/credential.h"
#include "drivers/store/s3_reply.h"
#include "drivers/store/sigv4.h"

#define S3_HOST_BYTES   (CONFIG_BUCKET_MAX + sizeof(".") + CONFIG_HOST_MAX + sizeof(":65535"))
#define S3_QUERIES_MAX  8u
#define S3_KEY_MAX      1024u /* with the prefix; S3 User Guide, "Naming Amazon S3 objects" */
#define S3_FULL_BYTES   (S3_KEY_MAX + 1)
#define S3_SHA256_BYTES 65u

struct s3_store;
struct s3_call;

/* ETags of the first data answer behind a redirect, by key; see s3_redirect.c. */
struct s3_seen {
	struct s3_seen_etag {
		uint64_t key, etag; /* hashes; key 0 = free */
	} * slots;
	size_t room, used;
};

/* s3_hedge.c's. */
#define S3_HEDGES_MAX    2u
#define S3_HEDGE_SAMPLES 32u

struct s3_hedge {
	uint64_t took_us[S3_HEDGE_SAMPLES], samples; /* of the last ranges that came */
	uint64_t bytes, asked, won;
	struct s3_spare {
		char *memory; /* of hedge_bytes */
		bool used;
	} spare[S3_HEDGES_MAX];
};

struct s3_store {
	struct store store;
	struct http *http;
	bool tls, aws, path_style, anonymous;
	char host[S3_HOST_BYTES]; /* with the port where it is not the scheme's; the bucket's own where
				     virtual */
	char bucket[CONFIG_BUCKET_MAX + 1], prefix[CONFIG_PREFIX_MAX + 2], region[CONFIG_REGION_MAX + 1];
	struct credential credential;
	struct s3_call *idle;
	struct s3_call *pool; /* of which `pooled` have been used so far; or NULL */
	uint32_t pooled, pool_calls;
	struct s3_seen seen;
	struct s3_hedge hedge;
	bool completed; /* a request was: lets http_drive() return */
	const struct store_request *until;
};

struct s3_call {
	struct http_request http;
	struct s3_store *s3;

	/* What is asked; set before s3_call_run() or s3_call_start(). */
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
	char payload_sha256[S3_SHA256_BYTES]; /* of the body; "" = of no body, or not signed */
	/* An attempt begins; bytes of its answer (NULL: into http.buffer); a 2xx answer is whole. Or NULL. */
	void (*begin)(struct s3_call *call);
	int (*data)(struct s3_call *call, const char *data, size_t bytes, struct error *err);
	int (*check)(struct s3_call *call, enum retry_class *retry, struct error *err);
	void *context;

	/* The answer. */
	char etag[STORE_ETAG_MAX], version[STORE_VERSION_MAX];
	struct s3_error error;
	bool done;
	int result;
	struct error err;

	/* s3_call.c's. */
	struct store_request *request; /* of store_submit() */
	struct s3_call *twin;          /* the other attempt at it, in flight */
	struct s3_spare *spare;        /* where this one's bytes go first; NULL: to the request's buffer */
	char location[HTTP_URL_BYTES]; /* verbatim, unsigned */
	char host[S3_HOST_BYTES];      /* AWS's other endpoint for the bucket */
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

/* ---- s3_call.c ---- */

/* A zeroed call from the pool; NULL with a sentence when memory is out. Given back with s3_call_free(). */
struct s3_call *s3_call_new(struct s3_store *s3, enum http_method method, const char *key, struct error *err);
void s3_call_free(struct s3_call *call);
void s3_call_freep(struct s3_call **call);
/* All of them, none of which is in use. */
void s3_calls_done(struct s3_store *s3);
void s3_call_query(struct s3_call *call, const char *name, const char *value);
/* Start it; it is done when call->done. */
void s3_call_start(struct s3_call *call);
/* Until call->done; its result, with the sentence. */
MUST_CHECK int s3_call_wait(struct s3_call *call, struct error *err);
/* Both. */
MUST_CHECK int s3_call_run(struct s3_call *call, struct error *err);
/* "s3://bucket/key", printable. */
const char *s3_call_name(const struct s3_call *call, char out[static STORE_KEY_TEXT]);
/* Whole key. Errors: -EINVAL empty or too long. */
MUST_CHECK int s3_full_key(const struct s3_store *s3, const char *key, char out[static S3_FULL_BYTES],
			   struct error *err);

/* ---- s3.c ---- */

/* A call that gets what was asked of store_submit(), not started. NULL: -ENOMEM. */
struct s3_call *s3_call_of_request(struct s3_store *s3, struct store_request *request, struct error *err);

/* ---- s3_hedge.c ---- */

/* Errors: -ENOMEM. */
MUST_CHECK int s3_hedge_open(struct s3_hedge *hedge, const struct store_options *options, struct error *err);
/* Ask for the slowest range again where that is due. Microseconds until the next look, UINT64_MAX = after the
 * next completion. */
uint64_t s3_hedge_look(struct s3_store *s3);
/* A call with a request ended. False: its twin decides, the call is gone. True: the request is completed so,
 * and its bytes lie in its buffer. */
bool s3_hedge_settle(struct s3_call *call, int result);
/* The other attempt at its request, if there is one, ends; its own spare buffer, if it has one, is free
 * again. */
void s3_hedge_drop_twin(struct s3_call *call);
void s3_hedge_give_back(struct s3_call *call);
void s3_hedge_done(struct s3_hedge *hedge);

/* ---- s3_error.c ---- */

/* The errno of an answer that is none of 2xx or a redirect; *retry and call->error are set, err says it all.
 */
int s3_error_judge(struct s3_call *call, enum retry_class *retry, struct error *err);
/* The same for an <Error> in a 200 answer (S3 API, CompleteMultipartUpload). */
int s3_error_late(struct s3_call *call, const struct s3_error *error, enum retry_class *retry,
		  struct error *err);

/* ---- s3_redirect.c ---- */

/* HTTP_AGAIN when the answer says where to go on, -errno when it may not be followed, 0 when it is no
 * redirect. */
int s3_redirect_follow(struct s3_call *call, struct error *err);
/* Behind a redirect the list's ETag means nothing: the first data answer's is what later ones must have. */
MUST_CHECK int s3_seen_check(struct s3_call *call, const char *etag, struct error *err);

/* ---- Operations; contracts in store.h ---- */

int s3_list(struct store *store, const char *glob,
	    int (*each)(void *context, const struct store_object *object), void *context, struct error *err);
int s3_stat(struct store *store, const char *key, struct store_object *ret_object, struct error *err);
int s3_get_all(struct store *store, const char *key, uint64_t max, char **ret_data, uint64_t *ret_bytes,
	       struct error *err);
int s3_put(struct store *store, const char *key, const void *data, uint64_t bytes, bool only_new,
	   struct error *err);
int s3_put_file(struct store *store, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
		struct error *err);
int s3_delete(struct store *store, const char *key, struct error *err);
int s3_abort_stale(struct store *store, struct error *err);

/* The check of a put whose body has this MD5; call->context points at its 33 bytes of hex. */
int s3_check_put(struct s3_call *call, enum retry_class *retry, struct error *err);
/* The data and begin functions of a call whose context is a struct s3_document. */
struct s3_document {
	struct s3_xml *xml;
	struct s3_reply reply;
};
MUST_CHECK int s3_document_open(struct s3_document *document, struct s3_call *call, struct error *err);
void s3_document_done(struct s3_document *document);
