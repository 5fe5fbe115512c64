/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/http/attempt.h"
#include "core/base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* The largest buffer that libcurl allows. Compared with 256 KiB it saves a tenth of the CPU time per byte
 * (tests/system/store get-rate). */
#define READ_BUFFER_BYTES   (512L << 10)
#define READ_BUFFER_LEAST   (16L << 10)
#define HEAD_BYTES          4096u /* usual bytes of an answer's head, which lie in the same buffer */
#define UPLOAD_BUFFER_BYTES (512L << 10)
#define PATIENCE_MS         600000L
/* Upper bound of the bytes read of an error's body. Where the body is longer, the connection is closed. */
#define REPLY_DISCARD_BYTES (1u << 20)
/* Into a larger buffer copy_to_memory() writes past the caches: they could not hold it until it is read. */
#define CACHED_BYTES_MAX (UINT64_C(4) << 20)
#define LINE_BYTES       64u

const char *http_method_name(enum http_method method)
{
	static const char *const names[] = { "GET", "HEAD", "PUT", "POST", "DELETE" };
	_Static_assert(sizeof(names) / sizeof(names[0]) == HTTP_METHOD_MAX, "a name for each method");

	return names[method];
}

/* ---- What libcurl calls ---- */

void attempt_has_connection(struct http_request *request)
{
	request->http->connecting -= request->connecting;
	request->connecting = false;
}

/* libcurl calls this when the request has a connection and is sent next. The time is noted here and not at
 * the end, because it is read while the request is in flight. */
static int on_connected(void *userdata, char *to, char *from, int to_port, int from_port)
{
	struct http_request *request = userdata;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	attempt_has_connection(request);
	if (request->times)
		request->times->connected_us = clock_us();
	return CURL_PREREQFUNC_OK;
}

static int see_head(struct http_request *request)
{
	if (request->head_seen)
		return 0;
	request->head_seen = true;
	if (request->times)
		request->times->answered_us = clock_us();
	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &request->status);
	if (request->status / 100 == 2 && request->handler->head)
		request->stopped = request->handler->head(request, &request->err);
	return request->stopped;
}

/* Tells whether this line ends the head of the last answer: heads of interim answers (1xx) come before it. */
static bool ends_head(const struct http_request *request, const char *line, size_t bytes)
{
	long status = 0;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	return status / 100 > 1 && bytes > 0 && bytes <= 2 && (*line == '\r' || *line == '\n');
}

/* Counts the bytes of headers. libcurl keeps all of them, and bounds only the length of one line. */
static size_t on_header(char *data, size_t one, size_t bytes, void *context)
{
	struct http_request *request = context;

	(void)one;
	request->headers_seen += bytes;
	if (request->headers_seen <= HTTP_HEADERS_MAX) {
		if (!request->status_only || !ends_head(request, data, bytes))
			return bytes;
		return see_head(request) < 0 || request->status / 100 == 2 ? CURL_WRITEFUNC_ERROR : bytes;
	}
	request->stopped = error_set(&request->err, -EBADMSG, "the answer has more than %u bytes of headers",
				     HTTP_HEADERS_MAX);
	return CURL_WRITEFUNC_ERROR;
}

static size_t save_reply(struct http_request *request, const char *data, size_t bytes)
{
	size_t space = sizeof(request->reply) - 1 - request->reply_bytes;
	size_t saved = bytes < space ? bytes : space;

	memcpy(request->reply + request->reply_bytes, data, saved);
	request->reply_bytes += (uint32_t)saved;
	request->reply[request->reply_bytes] = 0;
	request->reply_seen += bytes;
	return request->reply_seen > REPLY_DISCARD_BYTES ? CURL_WRITEFUNC_ERROR : bytes;
}

#ifdef __x86_64__
/* Copies without the processor's caches (streaming stores): a cache line that is overwritten completely need
 * not be read first, and other data stays in the caches. From a server on loopback into the ring this saves a
 * tenth of the CPU time. */
