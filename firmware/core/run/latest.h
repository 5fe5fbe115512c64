/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latest.json, the object <run id>/checkpoints/latest.json in the store: the newest checkpoint of a run. Only
 * kiln-uploadd writes it, after the checkpoint itself; readers are kiln-uploadd and kiln-oneshot begin. The
 * members are version, step, key, bytes, sha256 and time (UTC, for people).
 *
 * Everybody who may write into the bucket can replace this object, so a reader takes nothing from it but the
 * name of a checkpoint, which it then checks.
 */
#pragma once

#include "core/base/error.h"
#include "core/run/spool.h"

#include <stdint.h>

#define LATEST_NAME         "checkpoints/latest.json"
#define LATEST_BYTES_MAX    65536u
#define LATEST_SHA256_BYTES 65u

struct latest {
	uint64_t step;
	char name[SPOOL_NAME_BYTES]; /* of the checkpoint: spool_checkpoint_name(step) */
	uint64_t bytes;
	char sha256[LATEST_SHA256_BYTES]; /* 64 hexadecimal digits */
};

/* Parses a latest.json; `what` is the name of the text in errors. Errors: -EBADMSG, also where the step is
 * not the one in the name of the checkpoint. */
MUST_CHECK int latest_parse(const char *what, const char *text, uint64_t bytes, struct latest *ret_latest,
			    struct error *err);
/* Prints a latest.json with the present time. The caller frees the text. */
MUST_CHECK int latest_print(const struct latest *latest, char **ret_text, struct error *err);
