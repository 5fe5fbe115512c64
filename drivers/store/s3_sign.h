/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the URL of an attempt and its signature (AWS Signature Version 4).
 *
 * Over TLS the body is not part of the signature (UNSIGNED-PAYLOAD): TLS protects it, and hashing it costs
 * CPU time. Over plain HTTP the body is part of it.
 */
#pragma once

#include "drivers/store/s3_call.h"

/* Sets call->http.url, and the headers of the signature unless the store is anonymous.
 * Errors: -EINVAL a key or a query that is too long; -ENOMEM. */
MUST_CHECK int s3_sign(struct s3_call *call, struct error *err);
/* Writes the key with the store's prefix before it. Errors: -EINVAL the key is empty or too long. */
MUST_CHECK int s3_full_key(const struct s3_store *s3, const char *key, char out[static S3_FULL_BYTES],
			   struct error *err);