static void copy_to_memory(char *to, const char *from, size_t bytes)
{
	size_t at = -(uintptr_t)to & (LINE_BYTES - 1);

	at = at < bytes ? at : bytes;
	memcpy(to, from, at);
	for (; bytes - at >= LINE_BYTES; at += LINE_BYTES) {
		const __m128i *line = (const __m128i *)(const void *)(from + at);
		__m128i *out = (__m128i *)(void *)(to + at);

		_mm_stream_si128(out, _mm_loadu_si128(line));
		_mm_stream_si128(out + 1, _mm_loadu_si128(line + 1));
		_mm_stream_si128(out + 2, _mm_loadu_si128(line + 2));
		_mm_stream_si128(out + 3, _mm_loadu_si128(line + 3));
	}
	memcpy(to + at, from + at, bytes - at);
	_mm_sfence(); /* other threads see the bytes before anything that this thread writes later */
}
#else
static void copy_to_memory(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, bytes);
}
#endif

static void put_data(struct http_request *request, const char *data, size_t bytes)
{
	char *to = request->buffer + request->received;

	if (request->buffer_bytes > CACHED_BYTES_MAX)
		copy_to_memory(to, data, bytes);
	else
		memcpy(to, data, bytes);
	if (request->handler->arrived)
		request->handler->arrived(request, data, bytes);
}

static size_t on_data(char *data, size_t one, size_t bytes, void *context)
{
	struct http_request *request = context;

	(void)one;
	request->http->counters.bytes_in += bytes;
	if (see_head(request) < 0)
		return CURL_WRITEFUNC_ERROR;
	if (request->status / 100 != 2)
		return save_reply(request, data, bytes);
	if (request->handler->data) {
		request->stopped = request->handler->data(request, data, bytes, &request->err);
	} else if (bytes > request->buffer_bytes - request->received) {
		request->stopped = error_set(&request->err, -EBADMSG,
					     "the answer is longer than the %" PRIu64 " bytes asked for",
					     request->buffer_bytes);
	} else {
		put_data(request, data, bytes);
	}
	request->received += bytes;
	return request->stopped < 0 ? CURL_WRITEFUNC_ERROR : bytes;
}

static size_t on_send(char *to, size_t one, size_t space, void *context)
{
	struct http_request *request = context;
	uint64_t left = request->body_bytes - request->body_sent;
	size_t bytes = left < space ? (size_t)left : space;

	(void)one;
	if (request->body) {
		memcpy(to, request->body + request->body_sent, bytes);
	} else if (bytes) {
		ssize_t got = pread(request->body_fd, to, bytes,
				    (off_t)(request->body_offset + request->body_sent));

		if (got <= 0) {
			request->stopped =
				error_set(&request->err, got < 0 ? -EIO : -ESTALE, "reading the file: %s",
					  got < 0 ? strerror(errno) : "it became shorter");
			return CURL_READFUNC_ABORT;
		}
		bytes = (size_t)got;
	}
	request->body_sent += bytes;
	request->http->counters.bytes_out += bytes;
	return bytes;
}

/* libcurl calls this to send the body a second time: it had used an idle connection again, which the server
 * had closed meanwhile. */
static int on_rewind(void *context, curl_off_t offset, int origin)
{
	struct http_request *request = context;

	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > request->body_bytes)
		return CURL_SEEKFUNC_CANTSEEK;
	request->body_sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

/* ---- What is sent ---- */

int http_add_header(struct http_request *request, struct error *err, const char *format, ...)
{
	char line[HTTP_URL_BYTES];
	struct curl_slist *list;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(line))
		return error_set(err, -EINVAL, "a header of %d bytes is too long", length);
	for (const char *at = line; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return error_set(
				err, -EBADMSG,
				"the header %.*s: found the byte 0x%02x at byte %td, which would end "
				"the header",
				(int)strcspn(line, ":"), line, (unsigned char)*at, at - line);
	list = curl_slist_append(request->headers, line);
	if (!list)
		return error_set(err, -ENOMEM, "no memory for a header");
	request->headers = list;
	return 0;
}

