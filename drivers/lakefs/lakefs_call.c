/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/lakefs/lakefs_call.h"
#include "core/base/clock.h"
#include "drivers/lakefs/lakefs_reply.h"

#include <string.h>
#include <strings.h>

/* A page of 100 differences, each with a path of at most 1024 bytes that JSON may escape. */
#define ANSWER_BYTES (1u << 20)
#define DRIVE_MS     1000u

/* The one request of a lakefs_call(). `request` must be the first member, because call_of() casts. */
struct call {
	struct http_request request;
	const struct lakefs *lakefs;
	enum http_method method;
	const char *path, *body;
	struct lakefs_answer answer;
	bool done;
	int result;
	struct error err;
};

static void call_free(struct call **call)
{
	if (*call)
		free((*call)->request.buffer);
	free(*call);
}

static struct call *call_of(struct http_request *request)
{
	return (struct call *)request;
}

void lakefs_answer_done(struct lakefs_answer *answer)
{
	cJSON_Delete(answer->json);
	*answer = (struct lakefs_answer){ 0 };
}

/* ---- Paths ---- */

static int add_encoded(char out[static LAKEFS_PATH_BYTES], const char *before, const char *text,
		       struct error *err)
{
	size_t used = strlen(out), more = strlen(before);

	if (used + more >= LAKEFS_PATH_BYTES)
		return error_set(err, -EINVAL, "the request's path is too long");
	memcpy(out + used, before, more + 1);
	if (sigv4_encode(text, false, out + used + more, LAKEFS_PATH_BYTES - used - more) < 0)
		return error_set(err, -EINVAL, "the name '%.100s' is too long", text);
	return 0;
}

int lakefs_path(const struct lakefs *lakefs, char out[static LAKEFS_PATH_BYTES], struct error *err,
		const char *const *parts)
{
	int r;

	*out = '\0';
	r = add_encoded(out, "/repositories/", lakefs->repository, err);
	for (; r == 0 && *parts; parts++)
		r = add_encoded(out, "/", *parts, err);
	return r;
}

int lakefs_query(char path[static LAKEFS_PATH_BYTES], const char *name, const char *value, struct error *err)
{
	char before[64];

	(void)snprintf(before, sizeof(before), "%c%s=", strchr(path, '?') ? '&' : '?', name);
	return add_encoded(path, before, value, err);
}

/* ---- One attempt ---- */

static int prepare(struct http_request *request, struct error *err)
{
	struct call *call = call_of(request);
	int r = http_add_header(request, err, "Authorization: %s", call->lakefs->authorization);

	lakefs_answer_done(&call->answer);
	request->method = call->method;
	request->body = call->body ? call->body : "";
	request->body_bytes = strlen(request->body);
	(void)snprintf(request->url, sizeof(request->url), "%s%s", call->lakefs->base, call->path);
	if (r == 0)
		r = http_add_header(request, err, "Accept: application/json");
	return r < 0 || !call->body ? r : http_add_header(request, err, "Content-Type: application/json");
}

/* Reads a 2xx answer: JSON, or the bare id of a commit (createBranch), or nothing. */
static int read_answer(struct call *call, struct error *err)
{
	const char *text = call->request.buffer;
	const size_t bytes = call->request.received;

	if (bytes == 0)
		return 0;
	if (*text != '{')
		return lakefs_reply_text_id(text, bytes, call->answer.id, err);
	return json_parse("the answer", text, bytes, &call->answer.json, err);
}

static int code_of(long status)
{
	const int r = retry_errno_of_status(status);

	switch (status) {
	case 409:
		return -EEXIST;
	case 412:
		return -EPERM;
	case 423:
		return -EBUSY;
	case 429:
	case 503:
		return -EAGAIN;
	default:
		return r < 0 ? r : status / 100 == 5 ? -EIO : -EBADMSG;
	}
}

static const char *meaning_of(long status)
{
	switch (status) {
	case 401:
		return " (the access key is not accepted, or may not do this)";
	case 403:
		return " (the access key may not do this)";
	case 412:
		return " (a hook of the repository refused)";
	case 423:
		return " (the branch is locked)";
	default:
		return "";
	}
}

/* Tells whether something on the network answers in the server's place, such as a login page. The API does
 * not redirect; a new branch alone is told as text/html, with 201; and 403 has JSON. */
