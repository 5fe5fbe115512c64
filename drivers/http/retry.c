/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/http/retry.h"

#include <errno.h>

enum retry_class retry_class_of_status(long status)
{
	switch (status) {
	case 408:
	case 500:
	case 502:
	case 504:
	case 511: /* RFC 6585: the network between wants a login */
		return RETRY_SERVER;
	case 429:
	case 503:
		return RETRY_SLOW_DOWN;
	default:
		return RETRY_NEVER;
	}
}

enum retry_class retry_class_of_refusal(int code)
{
	return code == -EBADMSG || code == -ENONET ? RETRY_MALFORMED : RETRY_NEVER;
}

static const struct {
	CURLcode code;
	enum retry_class class;
	int result;
} codes[] = {
	{ CURLE_COULDNT_RESOLVE_PROXY, RETRY_CONNECT, -EHOSTUNREACH },
	{ CURLE_COULDNT_RESOLVE_HOST, RETRY_CONNECT, -EHOSTUNREACH },
	{ CURLE_COULDNT_CONNECT, RETRY_CONNECT, -ECONNREFUSED },
	{ CURLE_PROXY, RETRY_CONNECT, -ECONNREFUSED },
	{ CURLE_SSL_CONNECT_ERROR, RETRY_CONNECT, -EIO },
	{ CURLE_OPERATION_TIMEDOUT, RETRY_TIMEOUT, -ETIMEDOUT },
	{ CURLE_GOT_NOTHING, RETRY_RESET, -ECONNRESET },
	{ CURLE_SEND_ERROR, RETRY_RESET, -ECONNRESET },
	{ CURLE_RECV_ERROR, RETRY_RESET, -ECONNRESET },
	{ CURLE_PARTIAL_FILE, RETRY_RESET, -ECONNRESET },
	{ CURLE_HTTP2, RETRY_RESET, -ECONNRESET },
	{ CURLE_HTTP2_STREAM, RETRY_RESET, -ECONNRESET },
	{ CURLE_WEIRD_SERVER_REPLY, RETRY_MALFORMED, -EBADMSG },
	{ CURLE_UNSUPPORTED_PROTOCOL, RETRY_MALFORMED, -EBADMSG }, /* the server's answer is not HTTP */
	{ CURLE_FILESIZE_EXCEEDED, RETRY_MALFORMED, -EBADMSG },    /* a Content-Length of 2^63 or more */
	/* libcurl says so of a line of the head of more than 100 KB, too */
	{ CURLE_OUT_OF_MEMORY, RETRY_MALFORMED, -ENOMEM },
	{ CURLE_PEER_FAILED_VERIFICATION, RETRY_CONNECT, -ENOKEY },
	{ CURLE_SSL_ISSUER_ERROR, RETRY_CONNECT, -ENOKEY },
	/* Failures of this machine, for which another attempt does not help. */
	{ CURLE_SSL_CACERT_BADFILE, RETRY_NEVER, -EINVAL },
	{ CURLE_URL_MALFORMAT, RETRY_NEVER, -EINVAL },
	{ CURLE_FAILED_INIT, RETRY_NEVER, -EIO },
	{ CURLE_NOT_BUILT_IN, RETRY_NEVER, -EIO },
	{ CURLE_BAD_FUNCTION_ARGUMENT, RETRY_NEVER, -EIO },
	{ CURLE_UNKNOWN_OPTION, RETRY_NEVER, -EIO },
};

enum retry_class retry_class_of_curl(CURLcode code, bool connected)
{
	if (code == CURLE_OPERATION_TIMEDOUT && !connected)
		return RETRY_CONNECT;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == code && !(connected && codes[i].class == RETRY_NEVER))
			return codes[i].class;
	return RETRY_MALFORMED; /* something in the answer that libcurl could not read */
}

int retry_errno_of_curl(CURLcode code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == code)
			return codes[i].result;
	return -EIO;
}

int retry_errno_of_status(long status)
{
	switch (status) {
	case 400:
		return -EINVAL;
	case 401:
	case 403:
	case 407:
		return -EACCES;
	case 404:
	case 410:
		return -ENOENT;
	case 501:
		return -EOPNOTSUPP;
	default:
		return 0;
	}
}

uint64_t retry_delay_ms(uint32_t failures, uint64_t random_bits, uint64_t retry_after_s)
{
	uint64_t most = failures < 16 ? (uint64_t)RETRY_BASE_MS << failures : RETRY_CAP_MS;

	if (most > RETRY_CAP_MS)
		most = RETRY_CAP_MS;
	if (retry_after_s > RETRY_AFTER_S_MAX)
		retry_after_s = RETRY_AFTER_S_MAX;
	return retry_after_s * 1000 + random_bits % (most + 1);
}
