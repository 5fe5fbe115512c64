/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes AWS Signature Version 4 for the Authorization header in the variant of S3: the path is encoded
 * once and not normalised. Pure functions: the caller passes the time.
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
#define SIGV4_TIME_BYTES          17u /* a time such as "20130524T000000Z", and a NUL */
#define SIGV4_AUTHORIZATION_BYTES 1024u
#define SIGV4_EMPTY_SHA256        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct sigv4_pair {
	const char *name, *value;
};

/* The signing key of a day, which all requests of the day share. Zeroed at the start. */
struct sigv4_day {
	char date[9]; /* "20130524"; "" = none yet */
	uint8_t key[32];
};

struct sigv4_key {
	const char *access_key_id, *secret_access_key;
	const char *region, *service;
	/* NULL, or where the signing key is kept from request to request; it belongs to the other members */
	struct sigv4_day *day;
};

struct sigv4_request {
	const char *method;
	const char *path;                 /* encoded by sigv4_encode(), with the '/' at the beginning */
	const char *query;                /* encoded by sigv4_query(); "" = none */
	const struct sigv4_pair *headers; /* headers to sign: names in lower case, in bytewise order */
	size_t headers_count;
	const char *payload_sha256; /* SHA-256 of the body in hex, or "UNSIGNED-PAYLOAD" */
};

/* Writes the time as "20130524T000000Z". */
void sigv4_time(int64_t unix_s, char out[static SIGV4_TIME_BYTES]);

/* Percent-encodes all bytes except A-Z a-z 0-9 - . _ ~ and, with `plain_slash`, '/'. Ends the text with a
 * NUL. Errors: -ENAMETOOLONG. */
MUST_CHECK int sigv4_encode(const char *text, bool plain_slash, char *out, size_t out_bytes);

/* Encodes the parameters and writes them as "a=1&b=2" in the order that the signature needs. Errors:
 * -ENAMETOOLONG more than SIGV4_PAIRS_MAX parameters or SIGV4_QUERY_BYTES bytes. */
MUST_CHECK int sigv4_query(const struct sigv4_pair *pairs, size_t count, char *out, size_t out_bytes);

/* Computes the value of the Authorization header. Errors: -ENAMETOOLONG. */
MUST_CHECK int sigv4_authorization(const struct sigv4_request *request, const struct sigv4_key *key,
				   const char time[static SIGV4_TIME_BYTES],
				   char out[static SIGV4_AUTHORIZATION_BYTES]);
