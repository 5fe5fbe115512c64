/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/webhook/webhook.h"

#include "drivers/http/http.h"

#include <inttypes.h>
#include <string.h>

#define ATTEMPTS_MAX       10u
#define CONNECT_TIMEOUT_MS 10000u
#define LOW_SPEED_S        20u
#define DRIVE_MS           1000u
#define ANSWER_BYTES_MAX   (64u << 10) /* buffer for the body of a 2xx answer, which is not read */
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
	char answer[ANSWER_BYTES_MAX];
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

/* Returns the length of the beginning of a URL, "https://host:port". */
static int host_bytes(const char *url)
{
	const char *host = strstr(url, "://");

	return host ? (int)(host + 3 + strcspn(host + 3, "/?#") - url) : 0;
}

/* Overwrites each occurrence of a word in the text with '*'. */
static void hide_word(char *text, const char *word, size_t length)
{
	for (char *at = text; length >= SECRET_LEAST && (at = memmem(at, strlen(at), word, length));
	     at += length)
		memset(at, '*', length);
}

/* Hides the parts of the path and the query, and the token: a page that says "not found" often repeats them.
 */
static void hide_secrets(char *text, const struct webhook *webhook)
{
	const char *part = webhook->url + host_bytes(webhook->url);

	for (size_t length; *part; part += length ? length : 1) {
		length = strcspn(part, "/?#&=");
		hide_word(text, part, length);
	}
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
	int code = status == 401 || status == 403 ? -EACCES : status == 404 ? -ENOENT : -EIO;

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
	int r = 0;

	http_submit(http, &post->request);
	while (r == 0 && !post->done)
		r = http_drive(http, DRIVE_MS, &post->done, false, err);
	return r < 0 ? r : post->result;
}

int webhook_post(const struct webhook *webhook, const char *body, uint64_t bytes, struct error *err)
{
	const struct http_options options = { .connections = 1,
					      .attempts_max = webhook->wait_ms ? ATTEMPTS_MAX : 1,
					      .patience_ms = webhook->wait_ms,
					      .connect_timeout_ms = CONNECT_TIMEOUT_MS,
					      .low_speed_bytes_per_s = 1,
					      .low_speed_s = LOW_SPEED_S,
					      .ca_file = webhook->ca_file };
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
	post->request.buffer = post->answer;
	post->request.buffer_bytes = sizeof(post->answer);
	r = http_open(&options, &http, err);
	if (r == 0)
		r = drive(http, post, err);
	return r < 0 ? error_prefix(err, "POST %.*s", host_bytes(webhook->url), webhook->url) : 0;
}
