/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/mlflow/call.h"
#include "core/base/url.h"

#include <inttypes.h>
#include <mbedtls/base64.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#define DRIVE_MS      1000u
#define MESSAGE_SHOWN 300
#define API           "/api/2.0/mlflow/"
#define HOLD_S_MAX    3600u

/* `request` is a member of struct mlflow. */
static struct mlflow *mlflow_of(struct http_request *request)
{
	return (struct mlflow *)(void *)((char *)request - offsetof(struct mlflow, request));
}

/* ---- What drivers/http calls ---- */

static int add_login(struct http_request *request, const char *login, struct error *err)
{
	unsigned char base64[2 * MLFLOW_LOGIN_BYTES_MAX];
	size_t bytes;
	int r;

	if (!*login)
		return 0;
	if (!strchr(login, ':'))
		return http_add_header(request, err, "Authorization: Bearer %s", login);
	if (mbedtls_base64_encode(base64, sizeof(base64), &bytes, (const unsigned char *)login,
				  strlen(login)) != 0)
		return error_set(err, -EINVAL, "the login of the tracking server is too long");
	r = http_add_header(request, err, "Authorization: Basic %s", (const char *)base64);
	mbedtls_platform_zeroize(base64, sizeof(base64));
	return r;
}

static int prepare(struct http_request *request, struct error *err)
{
	const struct mlflow *mlflow = mlflow_of(request);
	int r = http_add_header(request, err, "Content-Type: application/json");

	request->method = mlflow->method;
	request->body = mlflow->body;
	request->body_bytes = mlflow->body ? strlen(mlflow->body) : 0;
	if (snprintf(request->url, sizeof(request->url), "%s" API "%s", mlflow->url, mlflow->path) >=
	    (int)sizeof(request->url))
		return error_set(err, -EINVAL, "the url has more than %u bytes", HTTP_URL_BYTES - 1);
	return r < 0 ? r : add_login(request, mlflow->login, err);
}

static void note_retry_after(struct http_request *request)
{
	const uint64_t seconds = strtoull(http_header(request, "Retry-After"), NULL, 10);

	mlflow_of(request)->retry_after_s = seconds < HOLD_S_MAX ? seconds : HOLD_S_MAX;
}

/* The errno of an answer. `name`: MLflow's error code, "" where the answer has none. */
static int errno_of(long status, const char *name)
{
	if (status == 401 || status == 403)
		return -EACCES;
	if (strcmp(name, "RESOURCE_DOES_NOT_EXIST") == 0)
		return -ENOENT;
	if (strcmp(name, "RESOURCE_ALREADY_EXISTS") == 0)
		return -EEXIST;
	if (status == 408 || status == 429 || status == 503)
		return -EBUSY;
	if (status == 404 || status / 100 == 3 || (status / 100 == 4 && !*name))
		return -EPROTO;
	return status / 100 == 4 ? -EINVAL : -EIO;
}

static const char *text_of(const cJSON *reply, const char *key)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(reply, key);

	return cJSON_IsString(member) ? member->valuestring : "";
}

static int judge(struct http_request *request, enum retry_class *retry, struct error *err)
{
	CLEANUP(json_free) cJSON *reply = NULL;
	const char *name;

	*retry = RETRY_NEVER;
	note_retry_after(request);
	if (request->status / 100 == 2)
		return 0;
	if (json_parse("the answer", request->reply, request->reply_bytes, &reply, NULL) < 0)
		reply = NULL;
	name = text_of(reply, "error_code");
	return error_set(err, errno_of(request->status, name), "HTTP %ld%s%s: %.*s", request->status,
			 *name ? " " : "", name, MESSAGE_SHOWN,
			 reply ? text_of(reply, "message") : request->reply);
}

static void done(struct http_request *request, int result, const struct error *err)
{
	struct mlflow *mlflow = mlflow_of(request);

	mlflow->result = result;
	if (result < 0 && mlflow->err)
		*mlflow->err = *err;
	mlflow->done = true;
}

static const struct http_handler handler = { .prepare = prepare, .judge = judge, .done = done };

/* ---- A call ---- */

