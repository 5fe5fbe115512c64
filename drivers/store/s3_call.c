/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_call.h"
#include "drivers/http/range.h"
#include "drivers/store/s3_error.h"
#include "drivers/store/s3_sign.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static struct s3_call *call_of(struct http_request *request)
{
	return (struct s3_call *)request;
}

const char *s3_call_name(const struct s3_call *call, char out[static STORE_KEY_TEXT])
{
	char raw[sizeof(call->s3->bucket) + 2 * S3_KEY_MAX + 16];

	(void)snprintf(raw, sizeof(raw), "%s://%s/%s%s", call->s3->lakefs ? "lakefs" : "s3", call->s3->bucket,
		       call->upload_key ? "" : call->s3->prefix,
		       call->upload_key ? call->upload_key
		       : call->key      ? call->key
					: "");
	return store_key_text(raw, out);
}

/* ---- What is sent ---- */

static int prepare(struct http_request *request, struct error *err)
{
	struct s3_call *call = call_of(request);
	bool verbatim;
	int r;

	if (!call->follow) { /* the attempt does not follow a redirect: send it to the store's own host */
		call->location[0] = call->host[0] = 0;
		call->redirects = 0;
	}
	call->follow = false;
	verbatim = call->redirected = call->location[0];
	request->method = call->method;
	request->body = call->body;
	request->body_fd = call->body_fd;
	request->body_offset = call->body_offset;
	request->body_bytes = call->body_bytes;
	call->etag[0] = call->version[0] = 0;
	call->error = (struct s3_error){ 0 };
	if (call->begin)
		call->begin(call);
	if (verbatim)
		memcpy(request->url, call->location, sizeof(request->url));
	r = verbatim ? 0 : s3_sign(call, err);
	if (r == 0 && call->ranged)
		r = http_add_header(request, err, "Range: bytes=%" PRIu64 "-%" PRIu64, call->offset,
				    call->offset + call->bytes - 1);
	if (r == 0 && !verbatim && call->pin && call->pin->etag[0])
		r = http_add_header(request, err, "If-Match: \"%s\"", call->pin->etag);
	if (r == 0 && call->only_new)
		r = http_add_header(request, err, "If-None-Match: *");
	/* lakeFS redirects clients of this name (lakeFS, "Use the S3 API with pre-signed URLs"). */
	if (r == 0 && !verbatim && call->s3->presign && call->key && call->method == HTTP_GET)
		r = http_add_header(request, err, "User-Agent: kiln s3RedirectionSupport");
	return r;
}

/* ---- What comes back ---- */

static int check_pin(struct s3_call *call, uint64_t total, struct error *err)
{
	const struct store_pin *pin = call->pin;

	if (!pin)
		return 0;
	if (total != HTTP_RANGE_UNKNOWN && total != pin->bytes)
		return error_set(err, -ESTALE,
				 "the object changed: pinned %" PRIu64 " bytes, \"%s\"; found %" PRIu64
				 " bytes, \"%s\"",
				 pin->bytes, pin->etag, total, call->etag);
	if (!pin->etag[0])
		return 0;
	if (call->redirected && strcmp(pin->etag, call->etag) != 0)
		return s3_seen_check(call, call->etag, err);
	if (!call->etag[0])
		return error_set(err, -EBADMSG, "the answer has no ETag to compare with the pinned \"%s\"",
				 pin->etag);
	if (strcmp(pin->etag, call->etag) != 0)
		return error_set(err, -ESTALE,
				 "the object changed: pinned %" PRIu64 " bytes, \"%s\"; found \"%s\"",
				 pin->bytes, pin->etag, call->etag);
	return 0;
}

