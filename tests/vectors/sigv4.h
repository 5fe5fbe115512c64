/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published AWS Signature Version 4 values.
 *
 * Suite: "AWS Signature Version 4 test suite" (aws-sig-v4-test-suite, 2015), as kept in
 * github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4/NAME/header-signed-request.txt; key
 * AKIDEXAMPLE, region us-east-1, service "service", time 20150830T123600Z. Of the path cases only those that
 * do not normalise apply: S3 never does.
 *
 * S3: Amazon S3 API Reference, "Signature Calculations for the Authorization Header: Transferring Payload in
 * a Single Chunk", its four examples; key AKIAIOSFODNN7EXAMPLE, region us-east-1, service s3, time
 * 20130524T000000Z.
 */
#pragma once

#include "drivers/store/sigv4.h"

#define SUITE_SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define S3_SECRET    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define ALNUM_ETC    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define SUITE_TOKEN  "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
#define SUITE_HEADERS                            \
	{ "host", "example.amazonaws.com" },     \
	{                                        \
		"x-amz-date", "20150830T123600Z" \
	}
#define S3_HEADERS(sha256)                       \
	{ "x-amz-content-sha256", sha256 },      \
	{                                        \
		"x-amz-date", "20130524T000000Z" \
	}
#define S3_HOST_HEADER                                   \
	{                                                \
		"host", "examplebucket.s3.amazonaws.com" \
	}
#define PUT_SHA256 "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"

static const struct sigv4_vector {
	const char *name;
	bool s3;
	const char *method, *key; /* before encoding */
	struct sigv4_pair query[3], headers[6];
	const char *payload_sha256, *signature;
} sigv4_vectors[] = {
	{ "get-vanilla",
	  false,
	  "GET",
	  "/",
	  {},
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
	{ "get-vanilla-query-order-key-case",
	  false,
	  "GET",
	  "/",
	  { { "Param2", "value2" }, { "Param1", "value1" } },
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
	{ "get-vanilla-query-order-encoded",
	  false,
	  "GET",
	  "/",
	  { { "Param-3", "Value3" }, { "Param", "Value2" }, { "\xe1\x88\xb4", "Value1" } },
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac" },
	{ "get-vanilla-query-unreserved",
	  false,
	  "GET",
	  "/",
	  { { ALNUM_ETC, ALNUM_ETC } },
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197" },
	{ "get-vanilla-utf8-query",
	  false,
	  "GET",
	  "/",
	  { { "\xe1\x88\xb4", "bar" } },
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04" },
	{ "get-vanilla-with-session-token",
	  false,
	  "GET",
	  "/",
	  {},
	  { SUITE_HEADERS, { "x-amz-security-token", SUITE_TOKEN } },
	  SIGV4_EMPTY_SHA256,
	  "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8" },
	{ "get-utf8",
	  false,
	  "GET",
	  "/\xe1\x88\xb4",
	  {},
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
	{ "get-unreserved",
	  false,
	  "GET",
	  "/" ALNUM_ETC,
	  {},
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f" },
	{ "get-space-unnormalized",
	  false,
	  "GET",
	  "/example space/",
	  {},
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741" },
	{ "get-slashes-unnormalized",
	  false,
	  "GET",
	  "//example//",
	  {},
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5" },
	{ "get-relative-relative-unnormalized",
	  false,
	  "GET",
	  "/example1/example2/../..",
	  {},
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df5e613003b" },
	{ "post-vanilla",
	  false,
	  "POST",
	  "/",
	  {},
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
	{ "post-vanilla-query",
	  false,
	  "POST",
	  "/",
	  { { "Param1", "value1" } },
	  { SUITE_HEADERS },
	  SIGV4_EMPTY_SHA256,
	  "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11" },
	{ "post-header-key-sort",
	  false,
	  "POST",
	  "/",
	  {},
	  { { "host", "example.amazonaws.com" },
	    { "my-header1", "value1" },
	    { "x-amz-date", "20150830T123600Z" } },
	  SIGV4_EMPTY_SHA256,
	  "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c" },
	{ "S3: GET Object",
	  true,
	  "GET",
	  "/test.txt",
	  {},
	  { S3_HOST_HEADER, { "range", "bytes=0-9" }, S3_HEADERS(SIGV4_EMPTY_SHA256) },
	  SIGV4_EMPTY_SHA256,
	  "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
	{ "S3: PUT Object",
	  true,
	  "PUT",
	  "/test$file.text",
	  {},
	  { { "date", "Fri, 24 May 2013 00:00:00 GMT" },
	    S3_HOST_HEADER,
	    S3_HEADERS(PUT_SHA256),
	    { "x-amz-storage-class", "REDUCED_REDUNDANCY" } },
	  PUT_SHA256,
	  "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
	{ "S3: GET Bucket Lifecycle",
	  true,
	  "GET",
	  "/",
	  { { "lifecycle", "" } },
	  { S3_HOST_HEADER, S3_HEADERS(SIGV4_EMPTY_SHA256) },
	  SIGV4_EMPTY_SHA256,
	  "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543" },
	{ "S3: List Objects",
	  true,
	  "GET",
	  "/",
	  { { "prefix", "J" }, { "max-keys", "2" } },
	  { S3_HOST_HEADER, S3_HEADERS(SIGV4_EMPTY_SHA256) },
	  SIGV4_EMPTY_SHA256,
	  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
};
