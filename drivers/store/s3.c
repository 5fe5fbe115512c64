/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3.h"
#include "drivers/store/s3_request.h"

#include <string.h>
#include <strings.h>

#define REGION_DEFAULT "us-east-1"

static struct store_counters s3_counters(const struct store *store)
{
	const struct s3_store *s3 = (const struct s3_store *)store;
	struct http_counters http = http_counters_of(s3->http);

	return (struct store_counters){
		.requests = http.requests,
		.bytes_in = http.bytes_in,
		.bytes_out = http.bytes_out,
		.connections = http.connections,
		.at_once = http.at_once,
		.pace = http.pace,
		.hedged = s3->hedge.asked,
		.hedges_won = s3->hedge.won,
		.retries_connect = http.retries[RETRY_CONNECT],
		.retries_timeout = http.retries[RETRY_TIMEOUT],
		.retries_reset = http.retries[RETRY_RESET],
		.retries_server = http.retries[RETRY_SERVER],
		.retries_slow_down = http.retries[RETRY_SLOW_DOWN],
		.retries_malformed = http.retries[RETRY_MALFORMED],
	};
}

/* ---- Open and close ---- */

static void s3_close(struct store *store)
{
	struct s3_store *s3 = s3_store_of(store);

	http_close(s3->http);
	s3_calls_done(s3);
	credential_clear(&s3->credential);
	explicit_bzero(&s3->day, sizeof(s3->day));
	free(s3->seen.slots);
	s3_hedge_done(&s3->hedge);
	free(store->url);
	free(s3);
}

static void s3_closep(struct s3_store **s3)
{
	if (*s3)
		s3_close(&(*s3)->store);
}

static const struct store_ops s3_ops = {
	.close = s3_close,
	.list = s3_list,
	.list_versions = s3_list_versions,
	.versions_refused = s3_versions_refused,
	.stat = s3_stat,
	.get_all = s3_get_all,
	.put = s3_put,
	.put_file = s3_put_file,
	.abort_stale = s3_abort_stale,
	.delete = s3_delete,
	.submit = s3_submit,
	.drive = s3_drive,
	.wake = s3_wake,
	.cancel = s3_cancel,
	.cancel_all = s3_cancel_all,
	.counters = s3_counters,
};

/* Stores the prefix with a slash at its end, so that it can be put before each key. */
static void set_prefix(struct s3_store *s3, const char *ref, const char *prefix)
{
	const char *slash = *ref ? "/" : "";
	size_t bytes = strlen(prefix);

	if (bytes && prefix[bytes - 1] == '/')
		bytes--;
	(void)snprintf(s3->prefix, sizeof(s3->prefix), "%s%s%.*s%s", ref, slash, (int)bytes, prefix,
		       bytes ? "/" : "");
}

/* Splits s3://bucket/prefix, or lakefs://repository/ref/prefix: to lakeFS's S3 gateway a repository is a
 * bucket, whose keys begin with a ref. */
static void read_url(struct s3_store *s3, const struct config_store *where)
{
	const char *bucket = where->url + sizeof("s3://") - 1;
	size_t bytes = strcspn(bucket, "/");
	struct config_lakefs parts;

	s3->lakefs = config_lakefs(where->url, &parts);
	s3->presign = s3->lakefs && where->presign;
	if (s3->lakefs) {
		(void)snprintf(s3->bucket, sizeof(s3->bucket), "%s", parts.repository);
		set_prefix(s3, where->at[0] ? where->at : parts.ref, parts.prefix);
		return;
	}
	(void)snprintf(s3->bucket, sizeof(s3->bucket), "%.*s", (int)bytes, bucket);
	set_prefix(s3, "", bucket + bytes + (bucket[bytes] == '/'));
}

static void set_host(struct s3_store *s3, const char *scheme, const char *host, const char *port)
{
	s3->tls = !strcmp(scheme, "https");
	/* curl sends no port in the Host: header where it is the default port of http or https, so the signed
	 * header must not have it either.
	 */
	if (port && !strcmp(port, s3->tls ? "443" : "80"))
		port = NULL;
	(void)snprintf(s3->host, sizeof(s3->host), "%s%s%s", host, port ? ":" : "", port ? port : "");
}

/* Parses the endpoint by means of curl, because curl changes how some hosts are written, and the signed host
 * must be the one that curl sends. */
static int read_endpoint(struct s3_store *s3, const char *endpoint, struct error *err)
{
	CLEANUP(s3_url_free) CURLU *url = curl_url();
	CLEANUP(s3_url_free_part) char *scheme = NULL;
	CLEANUP(s3_url_free_part) char *host = NULL;
	CLEANUP(s3_url_free_part) char *port = NULL;

	if (!url || curl_url_set(url, CURLUPART_URL, endpoint, 0) ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) || curl_url_get(url, CURLUPART_HOST, &host, 0))
		return error_set(err, -EINVAL, "endpoint '%s': curl cannot read it", endpoint);
	(void)curl_url_get(url, CURLUPART_PORT, &port, 0);
	set_host(s3, scheme, host, port);
	return 0;
}