static int check_range(struct s3_call *call, uint64_t *ret_total, struct error *err)
{
	const char *text = http_header(&call->http, "content-range"), *length;
	struct http_range range;

	if (call->http.status == 206) {
		if (http_range_parse(text, &range) < 0)
			return error_set(err, -EBADMSG, "the answer's Content-Range '%.80s' makes no sense",
					 text);
		*ret_total = range.total;
		if (call->pin && range.total != HTTP_RANGE_UNKNOWN && range.total != call->pin->bytes)
			return 0; /* the object has another size than the pin; check_pin() reports this */
		if (range.total != HTTP_RANGE_UNKNOWN && call->offset + call->bytes > range.total)
			return error_set(err, -ERANGE,
					 "asked for bytes %" PRIu64 "-%" PRIu64 ", the object has %" PRIu64,
					 call->offset, call->offset + call->bytes - 1, range.total);
		if (range.first != call->offset || range.last != call->offset + call->bytes - 1)
			return error_set(err, -EBADMSG,
					 "asked for bytes %" PRIu64 "-%" PRIu64 ", the answer has '%.80s'",
					 call->offset, call->offset + call->bytes - 1, text);
		return 0;
	}
	/* A server may ignore the range and send the whole object (RFC 9110 14.2): accepted where the range
	 * is the whole object. */
	length = http_header(&call->http, "content-length");
	*ret_total = length[0] >= '0' && length[0] <= '9' ? strtoull(length, NULL, 10) : HTTP_RANGE_UNKNOWN;
	if (call->pin && *ret_total != HTTP_RANGE_UNKNOWN && *ret_total != call->pin->bytes)
		return 0;
	if (call->http.status != 200 || call->offset || *ret_total != call->bytes)
		return error_set(err, -EBADMSG,
				 "asked for bytes %" PRIu64 "-%" PRIu64
				 ", the answer is status %ld with %.20s bytes: the server ignores ranges",
				 call->offset, call->offset + call->bytes - 1, call->http.status,
				 length[0] ? length : "unknown");
	return 0;
}

static int head(struct http_request *request, struct error *err)
{
	struct s3_call *call = call_of(request);
	uint64_t total = HTTP_RANGE_UNKNOWN;
	int r = s3_error_foreign(call, err);

	if (r < 0)
		return r;
	if (!s3_etag_copy(http_header(request, "etag"), call->etag))
		return error_set(err, -EBADMSG, "the answer's ETag makes no sense");
	s3_version_copy(http_header(request, "x-amz-version-id"), call->version);
	if (!call->ranged)
		return 0;
	r = check_range(call, &total, err);
	return r < 0 ? r : check_pin(call, total, err);
}

static int data(struct http_request *request, const char *bytes, size_t count, struct error *err)
{
	struct s3_call *call = call_of(request);

	return call->data(call, bytes, count, err);
}

static void arrived(struct http_request *request, const char *bytes, size_t count)
{
	struct s3_call *call = call_of(request);

	if (call->arrived)
		call->arrived(call, bytes, count);
}

static int judge(struct http_request *request, enum retry_class *retry, struct error *err)
{
	struct s3_call *call = call_of(request);
	int r = 0;

	if (request->status / 100 == 3)
		r = s3_redirect_follow(call, err);
	if (r)
		return r;
	if (request->status / 100 != 2)
		return s3_error_judge(call, retry, err);
	if (call->ranged && request->received != call->bytes) {
		*retry = RETRY_RESET;
		return error_set(err, -ECONNRESET, "asked for %" PRIu64 " bytes, the answer has %" PRIu64,
				 call->bytes, request->received);
	}
	return call->check ? call->check(call, retry, err) : 0;
}

static void done(struct http_request *request, int result, const struct error *err)
{
	struct s3_call *call = call_of(request);
	char name[STORE_KEY_TEXT];

	call->result = result;
	call->err = *err;
	if (result < 0)
		(void)error_prefix(&call->err, "%s %s", http_method_name(call->method),
				   s3_call_name(call, name));
	call->done = true;
	if (call->ended)
		call->ended(call);
}

/* ---- Calls ---- */

