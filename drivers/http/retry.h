/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which failures may pass, and how long to wait before the next attempt. Pure functions.
 *
 * The class of a failure is decided once, where status and libcurl's code are known; nothing above compares
 * texts. Classes are counted apart, since they ask for different mends: connect and timeout for the network
 * or the name, reset for something between, server for the store's own fault, slow_down for a lower pace
 * (pace.h).
 *
 * The wait is drawn at random from the whole interval up to the bound ("full jitter"), so that many requests
 * that failed together do not come back together.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

enum retry_class {
	RETRY_NEVER,     /* no failure, or another attempt does not help */
	RETRY_CONNECT,   /* name not resolved, connection refused or not made in time */
	RETRY_TIMEOUT,   /* slower than the least speed, or longer than the time limit */
	RETRY_RESET,     /* the connection was cut in the middle */
	RETRY_SERVER,    /* 500, 502, 504, 408 */
	RETRY_SLOW_DOWN, /* 429, 503: the server asks for less */
	RETRY_MAX,
};

/* Upper bound of the first delay, and of every delay: the bound doubles with each failure. AWS SDKs wait for
 * up to 20 s; here 10 s after the end of a fault nothing may wait for it any more. */
#define RETRY_BASE_MS 200u
#define RETRY_CAP_MS  8000u
/* A longer Retry-After counts as this: then the request fails and its owner decides. */
#define RETRY_AFTER_S_MAX 120u

enum retry_class retry_class_of_status(long status);
/* `connected`: the attempt had a connection, so that a time-out is RETRY_TIMEOUT and not RETRY_CONNECT. */
enum retry_class retry_class_of_curl(CURLcode code, bool connected);

/* A uniform choice (from 64 random bits) in [0, min(RETRY_CAP_MS, RETRY_BASE_MS * 2^failures)], added to what
 * the server asked for. `failures` does not count the last one. */
uint64_t retry_delay_ms(uint32_t failures, uint64_t random_bits, uint64_t retry_after_s);

/* The errno of a transfer that ended with this code. */
int retry_errno_of_curl(CURLcode code);