static bool is_foreign(const struct http_request *request)
{
	const bool page = strncasecmp(http_header(request, "Content-Type"), "text/html", 9) == 0;

	return request->status / 100 == 3 || request->status == 511 ||
	       (page && (request->status == 200 || request->status == 403));
}

static int judge(struct http_request *request, enum retry_class *retry, struct error *err)
{
	struct call *call = call_of(request);
	char said[LAKEFS_SAID_BYTES];

	call->answer.status = request->status;
	if (is_foreign(request))
		return error_set(err, -ENONET,
				 "the network answers for lakeFS: found status %ld, Content-Type '%.40s', "
				 "Location '%.200s'",
				 request->status, http_header(request, "Content-Type"),
				 http_header(request, "Location"));
	if (request->status / 100 == 2)
		return read_answer(call, err);
	/* A locked branch is free again when another commit or merge has ended. */
	if (request->status == 423)
		*retry = RETRY_SERVER;
	lakefs_reply_said(request->reply, request->reply_bytes, said);
	return error_set(err, code_of(request->status), "the server answers %ld%s%s%s", request->status,
			 meaning_of(request->status), *said ? ": " : "", said);
}

static void done(struct http_request *request, int result, const struct error *err)
{
	struct call *call = call_of(request);

	call->result = result;
	call->err = *err;
	call->done = true;
}

static const struct http_handler handler = { .prepare = prepare, .judge = judge, .done = done };

/* ---- All attempts ---- */

static bool is_late(const struct lakefs *lakefs)
{
	return lakefs->options.deadline_us && clock_us() >= lakefs->options.deadline_us;
}

static int drive(struct lakefs *lakefs, struct call *call, struct error *err)
{
	int r = 0;

	http_submit(lakefs->http, &call->request);
	while (r == 0 && !call->done && !is_late(lakefs)) {
		r = http_drive(lakefs->http, DRIVE_MS, &call->done, false, err);
		if (lakefs->options.awake)
			lakefs->options.awake(lakefs->options.awake_context);
	}
	if (call->done) {
		if (call->result < 0 && err)
			*err = call->err;
		return call->result;
	}
	http_drop(lakefs->http, &call->request);
	return r < 0 ? r
		     : error_set(err, -ETIMEDOUT,
				 "the server has not answered in the time that the caller has for it");
}

static int make_call(struct lakefs *lakefs, struct call *call, struct error *err)
{
	int r;

	call->lakefs = lakefs;
	call->request.handler = &handler;
	call->request.patient = call->method == HTTP_POST;
	call->request.buffer_bytes = ANSWER_BYTES;
	call->request.buffer = malloc(ANSWER_BYTES);
	if (!call->request.buffer)
		return error_set(err, -ENOMEM, "no memory for an answer of lakeFS");
	r = drive(lakefs, call, err);
	return r < 0 && err ? error_prefix(err, "%s %s%s", http_method_name(call->method), lakefs->base,
					   call->path)
			    : r;
}

static int call_server(struct lakefs *lakefs, enum http_method method, const char *path, cJSON *body,
		       bool once, struct lakefs_answer *ret_answer, struct error *err)
{
	CLEANUP(json_free) cJSON *sent = body;
	CLEANUP(free_ptr) char *text = sent ? cJSON_PrintUnformatted(sent) : NULL;
	CLEANUP(call_free) struct call *call = calloc(1, sizeof(*call));
	int r;

	*ret_answer = (struct lakefs_answer){ 0 };
	if (!call || (sent && !text))
		return error_set(err, -ENOMEM, "no memory for a call of lakeFS");
	call->method = method;
	call->path = path;
	call->body = text;
	call->request.once = once;
	r = make_call(lakefs, call, err);
	*ret_answer = call->answer;
	if (r < 0) {
		cJSON_Delete(ret_answer->json);
		ret_answer->json = NULL;
	}
	return r;
}

int lakefs_call(struct lakefs *lakefs, enum http_method method, const char *path, cJSON *body,
		struct lakefs_answer *ret_answer, struct error *err)
{
	return call_server(lakefs, method, path, body, false, ret_answer, err);
}

int lakefs_post_once(struct lakefs *lakefs, const char *path, cJSON *body, struct lakefs_answer *ret_answer,
		     struct error *err)
{
	return call_server(lakefs, HTTP_POST, path, body, true, ret_answer, err);
}
