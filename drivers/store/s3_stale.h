/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and aborts unfinished multipart uploads. Until an upload is aborted, S3 stores its parts and charges
 * for them. */
#pragma once

#include "drivers/store/s3_call.h"

/* Aborts one upload; `full_key` is its key with the prefix. Returns 0 also where there is no such upload. */
MUST_CHECK int s3_abort_upload(struct s3_store *s3, const char *full_key, const char *id, struct error *err);
