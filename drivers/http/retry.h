/* SPDX-License-Identifier: Apache-2.0 */
/* Which failures may pass, and how long to wait before the next attempt. Pure functions. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

enum retry_class {
	RETRY_NEVER,     /* fine, or trying again does not help */
	RETRY_CONNECT,   /* name not resolved, connection refused or not made in time */
	RETRY_TIMEOUT,   /* stalled below the speed floor, or over the whole time */
	RETRY_RESET,     /* cut in the middle */
	RETRY_SERVER,    /* 500, 502, 504, 408 */
	RETRY_SLOW_DOWN, /* 429, 503: the server asks for less */
	RETRY_MAX,
};

/* First delay at most, and what it doubles to at most. AWS SDKs use 20 s; a fault that is over
 * is to be over everywhere within 10. */
#define RETRY_BASE_MS 200u
#define RETRY_CAP_MS  8000u
/* A longer Retry-After is cut: the supervisor then decides. */
#define RETRY_AFTER_S_MAX 120u

enum retry_class retry_class_of_status(long status);
/* `connected`: the attempt had a connection, so a time-out is not one of connecting. */
enum retry_class retry_class_of_curl(CURLcode code, bool connected);

/* Full jitter: a uniform choice (from 64 random bits) in [0, min(cap, base * 2^failures)], where `failures`
 * counts those before this one; on top of what the server asked for. */
uint64_t retry_delay_ms(uint32_t failures, uint64_t random_bits, uint64_t retry_after_s);

/* The errno that a transfer which ended with this code is reported as. */
int retry_errno_of_curl(CURLcode code);
