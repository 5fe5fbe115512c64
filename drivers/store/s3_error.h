/* SPDX-License-Identifier: Apache-2.0 */
/* Turns S3's error codes into an errno, a class of retry and a sentence. */
#pragma once

#include "drivers/store/s3_call.h"

/* Returns -ENONET where something on the network answers in the store's place, such as the login page of a
 * captive portal or a firewall: 2xx or 403 with a web page, and without an ETag or a request id, which every
 * S3 server sends, or status 511. Else 0. */
int s3_error_foreign(const struct s3_call *call, struct error *err);
/* Judges an answer that is neither 2xx nor a redirect. Returns the errno; sets *retry, call->error and err.
 */
int s3_error_judge(struct s3_call *call, enum retry_class *retry, struct error *err);
/* Judges an <Error> inside a 200 answer (S3 API, CompleteMultipartUpload): S3 may begin an answer with status
 * 200 before it knows whether the call succeeds. */
int s3_error_late(struct s3_call *call, const struct s3_error *error, enum retry_class *retry,
		  struct error *err);