/* Sets the host of AWS for the region (S3 User Guide, "Amazon S3 endpoints"). */
static void use_aws(struct s3_store *s3)
{
	s3->tls = s3->aws = true;
	(void)snprintf(s3->host, sizeof(s3->host), "s3.%s.amazonaws.com%s", s3->region,
		       strncmp(s3->region, "cn-", 3) ? "" : ".cn");
}

/* Chooses between bucket.host (virtual-hosted style) and host/bucket (path style). By default AWS gets
 * virtual-hosted style, unless the bucket's name has a dot: AWS's wildcard certificate would not match that
 * host. */
static void choose_style(struct s3_store *s3, int style)
{
	char host[CONFIG_HOST_MAX + sizeof(":65535")];

	s3->path_style =
		style == URL_STYLE_PATH || (style == URL_STYLE_AUTO && (!s3->aws || strchr(s3->bucket, '.')));
	if (s3->path_style)
		return;
	memcpy(host, s3->host, sizeof(host));
	host[sizeof(host) - 1] = '\0';
	(void)snprintf(s3->host, sizeof(s3->host), "%s.%s", s3->bucket, host);
}

/* Sets bucket, region and host. config_store_check() has checked the lengths of all texts in `where`, so they
 * fit into the buffers here. */
static int place(struct s3_store *s3, const struct config_store *where, struct error *err)
{
	const char *region = where->region && where->region[0] ? where->region : REGION_DEFAULT;
	int r = 0;

	read_url(s3, where);
	(void)snprintf(s3->region, sizeof(s3->region), "%s", region);
	if (where->endpoint && where->endpoint[0])
		r = read_endpoint(s3, where->endpoint, err);
	else
		use_aws(s3);
	choose_style(s3, where->url_style);
	return r;
}

static int configure(struct s3_store *s3, const struct config_store *where, struct error *err)
{
	int r = place(s3, where, err);

	if (r == 0)
		r = credential_load(where->credential, &s3->credential, err);
	s3->anonymous = !s3->credential.access_key_id[0];
	return r;
}

int store_s3_host(const struct config_store *where, char out[static STORE_HOST_BYTES], struct error *err)
{
	CLEANUP(free_ptr) struct s3_store *s3 = calloc(1, sizeof(*s3));
	const char *host;
	int r;

	if (!s3)
		return error_set(err, -ENOMEM, "no memory for a store");
	if ((r = place(s3, where, err)) < 0)
		return r;
	/* An IPv6 address stands in brackets, because it contains colons. */
	host = s3->host + (*s3->host == '[');
	(void)snprintf(out, STORE_HOST_BYTES, "%.*s", (int)strcspn(host, *s3->host == '[' ? "]" : ":"), host);
	return 0;
}

int store_s3_open(const struct config_store *where, const struct store_options *options,
		  struct store **ret_store, struct error *err)
{
	CLEANUP(s3_closep) struct s3_store *s3 = calloc(1, sizeof(*s3));
	struct http_options http = { .connections = options->connections,
				     .connections_max = options->connections_max,
				     .target_bytes_per_s = options->target_bytes_per_s,
				     .attempts_max = options->attempts_max,
				     .patience_ms = options->patience_ms,
				     .connect_timeout_ms = options->connect_timeout_ms,
				     .low_speed_bytes_per_s = options->low_speed_bytes_per_s,
				     .low_speed_s = options->low_speed_s,
				     .ca_file = where->ca_file,
				     .http2 = where->http2 };
	int r;

	if (!s3)
		return error_set(err, -ENOMEM, "no memory for a store");
	s3->store = (struct store){ .ops = &s3_ops, .url = strdup(where->url), .options = *options };
	if (!s3->store.url)
		return error_set(err, -ENOMEM, "no memory for a store");
	/* s3_call_new() works without the pool, too: it then allocates calls one by one. */
	s3->pool_calls = options->requests ? options->requests + S3_HEDGES_MAX : 0;
	s3->pool = s3->pool_calls ? malloc(s3->pool_calls * sizeof(*s3->pool)) : NULL;
	r = http_open(&http, &s3->http, err);
	if (r == 0)
		r = s3_hedge_open(&s3->hedge, options, err);
	if (r == 0)
		r = configure(s3, where, err);
	if (r < 0)
		return r;
	*ret_store = &TAKE(s3)->store;
	return 0;
}
