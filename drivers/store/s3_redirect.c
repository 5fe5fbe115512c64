/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_redirect.h"
#include "drivers/store/s3_call.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define REDIRECTS_MAX 5u

static bool ends_with(const char *text, const char *end)
{
	size_t text_bytes = strlen(text), end_bytes = strlen(end);

	return text_bytes >= end_bytes && !strcasecmp(text + text_bytes - end_bytes, end);
}

/* Returns whether a host below amazonaws.com is one of S3: one of its names is "s3", or begins with "s3-".
 * Others, such as those of an API gateway, belong to customers of AWS. */
static bool is_of_s3(const char *host)
{
	for (const char *name = host; name; name = strchr(name, '.'), name += name != NULL)
		if (!strncasecmp(name, "s3.", 3) || !strncasecmp(name, "s3-", 3))
			return true;
	return false;
}

/* Returns whether AWS redirects to another of its endpoints, and not to a presigned URL. A presigned URL has
 * "X-Amz-Signature=" or "Signature=" in its query. */
static bool is_other_endpoint(const struct s3_call *call, const char *host, const char *query)
{
	return call->s3->aws && call->s3->tls && ends_with(host, ".amazonaws.com") && is_of_s3(host) &&
	       !(query && strcasestr(query, "signature="));
}

static bool is_safe(const struct s3_call *call)
{
	return call->method == HTTP_GET || call->method == HTTP_HEAD;
}

/* Writes "host:port". Returns false where the URL has no host. */
static bool place_of(CURLU *url, char out[static S3_HOST_BYTES])
{
	CLEANUP(s3_url_free_part) char *host = NULL;
	CLEANUP(s3_url_free_part) char *port = NULL;

	if (curl_url_get(url, CURLUPART_HOST, &host, 0) ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT))
		return false;
	return (size_t)snprintf(out, S3_HOST_BYTES, "%s:%s", host, port) < S3_HOST_BYTES;
}

/* Sets a path and a query on the URL's own host. libcurl 8 would resolve "//" and ".." in them, which belong
 * to the key and are signed; of an absolute URL it keeps them. */
static CURLUcode set_path(CURLU *url, const char *path)
{
	CLEANUP(s3_url_free_part) char *whole = NULL;
	char absolute[HTTP_URL_BYTES];
	int bytes;

	if (curl_url_set(url, CURLUPART_PATH, "/", 0) || curl_url_set(url, CURLUPART_QUERY, NULL, 0) ||
	    curl_url_get(url, CURLUPART_URL, &whole, 0))
		return CURLUE_MALFORMED_INPUT;
	bytes = snprintf(absolute, sizeof(absolute), "%s%s", whole, path + 1);
	if (bytes < 0 || (size_t)bytes >= sizeof(absolute))
		return CURLUE_MALFORMED_INPUT;
	return curl_url_set(url, CURLUPART_URL, absolute, CURLU_PATH_AS_IS);
}

static CURLUcode go_to(CURLU *url, const char *location)
{
	if (location[0] == '/' && location[1] != '/')
		return set_path(url, location);
	return curl_url_set(url, CURLUPART_URL, location, CURLU_PATH_AS_IS);
}

/* Makes the URL of the redirect absolute, as it may be relative, and sets call->location or call->host. */
static int read_location(struct s3_call *call, const char *location, struct error *err)
{
	char own[S3_HOST_BYTES], place[S3_HOST_BYTES];
	CLEANUP(s3_url_free) CURLU *url = curl_url();
	CLEANUP(s3_url_free_part) char *whole = NULL;
	CLEANUP(s3_url_free_part) char *scheme = NULL;
	CLEANUP(s3_url_free_part) char *host = NULL;
	CLEANUP(s3_url_free_part) char *query = NULL;

	if (!url || curl_url_set(url, CURLUPART_URL, call->http.url, CURLU_PATH_AS_IS) ||
	    !place_of(url, own) || go_to(url, location) || curl_url_get(url, CURLUPART_URL, &whole, 0) ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) || curl_url_get(url, CURLUPART_HOST, &host, 0) ||
	    !place_of(url, place) || strlen(whole) >= sizeof(call->location))
		return error_set(err, -EBADMSG, "the server redirects to a URL that makes no sense");
	if (strcmp(scheme, "https") != 0 && (call->s3->tls || strcmp(scheme, "http") != 0))
		return error_set(err, -EBADMSG, "the server redirects to %s://%.200s: not followed", scheme,
				 host);
	(void)curl_url_get(url, CURLUPART_QUERY, &query, 0);
	if (is_other_endpoint(call, host, query) && strlen(host) < sizeof(call->host)) {
		call->location[0] = 0;
		(void)snprintf(call->host, sizeof(call->host), "%s", host);
	} else if (!is_safe(call) && strcasecmp(own, place) != 0) {
		return error_set(
			err, -ENONET,
			"the network answers for the store: the %s is redirected to %.200s, not followed",
			http_method_name(call->method), place);
	} else {
		(void)snprintf(call->location, sizeof(call->location), "%s", whole);
	}
	return HTTP_AGAIN;
}

int s3_redirect_follow(struct s3_call *call, struct error *err)
{
	const char *location = http_header(&call->http, "location");
	long status = call->http.status;
	bool rewrites = status >= 301 && status <= 303; /* a write would become a GET */
	int r;

	if (!location[0] || !(status == 307 || status == 308 || rewrites))
		return 0;
	if (++call->redirects > REDIRECTS_MAX)
		return error_set(err, -EBADMSG, "the server redirects more than %u times", REDIRECTS_MAX);
	r = read_location(call, location, err);
	if (r == HTTP_AGAIN && rewrites && !is_safe(call))
		return 0;
	call->follow = r == HTTP_AGAIN;
	return r;
}

/* ---- ETags behind redirects ---- */

/* FNV-1a of 64 bits. Returns 1 in place of 0, because 0 marks a free slot. Collisions are ignored: two keys
 * of one run would need the same 64 bits. */
static uint64_t hash(const char *text)
{
	uint64_t value = 0xcbf29ce484222325u;

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 0x100000001b3u;
	return value ? value : 1;
}

static struct s3_seen_etag *find(struct s3_seen *seen, uint64_t key)
{
	size_t at = key & (seen->size - 1);

	while (seen->slots[at].key && seen->slots[at].key != key)
		at = (at + 1) & (seen->size - 1);
	return &seen->slots[at];
}

static int grow(struct s3_seen *seen)
{
	struct s3_seen larger = { .size = seen->size ? 2 * seen->size : 256, .used = seen->used };

	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < seen->size; i++)
		if (seen->slots[i].key)
			*find(&larger, seen->slots[i].key) = seen->slots[i];
	free(seen->slots);
	*seen = larger;
	return 0;
}

int s3_seen_check(struct s3_call *call, const char *etag, struct error *err)
{
	struct s3_seen *seen = &call->s3->seen;
	struct s3_seen_etag *slot;

	if (seen->used * 2 >= seen->size && grow(seen) < 0)
		return error_set(err, -ENOMEM, "no memory for the ETags of redirected objects");
	slot = find(seen, hash(call->key));
	if (!slot->key) {
		*slot = (struct s3_seen_etag){ hash(call->key), hash(etag) };
		seen->used++;
	}
	if (slot->etag != hash(etag))
		return error_set(
			err, -ESTALE,
			"the object behind the redirect changed: found \"%s\", not what the first answer had",
			etag);
	return 0;
}
