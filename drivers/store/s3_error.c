/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_error.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Error codes for which the HTTP status alone does not decide (S3 API, "List of error codes"). */
static const struct {
	const char *code;
	int result;
	enum retry_class retry;
} codes[] = {
	{ "PermanentRedirect", -EINVAL, RETRY_NEVER },
	{ "TemporaryRedirect", -EINVAL, RETRY_NEVER },
	{ "NoSuchKey", -ENOENT, RETRY_NEVER },
	{ "NoSuchBucket", -ENOENT, RETRY_NEVER },
	{ "NoSuchUpload", -ENOENT, RETRY_NEVER },
	{ "ExpiredToken", -EACCES, RETRY_NEVER },
	{ "InvalidToken", -EACCES, RETRY_NEVER },
	{ "TokenRefreshRequired", -EACCES, RETRY_NEVER },
	/* another attempt does not help: the box's clock is wrong */
	{ "RequestTimeTooSkewed", -ETIME, RETRY_NEVER },
	{ "PreconditionFailed", -ESTALE, RETRY_NEVER },
	{ "EntityTooLarge", -EFBIG, RETRY_NEVER },
	{ "QuotaExceeded", -EDQUOT, RETRY_NEVER },
	{ "RequestTimeout", -ETIMEDOUT, RETRY_TIMEOUT },
	{ "BadDigest", -EIO, RETRY_RESET },
	{ "XAmzContentSHA256Mismatch", -EIO, RETRY_RESET },
	{ "InternalError", -EIO, RETRY_SERVER },
	{ "OperationAborted", -EIO, RETRY_SERVER },
	/* the server is handling another put of this key */
	{ "ConditionalRequestConflict", -EIO, RETRY_SERVER },
	{ "SlowDown", -EIO, RETRY_SLOW_DOWN },
	{ "ServiceUnavailable", -EIO, RETRY_SLOW_DOWN },
};

static int result_of_status(long status)
{
	const int r = retry_errno_of_status(status);

	switch (status) {
	case 405:
		return -EOPNOTSUPP;
	case 412:
		return -ESTALE;
	case 416:
		return -ERANGE;
	default:
		return r < 0 ? r : status / 100 == 3 ? -EBADMSG : -EIO;
	}
}

static int result_of(long status, const char *code, enum retry_class *retry)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!strcmp(codes[i].code, code)) {
			*retry = codes[i].retry;
			return codes[i].result;
		}
	return result_of_status(status);
}

/* Replaces control characters, so that a server's text is one line. */
static void one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = ' ';
}

/* Leaves out a user and a password before the host. */
static const char *host_of(const struct s3_call *call, char *out, size_t out_bytes)
{
	const char *host = strstr(call->http.url, "://"), *end, *at;

	host = host ? host + 3 : call->http.url;
	end = host + strcspn(host, "/?#");
	at = memrchr(host, '@', (size_t)(end - host));
	host = at ? at + 1 : host;
	(void)snprintf(out, out_bytes, "%.*s", (int)(end - host), host);
	return out;
}

/* Writes what the server's own text leaves out: by how much the clocks differ, the bucket's region, that
 * there was a redirect, that no credentials are configured.
 */
static void add_advice(const struct s3_call *call, char *out, size_t out_bytes)
{
	const struct s3_error *error = &call->error;
	const char *region =
		error->region[0] ? error->region : http_header(&call->http, "x-amz-bucket-region");
	time_t theirs = curl_getdate(http_header(&call->http, "date"), NULL);
	int64_t skew = theirs > 0 ? (int64_t)time(NULL) - (int64_t)theirs : 0;
	char host[S3_HOST_BYTES];

	out[0] = 0;
	if (!strcmp(error->code, "RequestTimeTooSkewed"))
		(void)snprintf(out, out_bytes,
			       "; clock skew: this machine's clock is %" PRId64 " s %s the server's",
			       skew < 0 ? -skew : skew, skew < 0 ? "behind" : "ahead of");
	else if (region[0] && strcmp(region, call->s3->region) != 0)
		(void)snprintf(out, out_bytes, "; the bucket is in region '%.63s', configured is '%s'",
			       region, call->s3->region);
	else if (call->redirected)
		(void)snprintf(out, out_bytes, "; after a redirect to %s", host_of(call, host, sizeof(host)));
	else if (call->s3->anonymous && (call->http.status == 403 || call->http.status == 401))
		(void)snprintf(out, out_bytes, "; no credentials are given, the request was not signed");
}

int s3_error_foreign(const struct s3_call *call, struct error *err)
{
	const struct http_request *http = &call->http;
	const char *type = http_header(http, "content-type");
	bool page = strncasecmp(type, "text/html", 9) == 0 && !http_header(http, "etag")[0] &&
		    !http_header(http, "x-amz-request-id")[0];

	/* Web servers in front of a store answer 404 and 5xx with pages of their own. */
	if (http->status != 511 && !(page && (http->status / 100 == 2 || http->status == 403)))
		return 0;
	return error_set(
		err, -ENONET,
		"the network answers for the store: found status %ld, Content-Type '%.40s' and nothing of S3",
		http->status, type);
}

int s3_error_judge(struct s3_call *call, enum retry_class *retry, struct error *err)
{
	struct s3_error *error = &call->error;
	char advice[S3_HOST_BYTES + 64];
	int r = s3_error_foreign(call, err);

	if (r < 0)
		return r;
	s3_error_parse(call->http.reply, call->http.reply_bytes, error);
	one_line(error->code);
	one_line(error->message);
	one_line(error->region);
	r = result_of(call->http.status, error->code, retry);
	/* S3 gives a code with each refusal, except where the answer has no body. */
	if (*retry == RETRY_NEVER && !error->code[0] && call->method != HTTP_HEAD && !call->undoubted &&
	    call->http.status != 407)
		*retry = RETRY_MALFORMED;
	/* The pinned version was removed for good; the object may have another one. */
	if (r == -ENOENT && call->pin && call->pin->version[0] && strcmp(error->code, "NoSuchBucket") != 0)
		r = -ESTALE;
	if ((r == -ESTALE || r == -ERANGE) && call->pin)
		return error_set(err, -ESTALE,
				 "the object changed: pinned %" PRIu64
				 " bytes, \"%s\"; the server answers %ld %s",
				 call->pin->bytes, call->pin->etag, call->http.status, error->code);
	add_advice(call, advice, sizeof(advice));
	return error_set(err, r, "the server answers %ld%s%s%s%s%s", call->http.status,
			 error->code[0] ? " " : "", error->code, error->message[0] ? ": " : "",
			 error->message, advice);
}

int s3_error_late(struct s3_call *call, const struct s3_error *error, enum retry_class *retry,
		  struct error *err)
{
	int r;

	call->error = *error;
	one_line(call->error.code);
	one_line(call->error.message);
	*retry = RETRY_SERVER; /* where the code is not known */
	r = result_of(500, call->error.code, retry);
	return error_set(err, r, "the server answers 200 and then %s: %s", call->error.code,
			 call->error.message);
}
