/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3.h"

#include <string.h>
#include <strings.h>

#define REGION_DEFAULT "us-east-1"

/* ---- Requests ---- */

struct s3_call *s3_call_of_request(struct s3_store *s3, struct store_request *request, struct error *err)
{
	struct s3_call *call = s3_call_new(s3, HTTP_GET, request->key, err);

	if (!call)
		return NULL;
	call->request = request;
	call->ranged = true;
	call->offset = request->offset;
	call->bytes = request->bytes;
	call->pin = request->pin;
	call->http.buffer = request->buffer;
	call->http.room = request->bytes;
	if (call->pin && call->pin->version[0])
		s3_call_query(call, "versionId", call->pin->version);
	return call;
}

static int s3_submit(struct store *store, struct store_request *request, struct error *err)
{
	struct s3_call *call;

	if (!request->bytes) {
		store_complete(store, request, 0);
		return 0;
	}
	call = s3_call_of_request(s3_store_of(store), request, err);
	if (!call)
		return -ENOMEM;
	request->work = call;
	request->times = (struct http_times){ 0 };
	call->http.times = &request->times; /* a second asking has none: it would hide how slow this one is */
	s3_call_start(call);
	return 0;
}

static int s3_drive(struct store *store, uint32_t timeout_ms, const struct store_request *until,
		    struct error *err)
{
	struct s3_store *s3 = s3_store_of(store);
	uint64_t look_us = s3_hedge_look(s3);

	if (look_us / 1000 < timeout_ms)
		timeout_ms = (uint32_t)(look_us / 1000) + 1;
	s3->completed = false;
	s3->until = until;
	return http_drive(s3->http, timeout_ms, &s3->completed, !until, err);
}

static void s3_wake(struct store *store)
{
	http_wake(s3_store_of(store)->http);
}

static void s3_cancel(struct store *store, struct store_request *request)
{
	struct s3_call *call = request->work;

	s3_hedge_drop_twin(call);
	s3_hedge_give_back(call);
	http_drop(s3_store_of(store)->http, &call->http);
	s3_call_free(call);
}

static void s3_cancel_all(struct store *store)
{
	http_cancel_all(s3_store_of(store)->http);
}

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
	};
}

/* ---- Open and close ---- */

static void s3_close(struct store *store)
{
	struct s3_store *s3 = s3_store_of(store);

	http_close(s3->http);
	s3_calls_done(s3);
	credential_clear(&s3->credential);
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

/* s3://bucket/prefix: keys then begin with "prefix/". */
static void take_url(struct s3_store *s3, const char *url)
{
	const char *bucket = url + sizeof("s3://") - 1, *prefix;
	size_t bucket_bytes = strcspn(bucket, "/"), bytes;

	prefix = bucket + bucket_bytes + (bucket[bucket_bytes] == '/');
	bytes = strlen(prefix);
	if (bytes && prefix[bytes - 1] == '/')
		bytes--;
	(void)snprintf(s3->bucket, sizeof(s3->bucket), "%.*s", (int)bucket_bytes, bucket);
	(void)snprintf(s3->prefix, sizeof(s3->prefix), "%.*s%s", (int)bytes, prefix, bytes ? "/" : "");
}

static void take_parts(struct s3_store *s3, const char *scheme, const char *host, const char *port)
{
	s3->tls = !strcmp(scheme, "https");
	/* curl's Host: header leaves the scheme's own port out, and so must the one that is signed. */
	if (port && !strcmp(port, s3->tls ? "443" : "80"))
		port = NULL;
	(void)snprintf(s3->host, sizeof(s3->host), "%s%s%s", host, port ? ":" : "", port ? port : "");
}

/* Read by curl, which writes some hosts in another way. */
static int take_endpoint(struct s3_store *s3, const char *endpoint, struct error *err)
{
	CLEANUP(s3_url_free) CURLU *url = curl_url();
	CLEANUP(s3_url_free_part) char *scheme = NULL;
	CLEANUP(s3_url_free_part) char *host = NULL;
	CLEANUP(s3_url_free_part) char *port = NULL;

	if (!url || curl_url_set(url, CURLUPART_URL, endpoint, 0) ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) || curl_url_get(url, CURLUPART_HOST, &host, 0))
		return error_set(err, -EINVAL, "endpoint '%s': curl cannot read it", endpoint);
	(void)curl_url_get(url, CURLUPART_PORT, &port, 0);
	take_parts(s3, scheme, host, port);
	return 0;
}

/* S3 User Guide, "Amazon S3 endpoints". */
static void take_aws(struct s3_store *s3)
{
	s3->tls = s3->aws = true;
	(void)snprintf(s3->host, sizeof(s3->host), "s3.%s.amazonaws.com%s", s3->region,
		       strncmp(s3->region, "cn-", 3) ? "" : ".cn");
}

/* Virtual where AWS is meant; a dot in a bucket's name does not match AWS's wildcard certificate. */
static void take_style(struct s3_store *s3, int style)
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

/* `where` is as config_store_check() wants it, so everything fits. */
static int configure(struct s3_store *s3, const struct config_store *where, struct error *err)
{
	const char *region = where->region && where->region[0] ? where->region : REGION_DEFAULT;
	int rc = 0;

	take_url(s3, where->url);
	(void)snprintf(s3->region, sizeof(s3->region), "%s", region);
	if (where->endpoint && where->endpoint[0])
		rc = take_endpoint(s3, where->endpoint, err);
	else
		take_aws(s3);
	take_style(s3, where->url_style);
	if (rc == 0)
		rc = credential_load(where->credential, &s3->credential, err);
	s3->anonymous = !s3->credential.access_key_id[0];
	return rc;
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
	int rc;

	if (!s3)
		return error_set(err, -ENOMEM, "no memory for a store");
	s3->store = (struct store){ .ops = &s3_ops, .url = strdup(where->url), .options = *options };
	if (!s3->store.url)
		return error_set(err, -ENOMEM, "no memory for a store");
	/* Without it they are allocated one by one. */
	s3->pool_calls = options->requests ? options->requests + S3_HEDGES_MAX : 0;
	s3->pool = s3->pool_calls ? malloc(s3->pool_calls * sizeof(*s3->pool)) : NULL;
	rc = http_open(&http, &s3->http, err);
	if (rc == 0)
		rc = s3_hedge_open(&s3->hedge, options, err);
	if (rc == 0)
		rc = configure(s3, where, err);
	if (rc < 0)
		return rc;
	*ret_store = &TAKE(s3)->store;
	return 0;
}
