/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides after which failures another attempt may help, and how long to wait before it. Pure functions.
 *
 * The class of a failure is decided once, where the HTTP status and libcurl's code are known; callers never
 * compare texts. Each class is counted separately, because each has another remedy: connect and timeout mean
 * a fault of the network or of the endpoint's name, reset a device between box and store, server a fault of
 * the store, slow_down a pace that is too high (pace.h), malformed something that changes the store's answers
 * or gives its own.
 *
 * The wait is drawn at random from the whole interval up to the bound ("full jitter"), so that many requests
 * that failed together do not come back together.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

enum retry_class {
	RETRY_NEVER, /* no failure, or another attempt does not help */
	/* the name was not resolved, the connection was refused or took too long, or the certificate does not
	 * verify: the network may have a login page in front of the server for a while */
	RETRY_CONNECT,
	RETRY_TIMEOUT,   /* slower than low_speed_bytes_per_s, or over the time limit */
	RETRY_RESET,     /* the connection was cut in the middle */
	RETRY_SERVER,    /* HTTP status 500, 502, 504, 511 or 408 */
	RETRY_SLOW_DOWN, /* HTTP status 429 or 503: the server asks for fewer requests */
	RETRY_MALFORMED, /* the answer makes no sense, or does not come from the server */
	RETRY_MAX,
};

/* RETRY_BASE_MS is the upper bound of the first delay. The bound doubles with each failure, up to
 * RETRY_CAP_MS. AWS SDKs wait for up to 20 s; here every request must be in flight again 10 s after the end
 * of a fault. */
#define RETRY_BASE_MS 200u
#define RETRY_CAP_MS  8000u
/* A longer Retry-After is cut to this. A request whose server still refuses then fails, and the caller
 * decides. */
#define RETRY_AFTER_S_MAX 120u

enum retry_class retry_class_of_status(long status);
/* The class of an answer that was refused with this errno: RETRY_MALFORMED for -EBADMSG and -ENONET, else
 * RETRY_NEVER. */
enum retry_class retry_class_of_refusal(int code);
/* `connected`: the attempt had a connection, so that a time-out is RETRY_TIMEOUT and not RETRY_CONNECT.
 * A code that the table does not have is RETRY_MALFORMED: most codes say that something in the answer is
 * wrong. So does each code once there was a connection: libcurl calls an answer whose head begins with a
 * continued line a bad argument. */
enum retry_class retry_class_of_curl(CURLcode code, bool connected);

/* Returns the wait that the server asked for, plus a random delay between 0 and min(RETRY_CAP_MS,
 * RETRY_BASE_MS * 2^failures), chosen by `random_bits`. `failures` is the number of failures before the last
 * one. */
uint64_t retry_delay_ms(uint32_t failures, uint64_t random_bits, uint64_t retry_after_s);

/* Returns the errno of a status that means the same to every server: -EINVAL 400, -EACCES 401, 403, 407,
 * -ENOENT 404, 410, -EOPNOTSUPP 501; 0 = the server says what the status means. */
int retry_errno_of_status(long status);
/* Returns the errno for a transfer that ended with this code of libcurl. */
int retry_errno_of_curl(CURLcode code);
