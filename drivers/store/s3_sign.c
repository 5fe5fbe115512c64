/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_sign.h"

#include <string.h>
#include <time.h>

#define UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD"

int s3_full_key(const struct s3_store *s3, const char *key, char out[static S3_FULL_BYTES], struct error *err)
{
	char text[STORE_KEY_TEXT];

	if (!key[0])
		return error_set(err, -EINVAL, "%s: a key is empty", s3->store.url);
	if ((size_t)snprintf(out, S3_FULL_BYTES, "%s%s", s3->prefix, key) >= S3_FULL_BYTES)
		return error_set(err, -EINVAL, "%s: the key '%s' is longer than %u bytes", s3->store.url,
				 store_key_text(key, text), S3_KEY_MAX);
	return 0;
}

/* Writes the path, which is sent and signed in the same form: encoded once, with "//", "." and ".."
 * unchanged. */
static int make_path(const struct s3_call *call, char *out, size_t out_bytes, struct error *err)
{
	const struct s3_store *s3 = call->s3;
	char full[S3_FULL_BYTES] = "";
	size_t used = 0;
	int r = 0;

	if (call->upload_key)
		(void)snprintf(full, sizeof(full), "%s", call->upload_key);
	else if (call->key)
		r = s3_full_key(s3, call->key, full, err);
	if (r < 0)
		return r;
	if (s3->path_style)
		used = (size_t)snprintf(out, out_bytes, "/%s", s3->bucket);
	if (!s3->path_style || full[0])
		out[used++] = '/';
	if (sigv4_encode(full, true, out + used, out_bytes - used) < 0)
		return error_set(err, -EINVAL, "the key is too long");
	return 0;
}

static const char *payload_of(const struct s3_call *call)
{
	if (call->payload_sha256[0])
		return call->payload_sha256;
	return call->body_bytes ? UNSIGNED_PAYLOAD : SIGV4_EMPTY_SHA256;
}

static int add_signature(struct s3_call *call, const char *host, const char *path, const char *query,
			 struct error *err)
{
	struct s3_store *s3 = call->s3;
	char when[SIGV4_TIME_BYTES], authorization[SIGV4_AUTHORIZATION_BYTES];
	struct sigv4_pair headers[] = { { "host", host },
					{ "x-amz-content-sha256", payload_of(call) },
					{ "x-amz-date", when },
					{ "x-amz-security-token", s3->credential.session_token } };
	struct sigv4_request request = { .method = http_method_name(call->method),
					 .path = path,
					 .query = query,
					 .headers = headers,
					 .headers_count = s3->credential.session_token[0] ? 4 : 3,
					 .payload_sha256 = payload_of(call) };
	struct sigv4_key key = { .access_key_id = s3->credential.access_key_id,
				 .secret_access_key = s3->credential.secret_access_key,
				 .region = s3->region,
				 .service = "s3",
				 .day = &s3->day };
	int r = 0;

	sigv4_time((int64_t)time(NULL), when);
	if (sigv4_authorization(&request, &key, when, authorization) < 0)
		return error_set(err, -EINVAL, "the region or the credential is too long to sign with");
	for (size_t i = 1; i < request.headers_count && r == 0; i++)
		r = http_add_header(&call->http, err, "%s: %s", headers[i].name, headers[i].value);
	return r < 0 ? r : http_add_header(&call->http, err, "Authorization: %s", authorization);
}

int s3_sign(struct s3_call *call, struct error *err)
{
	const struct s3_store *s3 = call->s3;
	const char *host = call->host[0] ? call->host : s3->host;
	char path[3 * S3_KEY_MAX + sizeof(s3->bucket) + 3];
	char query[SIGV4_QUERY_BYTES];
	int r = make_path(call, path, sizeof(path), err);

	if (r < 0)
		return r;
	if (sigv4_query(call->query, call->queries, query, sizeof(query)) < 0 ||
	    (size_t)snprintf(call->http.url, HTTP_URL_BYTES, "%s://%s%s%s%s", s3->tls ? "https" : "http",
			     host, path, query[0] ? "?" : "", query) >= HTTP_URL_BYTES)
		return error_set(err, -EINVAL, "the request's URL is too long");
	if (s3->anonymous)
		return 0;
	return add_signature(call, host, path, query, err);
}