const char *http_header(const struct http_request *request, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(request->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return "";
	return header->value;
}

static void set_method(CURL *easy, const struct http_request *request)
{
	switch (request->method) {
	case HTTP_HEAD:
		(void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
		break;
	case HTTP_PUT:
	case HTTP_POST:
		(void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_bytes);
		(void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES);
		/* fall through */
	case HTTP_DELETE:
		(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, http_method_name(request->method));
		break;
	default:
		break;
	}
}

/* Returns the size of libcurl's buffer, which it allocates anew for each attempt. A small object gets a small
 * one: the kernel would have to clear the pages of a large one. */
static long read_buffer_of(const struct http_request *request)
{
	long bytes = READ_BUFFER_LEAST;

	if (request->handler->data || !request->buffer)
		return READ_BUFFER_BYTES;
	while (bytes < READ_BUFFER_BYTES && (uint64_t)bytes < request->buffer_bytes + HEAD_BYTES)
		bytes *= 2;
	return bytes;
}

static void set_limits(CURL *easy, const struct http_options *options, bool patient)
{
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_timeout_ms);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)options->attempt_ms);
	if (patient) {
		(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, PATIENCE_MS);
		return;
	}
	(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)options->low_speed_bytes_per_s);
	(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)options->low_speed_s);
}

void attempt_set_options(struct http_request *request)
{
	const struct http *http = request->http;
	CURL *easy = request->easy;

	curl_easy_reset(easy); /* resets the options alone: open connections and looked-up names stay */
	(void)curl_easy_setopt(easy, CURLOPT_URL, request->url);
	(void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			       (long)(http->options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, read_buffer_of(request));
	/* Look the name up for each new connection, so that connections spread over an endpoint's addresses.
	 */
	(void)curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	(void)curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "kiln");
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->curl_text);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
	(void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_send);
	(void)curl_easy_setopt(easy, CURLOPT_READDATA, request);
	(void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
	(void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, request);
	(void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
	(void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
	if (http->ca_file[0])
		(void)curl_easy_setopt(easy, CURLOPT_CAINFO, http->ca_file);
	/* the head of a proxy's answer is no head of the server's */
	(void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, request->status_only ? 1L : 0L);
	/* libcurl sends a request again by itself where an idle connection turns out to be closed. */
	(void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->once ? 1L : 0L);
	set_limits(easy, &http->options, request->patient);
	set_method(easy, request);
}

/* ---- The outcome ---- */

/* Returns the errno where a proxy refused to open a tunnel, which libcurl reports as a cut connection; 0 = no
 * proxy refused. */
static int proxy_refusal(struct http_request *request, enum retry_class *ret_class)
{
	long status = 0;

	(void)curl_easy_getinfo(request->easy, CURLINFO_HTTP_CONNECTCODE, &status);
	if (!status || status / 100 == 2)
		return 0;
	*ret_class = retry_class_of_status(status);
	return error_set(&request->err, status / 100 == 4 ? -EACCES : -ECONNREFUSED,
			 "the proxy answers %ld%s", status, status == 407 ? ": it wants a login" : "");
}

/* The outcome of a whole answer. */
static int judge(struct http_request *request, enum retry_class *ret_class)
{
	int r = see_head(request);

	*ret_class = r < 0 ? RETRY_NEVER : retry_class_of_status(request->status);
	if (r == 0)
		r = request->handler->judge(request, ret_class, &request->err);
	if (*ret_class == RETRY_NEVER)
		*ret_class = retry_class_of_refusal(r);
	return r;
}

static const char foreign_certificate[] =
	": ca_file, the endpoint or this clock is wrong, or something on the "
	"network answers in the server's place, "
	"such as a login page";

int attempt_outcome(struct http_request *request, CURLcode code, enum retry_class *ret_class)
{
	bool cut_reply = request->reply_seen > REPLY_DISCARD_BYTES;
	curl_off_t connect_us = 0;
	int r;

	*ret_class = retry_class_of_refusal(request->stopped);
	if (request->stopped < 0)
		return request->stopped;
	if (code == CURLE_OK || cut_reply || (request->status_only && request->head_seen))
		return judge(request, ret_class);
	r = proxy_refusal(request, ret_class);
	if (r < 0)
		return r;
	(void)curl_easy_getinfo(request->easy, CURLINFO_PRETRANSFER_TIME_T, &connect_us);
	*ret_class = retry_class_of_curl(code, connect_us > 0);
	r = retry_errno_of_curl(code);
	return error_set(&request->err, r, "%s%s",
			 request->curl_text[0] ? request->curl_text : curl_easy_strerror(code),
			 r == -ENOKEY ? foreign_certificate : "");
}
