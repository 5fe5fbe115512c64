/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.jsonl, beside shards: one shard a line, written last by whoever made them (kiln prep), read by
 * fetchd as a hint that is checked against the listing.
 *     {"key":"train-00000-of-00050.tfrecord.gz","size":1048576,"etag":"...","sha256":"...","records":500}
 * Keys are relative to the folder that the manifest lies in. etag, sha256 and records may be missing.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define MANIFEST_NAME "manifest.jsonl"
/* Beside shards while they are written, put first and deleted last: a set where it lies is not whole, and no
 * run begins with it. */
#define MANIFEST_INCOMPLETE_NAME "prep.incomplete"

#define MANIFEST_KEY_MAX    1024u
#define MANIFEST_ETAG_MAX   128u
#define MANIFEST_LINE_BYTES 8192u /* longest line: a key of control characters, six bytes each */

struct manifest_line {
	char key[MANIFEST_KEY_MAX + 1];
	uint64_t size;
	char etag[MANIFEST_ETAG_MAX]; /* "" = not known */
	char sha256[65];              /* "" = not known */
	uint64_t records;             /* 0 = not known */
};

/* Errors: -EBADMSG what is wrong. */
MUST_CHECK int manifest_parse(const char *text, uint64_t bytes, struct manifest_line *ret_line,
			      struct error *err);
