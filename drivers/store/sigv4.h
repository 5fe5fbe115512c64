/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AWS Signature Version 4 in the Authorization header, as S3 wants it: the path is encoded once and never
 * normalised. Pure functions: the time is an argument.
 *
 * Source: AWS General Reference, "Create a signed AWS API request"; S3 API, "Authenticating Requests (AWS
 * Signature Version 4)".
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGV4_PAIRS_MAX           16u
#define SIGV4_QUERY_BYTES         16384u
#define SIGV4_TIME_BYTES          17u /* "20130524T000000Z" */
#define SIGV4_AUTHORIZATION_BYTES 1024u
#define SIGV4_EMPTY_SHA256        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct sigv4_pair {
	const char *name, *value;
};

struct sigv4_key {
	const char *access_key_id, *secret_access_key;
	const char *region, *service;
};

struct sigv4_request {
	const char *method;
	const char *path;                 /* as sent on the wire: from sigv4_encode(), with its leading '/' */
	const char *query;                /* as sent on the wire: from sigv4_query(), "" = none */
	const struct sigv4_pair *headers; /* to sign: lower-case names in bytewise order */
	size_t headers_count;
	const char *payload_sha256; /* hex, or UNSIGNED-PAYLOAD */
};

/* "20130524T000000Z". */
void sigv4_time(int64_t unix_s, char out[static SIGV4_TIME_BYTES]);

/* Percent-encode all bytes but A-Z a-z 0-9 - . _ ~ (and '/' where `plain_slash`); NUL-terminates.
 * Errors: -ENAMETOOLONG. */
MUST_CHECK int sigv4_encode(const char *text, bool plain_slash, char *out, size_t out_bytes);

/* Encode and sort parameters into "a=1&b=2"; at most SIGV4_PAIRS_MAX and
 * SIGV4_QUERY_BYTES. Errors: -ENAMETOOLONG. */
MUST_CHECK int sigv4_query(const struct sigv4_pair *pairs, size_t count, char *out, size_t out_bytes);

/* The value of the Authorization header. Errors: -ENAMETOOLONG. */
MUST_CHECK int sigv4_authorization(const struct sigv4_request *request, const struct sigv4_key *key,
				   const char time[static SIGV4_TIME_BYTES],
				   char out[static SIGV4_AUTHORIZATION_BYTES]);
