/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and aborts unfinished multipart uploads. S3 stores and bills their parts until then. */
#pragma once

#include "drivers/store/s3_call.h"

/* Aborts one upload of a whole key. 0 also where there is no such upload. */
MUST_CHECK int s3_abort_upload(struct s3_store *s3, const char *full_key, const char *id, struct error *err);
