/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of S3's XML answers: a page of ListObjectsV2, ListObjectVersions or ListMultipartUploads, the
 * result of starting or completing an upload, or an error. s3_reply_element() fills a struct s3_reply,
 * s3_reply_begin() empties it for the next attempt.
 */
#pragma once

#include "drivers/store/s3_xml.h"
#include "drivers/store/store.h"

#include <stdbool.h>

#define S3_ENTRIES_MAX   1000u /* entries per page; S3 API, ListObjectsV2, max-keys */
#define S3_TOKEN_BYTES   4097u
#define S3_CODE_BYTES    64u
#define S3_MESSAGE_BYTES 512u
#define S3_UPLOAD_BYTES  1025u
#define S3_ROOT_BYTES    64u

struct s3_error {
	char code[S3_CODE_BYTES]; /* "" = the answer had no error code */
	char message[S3_MESSAGE_BYTES];
	char region[64]; /* the bucket's region, where the request was sent to another one */
};

struct s3_entry {
	size_t key, upload_id; /* offsets of the key and the upload's id in s3_reply.text; 0 = none */
	struct store_pin pin;
	int64_t mtime_s;
	bool sized; /* the entry has a Size */
	bool old;   /* in a list of versions: not the current version of its key, or a delete marker */
};

struct s3_reply {
	char root[S3_ROOT_BYTES]; /* name of the root element; "" until its end */
	struct s3_error error;
	/* For pages of a list. */
	struct s3_entry *entries, entry; /* `entries`: those that are complete; `entry`: the one being read */
	uint32_t count;
	char *text;
	size_t text_used, text_size;
	bool truncated, says_truncated, url_encoded; /* says_truncated: IsTruncated is "true" or "false" */
	/* NextContinuationToken; for a list of uploads or versions NextKeyMarker, not decoded */
	char token[S3_TOKEN_BYTES];
	/* For starting and completing an upload. For a list of uploads upload_id is NextUploadIdMarker, for a
	 * list of versions NextVersionIdMarker. */
	char upload_id[S3_UPLOAD_BYTES];
	char etag[STORE_ETAG_MAX];
};

void s3_reply_begin(struct s3_reply *reply);
void s3_reply_done(struct s3_reply *reply);

/* Callback for s3_xml_open(), with a struct s3_reply as its context: saves one element of any of these
 * answers. */
int s3_reply_element(void *context, const char *path, const char *text, size_t bytes, struct error *err);

/* Decodes the key of an entry. Errors: -EBADMSG the key has a malformed escape or a NUL, or is longer than S3
 * allows. */
MUST_CHECK int s3_reply_key(const struct s3_reply *reply, const char *encoded,
			    char out[static STORE_KEY_MAX + 1], struct error *err);

/* Reads an error from the beginning of an answer, as far as possible; a field that is missing is "". */
void s3_error_parse(const char *text, size_t bytes, struct s3_error *ret_error);

/* Parses the size of an object. Errors: -EBADMSG no decimal number, or more than STORE_OBJECT_MAX. */
MUST_CHECK int s3_size_parse(const char *text, uint64_t *ret_bytes, struct error *err);

/* Copies an ETag without its quotes and without the mark of a weak ETag ("W/"). Returns false where it does
 * not fit, or has a quote or a control character. */
bool s3_etag_copy(const char *text, char out[static STORE_ETAG_MAX]);
/* Copies a version id; "" where the object has none ("null"), or one that does not fit: its ETag then
 * identifies the object. */
void s3_version_copy(const char *text, char out[static STORE_VERSION_MAX]);
