/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/webhook/webhook.h"

#include "core/base/clock.h"
#include "core/base/url.h"
#include "drivers/http/http.h"

#include <inttypes.h>
#include <mbedtls/base64.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#define ATTEMPTS_MAX       10u
#define CONNECT_TIMEOUT_MS 10000u
#define LOW_SPEED_S        20u
#define ATTEMPT_MS         30000u /* a server that sends a byte now and then would hold the caller for hours */
#define DRIVE_MS           1000u
#define REPLY_SHOWN        200
#define SECRET_LEAST       4u /* characters: a shorter part of a URL is no secret */

/* The one request of a webhook_post(). `request` must be the first member, because post_of() casts. */
struct post {
	struct http_request request;
	const struct webhook *webhook;
	const char *body;
	uint64_t bytes;
	bool done;
	int result;
	struct error *err;
};

/* The parts of a URL: "https://", "user:password@", "host:port", and the path with what follows. */
struct parts {
	const char *login, *host, *path;
	size_t login_bytes;
	int scheme_bytes, host_bytes;
};

static struct post *post_of(struct http_request *request)
{
	return (struct post *)request;
}

static int prepare(struct http_request *request, struct error *err)
{
	const struct post *post = post_of(request);
	const char *token = post->webhook->token;
	int r = http_add_header(request, err, "Content-Type: application/json");

	request->method = HTTP_POST;
	(void)snprintf(request->url, sizeof(request->url), "%s", post->webhook->url);
	request->body = post->body;
	request->body_bytes = post->bytes;
	return r < 0 || !*token ? r : http_add_header(request, err, "Authorization: Bearer %s", token);
}

static struct parts parts_of(const char *url)
{
	const char *scheme = strstr(url, "://");
	struct parts parts = { .login = scheme ? scheme + 3 : url };

	parts.scheme_bytes = (int)(parts.login - url);
	parts.login_bytes = url_login_bytes(parts.login, strlen(parts.login));
	parts.host = parts.login + parts.login_bytes;
	parts.host_bytes = (int)strcspn(parts.host, "/?#");
	parts.path = parts.host + parts.host_bytes;
	return parts;
}

/* Overwrites each occurrence of a word in the text with '*'. */
static void hide_word(char *text, const char *word, size_t length)
{
	for (char *at = text; length >= SECRET_LEAST && (at = memmem(at, strlen(at), word, length));
	     at += length)
		memset(at, '*', length);
}

static void hide_words(char *text, const char *words, const char *between)
{
	for (size_t length; *words; words += length ? length : 1) {
		length = strcspn(words, between);
		hide_word(text, words, length);
	}
}

/* Hides user and password: as the URL has them, as libcurl decodes them, and in base64, which is how they are
 * sent. */
static void hide_login(char *text, const struct parts *parts)
{
	char raw[HTTP_URL_BYTES], sent[HTTP_URL_BYTES];
	unsigned char base64[HTTP_REPLY_BYTES];
	char *login;
	size_t bytes;

	if (parts->login_bytes == 0)
		return;
	(void)snprintf(raw, sizeof(raw), "%.*s", (int)parts->login_bytes - 1, parts->login);
	hide_words(text, raw, ":@");
	login = curl_easy_unescape(NULL, raw, 0, NULL);
	(void)snprintf(sent, sizeof(sent), "%s%s", login ? login : "", strchr(raw, ':') ? "" : ":");
	hide_words(text, sent, ":");
	/* one that does not fit is in no reply */
	if (mbedtls_base64_encode(base64, sizeof(base64), &bytes, (unsigned char *)sent, strlen(sent)) == 0)
		hide_word(text, (char *)base64, bytes);
	if (login)
		mbedtls_platform_zeroize(login, strlen(login));
	curl_free(login);
	mbedtls_platform_zeroize(raw, sizeof(raw));
	mbedtls_platform_zeroize(sent, sizeof(sent));
	mbedtls_platform_zeroize(base64, sizeof(base64));
}