static bool is_canceled(const struct mlflow *mlflow)
{
	/* relaxed: see mlflow_cancel(). */
	return atomic_load_explicit(&mlflow->canceled, memory_order_relaxed);
}

static int drive(struct mlflow *mlflow, struct error *err)
{
	int r = 0;

	mlflow->done = false;
	mlflow->err = err;
	mlflow->retry_after_s = 0;
	mlflow->request = (struct http_request){ .handler = &handler,
						 .buffer = mlflow->reply,
						 .buffer_bytes = MLFLOW_REPLY_BYTES };
	http_submit(mlflow->http, &mlflow->request);
	while (r == 0 && !mlflow->done && !is_canceled(mlflow)) {
		if (mlflow->options.awake)
			mlflow->options.awake(mlflow->options.awake_context);
		r = http_drive(mlflow->http, DRIVE_MS, &mlflow->done, true, err);
	}
	if (mlflow->done)
		return mlflow->result;
	http_drop(mlflow->http, &mlflow->request);
	return r < 0 ? r : error_set(err, -ECANCELED, "canceled");
}

static int exchange(struct mlflow *mlflow, cJSON **ret_reply, struct error *err)
{
	CLEANUP(json_free) cJSON *reply = NULL;
	char shown[512];
	int r = drive(mlflow, err);

	if (r == 0)
		r = json_parse("the answer", mlflow->reply, mlflow->request.received, &reply, err);
	if (r < 0)
		return error_prefix(err, "%s %s" API "%.*s", http_method_name(mlflow->method),
				    url_without_login(mlflow->url, strlen(mlflow->url), shown, sizeof(shown)),
				    (int)strcspn(mlflow->path, "?"), mlflow->path);
	if (ret_reply)
		*ret_reply = TAKE(reply);
	return 0;
}

int mlflow_call(struct mlflow *mlflow, const char *path, cJSON *body, cJSON **ret_reply, struct error *err)
{
	CLEANUP(json_free) cJSON *owned = body;
	CLEANUP(free_ptr) char *text = NULL;
	int r = owned ? json_print_line(owned, &text, err) : error_set(err, -ENOMEM, "%s: no memory", path);

	if (r < 0)
		return r;
	mlflow->method = HTTP_POST;
	mlflow->path = path;
	mlflow->body = text;
	r = exchange(mlflow, ret_reply, err);
	mlflow->body = NULL;
	return r;
}

int mlflow_get(struct mlflow *mlflow, const char *path, cJSON **ret_reply, struct error *err)
{
	mlflow->method = HTTP_GET;
	mlflow->path = path;
	return exchange(mlflow, ret_reply, err);
}

int mlflow_reply_text(const cJSON *reply, const char *path, char *ret_text, size_t size, struct error *err)
{
	const cJSON *member = json_member(reply, path);
	const char *text = cJSON_IsString(member) ? member->valuestring : "";

	if (!*text || strlen(text) >= size)
		return error_set(err, -EBADMSG, "the tracking server's answer: found no %s, expected a text",
				 path);
	(void)snprintf(ret_text, size, "%s", text);
	return 0;
}

/* Returns the length of the longest beginning of a text that has at most `most` bytes and ends with a whole
 * character of UTF-8. */
static size_t cut_bytes(const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);

	if (length <= most)
		return length;
	for (length = most; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
		length--;
	return length;
}

void mlflow_add_texts(cJSON *body, const char *member, const struct mlflow_text *texts, uint32_t count,
		      size_t value_bytes)
{
	cJSON *list = count ? cJSON_AddArrayToObject(body, member) : NULL;

	for (uint32_t i = 0; i < count; i++) {
		cJSON *item = cJSON_CreateObject();
		char *value = strndup(texts[i].value, cut_bytes(texts[i].value, value_bytes));

		cJSON_AddStringToObject(item, "key", texts[i].key);
		cJSON_AddItemToObject(item, "value", json_string(value ? value : ""));
		cJSON_AddItemToArray(list, item);
		free(value);
	}
}

char *mlflow_escape(const char *text)
{
	return curl_easy_escape(NULL, text, (int)strlen(text));
}
