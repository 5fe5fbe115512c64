/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of S3's XML answers: a page of ListObjectsV2 or ListMultipartUploads, the result of starting or
 * completing an upload, or an error. s3_reply_element() fills it, s3_reply_begin() empties it for the next
 * attempt.
 */
#pragma once

#include "drivers/store/s3_xml.h"
#include "drivers/store/store.h"

#include <stdbool.h>

#define S3_ENTRIES_MAX   1000u /* a page; S3 API, ListObjectsV2, max-keys */
#define S3_TOKEN_BYTES   4097u
#define S3_CODE_BYTES    64u
#define S3_MESSAGE_BYTES 512u
#define S3_UPLOAD_BYTES  1025u

struct s3_error {
	char code[S3_CODE_BYTES]; /* "" = the answer had none */
	char message[S3_MESSAGE_BYTES];
	char region[64]; /* the bucket's, when the request went to another */
};

struct s3_entry {
	size_t key, upload_id; /* offsets in `text`, 0 = none */
	struct store_pin pin;
	int64_t mtime_s;
};

struct s3_reply {
	struct s3_error error;
	/* Pages. */
	struct s3_entry *entries, entry; /* `entry` is the one being read */
	uint32_t count;
	char *text;
	size_t text_used, text_size;
	bool truncated, url_encoded;
	char token[S3_TOKEN_BYTES]; /* NextContinuationToken, or NextKeyMarker still encoded */
	/* Starting and completing; NextUploadIdMarker of a page. */
	char upload_id[S3_UPLOAD_BYTES];
	char etag[STORE_ETAG_MAX];
};

void s3_reply_begin(struct s3_reply *reply);
void s3_reply_done(struct s3_reply *reply);

/* The s3_xml_element whose context is a reply; reads all the documents above. */
int s3_reply_element(void *context, const char *path, const char *text, size_t bytes, struct error *err);

/* The key of an entry. Errors: -EBADMSG an invalid escape, a NUL, or longer than S3 allows. */
MUST_CHECK int s3_reply_key(const struct s3_reply *reply, const char *encoded,
			    char out[static STORE_KEY_MAX + 1], struct error *err);

/* The error in an answer's beginning, as far as it can be read; fields that are not there are "". */
void s3_error_parse(const char *text, size_t bytes, struct s3_error *ret_error);

/* An ETag without quotes and weakness mark; false when it does not fit. */
bool s3_etag_copy(const char *text, char out[static STORE_ETAG_MAX]);
