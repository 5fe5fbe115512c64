/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.jsonl, a file in the folder of shards: a line for each shard. kiln prep writes it after all
 * shards. fetchd reads it as a hint, and checks the hint against the listing of the store.
 *     {"key":"train-00000-of-00050.tfrecord.gz","size":1048576,"etag":"...","sha256":"...","records":500}
 * Keys are relative to the folder of the manifest. etag, sha256 and records may be missing.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>
#include <stdio.h>

#define MANIFEST_NAME "manifest.jsonl"
/* Key of a file that exists while shards are being written: it is written first and deleted last. No run
 * begins with shards beside which this file exists. */
#define MANIFEST_INCOMPLETE_NAME "prep.incomplete"

#define MANIFEST_KEY_MAX    1024u
#define MANIFEST_ETAG_MAX   128u
#define MANIFEST_BYTES_MAX  (UINT64_C(256) << 20) /* a line for each of a million shards */
#define MANIFEST_LINE_BYTES 8192u /* JSON escapes a control character of the key as six bytes */

struct manifest_line {
	char key[MANIFEST_KEY_MAX + 1];
	uint64_t size;
	char etag[MANIFEST_ETAG_MAX]; /* "" = not known */
	char sha256[65];              /* "" = not known */
	uint64_t records;             /* 0 = not known */
};

/* Parses one line of a manifest. Errors: -EBADMSG with what is wrong. */
MUST_CHECK int manifest_parse(const char *text, uint64_t bytes, struct manifest_line *ret_line,
			      struct error *err);
/* Writes one line. Errors stay in `out`. */
void manifest_print(const char *key, uint64_t size, const char *etag, const char *sha256, uint64_t records,
		    FILE *out);