/* Hides the user and the password, the parts of the path and the query, and the token: a page that says "not
 * found" often repeats them. */
static void hide_secrets(char *text, const struct webhook *webhook)
{
	const struct parts parts = parts_of(webhook->url);

	hide_login(text, &parts);
	hide_words(text, parts.path, "/?#&=");
	hide_word(text, webhook->token, strlen(webhook->token));
}

/* Appends the beginning of the server's answer to the text of the error. The text stays one line. */
static void add_reply(struct error *err, struct http_request *request)
{
	size_t used = strlen(err->text), length;

	if (request->reply_bytes == 0 || used + 3 >= sizeof(err->text))
		return;
	hide_secrets(request->reply, post_of(request)->webhook);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %.*s", REPLY_SHOWN, request->reply);
	for (char *c = err->text + used; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	length = strlen(err->text);
	while (length > used && err->text[length - 1] == ' ')
		err->text[--length] = '\0';
}

static int judge(struct http_request *request, enum retry_class *retry, struct error *err)
{
	const long status = request->status;
	const bool refused = status / 100 == 4 && retry_class_of_status(status) == RETRY_NEVER;
	const int code = status == 401 || status == 403 ? -EACCES
			 : status == 404                ? -ENOENT
			 : refused                      ? -EPERM
							: -EIO;

	(void)retry;
	if (status / 100 == 2)
		return 0;
	(void)error_set(err, code, "HTTP %ld", status);
	add_reply(err, request);
	return code;
}

static void done(struct http_request *request, int result, const struct error *err)
{
	struct post *post = post_of(request);

	post->result = result;
	if (result < 0 && post->err)
		*post->err = *err;
	post->done = true;
}

static const struct http_handler handler = { .prepare = prepare, .judge = judge, .done = done };

static int drive(struct http *http, struct post *post, struct error *err)
{
	const uint64_t limit_ms = post->webhook->wait_ms + ATTEMPT_MS, until_ms = clock_ms() + limit_ms;
	int r = 0;

	http_submit(http, &post->request);
	while (r == 0 && !post->done && clock_ms() < until_ms)
		r = http_drive(http, DRIVE_MS, &post->done, false, err);
	if (post->done)
		return post->result;
	http_drop(http, &post->request);
	return r < 0 ? r
		     : error_set(err, -ETIMEDOUT,
				 "not taken within %" PRIu64 " s, %" PRIu32 " attempts failed",
				 limit_ms / 1000, post->request.failures);
}

int webhook_post(const struct webhook *webhook, const char *body, uint64_t bytes, struct error *err)
{
	const struct http_options options = { .connections = 1,
					      .attempts_max = webhook->wait_ms ? ATTEMPTS_MAX : 1,
					      .patience_ms = webhook->wait_ms,
					      .connect_timeout_ms = CONNECT_TIMEOUT_MS,
					      .low_speed_bytes_per_s = 1,
					      .low_speed_s = LOW_SPEED_S,
					      .attempt_ms = ATTEMPT_MS,
					      .ca_file = webhook->ca_file };
	const struct parts parts = parts_of(webhook->url);
	CLEANUP(free_ptr) struct post *post = calloc(1, sizeof(*post));
	CLEANUP(http_closep) struct http *http = NULL;
	int r;

	if (!post)
		return error_set(err, -ENOMEM, "no memory for a POST");
	if (strlen(webhook->url) >= sizeof(post->request.url))
		return error_set(err, -EINVAL, "the url has more than %u bytes", HTTP_URL_BYTES - 1);
	post->webhook = webhook;
	post->body = body;
	post->bytes = bytes;
	post->err = err;
	post->request.handler = &handler;
	post->request.status_only = true;
	r = http_open(&options, &http, err);
	if (r == 0)
		r = drive(http, post, err);
	return r < 0 ? error_prefix(err, "POST %.*s%.*s", parts.scheme_bytes, webhook->url, parts.host_bytes,
				    parts.host)
		     : 0;
}