static const struct http_handler to_buffer = {
	.prepare = prepare, .head = head, .arrived = arrived, .judge = judge, .done = done
};
static const struct http_handler to_data = {
	.prepare = prepare, .head = head, .data = data, .judge = judge, .done = done
};

static struct s3_call *idle_call(struct s3_store *s3)
{
	struct s3_call *call = s3->idle;

	if (call)
		s3->idle = call->next;
	else if (s3->pool && s3->pooled < s3->pool_calls)
		call = &s3->pool[s3->pooled++];
	else
		call = malloc(sizeof(*call));
	return call;
}

/* Frees the pool, and the calls that were allocated one by one when the pool was used up. */
void s3_calls_done(struct s3_store *s3)
{
	while (s3->idle) {
		struct s3_call *call = s3->idle;

		s3->idle = call->next;
		if (!s3->pool || call < s3->pool || call >= s3->pool + s3->pooled)
			free(call);
	}
	free(s3->pool);
}

/* Clears the call, but of the two large texts only the first byte: clearing all of them costs more time than
 * signing the request. */
static void clear(struct s3_call *call)
{
	const size_t url = offsetof(struct s3_call, http.url), after_url = url + sizeof(call->http.url),
		     location = offsetof(struct s3_call, location),
		     after_location = location + sizeof(call->location);
	char *bytes = (char *)call;

	memset(bytes, 0, url + 1);
	memset(bytes + after_url, 0, location + 1 - after_url);
	memset(bytes + after_location, 0, sizeof(*call) - after_location);
}

struct s3_call *s3_call_new(struct s3_store *s3, enum http_method method, const char *key, struct error *err)
{
	struct s3_call *call = idle_call(s3);

	if (!call) {
		(void)error_set(err, -ENOMEM, "no memory for a request");
		return NULL;
	}
	clear(call);
	call->s3 = s3;
	call->method = method;
	call->key = key;
	return call;
}

struct s3_call *s3_call_twin(struct s3_call *call)
{
	struct s3_call *twin = s3_call_new(call->s3, call->method, call->key, NULL);

	if (!twin)
		return NULL;
	memcpy(twin->query, call->query, sizeof(twin->query));
	twin->queries = call->queries;
	twin->ranged = call->ranged;
	twin->offset = call->offset;
	twin->bytes = call->bytes;
	twin->pin = call->pin;
	twin->http.buffer_bytes = call->http.buffer_bytes;
	twin->arrived = call->arrived;
	twin->ended = call->ended;
	twin->request = call->request;
	return twin;
}

void s3_call_free(struct s3_call *call)
{
	call->next = call->s3->idle;
	call->s3->idle = call;
}

void s3_call_freep(struct s3_call **call)
{
	if (*call)
		s3_call_free(*call);
}

void s3_call_query(struct s3_call *call, const char *name, const char *value)
{
	call->query[call->queries++] = (struct sigv4_pair){ name, value };
}

void s3_call_start(struct s3_call *call)
{
	call->done = false;
	call->http.handler = call->data ? &to_data : &to_buffer;
	http_submit(call->s3->http, &call->http);
}

static int late(const struct s3_call *call, struct error *err)
{
	const int r = store_is_late(err);
	char name[STORE_KEY_TEXT];

	(void)error_prefix(err, "%s %s", http_method_name(call->method), s3_call_name(call, name));
	return r;
}

int s3_call_wait(struct s3_call *call, struct error *err)
{
	while (!call->done) {
		const uint32_t wait_ms = store_wait_ms(&call->s3->store);
		int r = wait_ms ? http_drive(call->s3->http, wait_ms, &call->done, false, err)
				: late(call, err);

		store_awake(&call->s3->store);
		if (r < 0) {
			http_cancel_all(call->s3->http);
			return r;
		}
	}
	if (call->result < 0 && err)
		*err = call->err;
	return call->result;
}

int s3_call_run(struct s3_call *call, struct error *err)
{
	s3_call_start(call);
	return s3_call_wait(call, err);
}
