/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for the rows of the tables of keys. Private to config_keys.c and config_elements.c. */
#pragma once

#include "core/config/config_keys.h"

#define INT53     9007199254740992.0 /* 2^53: up to here JSON and double represent integers exactly */
#define GIB       1073741824.0
#define ANY_INT   0, INT53
#define NO_BOUNDS 0, 0
/* clang-format off */
#define NO_NAMES { 0 }

/* The keys of a store. FIELD(member) gives the offset of a member of struct config_store; `what`: the help of
 * the key url. */
#define STORE_KEYS(prefix, FIELD, what)										\
	{ prefix "url", KEY_URL, "", NULL, NO_BOUNDS, NO_NAMES, FIELD(url),					\
	  what ": s3://bucket/prefix, lakefs://repository/branch/prefix, or file:///folder for a store on the local disk" },	\
	{ prefix "endpoint", KEY_ENDPOINT, "", "", NO_BOUNDS, NO_NAMES, FIELD(endpoint),			\
	  "S3 server or lakeFS server, https://host:port or http://host:port; empty = AWS in `region`" },	\
	{ prefix "region", KEY_REGION, "", "us-east-1", NO_BOUNDS, NO_NAMES, FIELD(region),			\
	  "region that requests are signed for" },								\
	{ prefix "credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, FIELD(credential),			\
	  "name of the credential; empty = AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY from the environment; if these are not set, requests are not signed" },	\
	{ prefix "ca_file", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, FIELD(ca_file),				\
	  "PEM file of the certificate authorities to trust; empty = the system's" },				\
	{ prefix "url_style", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "path", "virtual" }, FIELD(url_style),	\
	  "where the bucket's name goes: path = in the path, virtual = in the host name, auto = virtual for AWS, path otherwise" },			\
	{ prefix "http2", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FIELD(http2),				\
	  "allow HTTP/2; several HTTP/1.1 connections are faster with most stores" },				\
	{ prefix "presign", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FIELD(presign),				\
	  "lakefs:// only: whether objects are read straight from the store below lakeFS, by pre-signed URLs" }
/* clang-format on */
