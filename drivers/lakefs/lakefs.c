/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/lakefs/lakefs_call.h"
#include "drivers/store/credential.h"

#include <mbedtls/base64.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS 10000u
#define LOW_SPEED_S        30u
#define ATTEMPTS_MAX       8u

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
	return value ? value : fallback;
}

static int open_http(struct lakefs *lakefs, const struct config_store *where, struct error *err)
{
	const struct store_options *given = &lakefs->options;
	const struct http_options options = {
		.connections = 1,
		.attempts_max = (uint32_t)or_default(given->attempts_max, ATTEMPTS_MAX),
		.patience_ms = given->patience_ms,
		.connect_timeout_ms = or_default(given->connect_timeout_ms, CONNECT_TIMEOUT_MS),
		.low_speed_bytes_per_s = 1,
		.low_speed_s = or_default(given->low_speed_s, LOW_SPEED_S),
		.ca_file = where->ca_file ? where->ca_file : "",
		.http2 = where->http2,
	};

	return http_open(&options, &lakefs->http, err);
}

/* Makes the header of Basic authentication, with the access key as user and its secret as password. */
static int authorize(struct lakefs *lakefs, const char *credential, struct error *err)
{
	struct credential key;
	char text[CREDENTIAL_ID_BYTES + CREDENTIAL_SECRET_BYTES], *out = lakefs->authorization;
	const size_t scheme = strlen("Basic ");
	size_t bytes;
	int r = credential_load(credential, &key, err);

	if (r == 0 && !key.access_key_id[0])
		r = error_set(err, -EKEYREJECTED,
			      "lakefs://%s: no credential is given, and AWS_ACCESS_KEY_ID is not in the "
			      "environment; lakeFS takes no request without an access key",
			      lakefs->repository);
	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), "%s:%s", key.access_key_id, key.secret_access_key);
	memcpy(out, "Basic ", scheme + 1);
	if (mbedtls_base64_encode((unsigned char *)out + scheme, sizeof(lakefs->authorization) - scheme,
				  &bytes, (unsigned char *)text, strlen(text)) != 0)
		r = error_set(err, -EKEYREJECTED, "lakefs://%s: the access key is too long",
			      lakefs->repository);
	mbedtls_platform_zeroize(text, sizeof(text));
	credential_clear(&key);
	return r;
}

int lakefs_open(const struct config_store *where, const struct store_options *options,
		struct lakefs **ret_lakefs, struct error *err)
{
	CLEANUP(lakefs_closep) struct lakefs *lakefs = calloc(1, sizeof(*lakefs));
	struct config_lakefs parts;
	size_t endpoint_bytes;
	int r = config_store_check(where, err);

	if (!lakefs)
		return error_set(err, -ENOMEM, "no memory for lakeFS");
	if (r < 0)
		return r;
	if (!config_lakefs(where->url, &parts))
		return error_set(err, -EINVAL, "url: found \"%.200s\", expected lakefs://repository/branch",
				 where->url);
	memcpy(lakefs->repository, parts.repository, sizeof(lakefs->repository));
	endpoint_bytes = strlen(where->endpoint);
	endpoint_bytes -= endpoint_bytes && where->endpoint[endpoint_bytes - 1] == '/';
	(void)snprintf(lakefs->base, sizeof(lakefs->base), "%.*s/api/v1", (int)endpoint_bytes,
		       where->endpoint);
	lakefs->options = options ? *options : (struct store_options){ 0 };
	if ((r = authorize(lakefs, where->credential, err)) < 0 || (r = open_http(lakefs, where, err)) < 0)
		return r;
	*ret_lakefs = TAKE(lakefs);
	return 0;
}

void lakefs_close(struct lakefs *lakefs)
{
	if (!lakefs)
		return;
	http_close(lakefs->http);
	mbedtls_platform_zeroize(lakefs->authorization, sizeof(lakefs->authorization));
	free(lakefs);
}

void lakefs_closep(struct lakefs **lakefs)
{
	lakefs_close(*lakefs);
}
