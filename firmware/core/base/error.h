/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An errno for the program, a sentence for the human.
 *
 * Functions that can fail return 0 (or a count) or a negative errno, and take a `struct error *` last. The
 * text names the object, the place, what was found and what was expected; it never holds a secret.
 *
 * Codes with one meaning everywhere:
 *   -EINVAL      a wrong configuration or argument; restarting does not help (exit 78)
 *   -EBADMSG     bytes from outside are corrupt or of the wrong form (exit 65)
 *   -ESTALE      the object changed under the run (exit 65)
 *   -EDOM        a number is NaN or infinite (exit 65)
 *   -EACCES, -EPERM, -ENOENT
 *                refused, or not found (exit 77)
 *   -EKEYREJECTED credentials missing or unreadable (exit 77)
 *   any other    may pass: -EAGAIN, -ETIMEDOUT, -ECONNRESET, -EIO, -ENOSPC ... (exit 69: the supervisor
 * restarts)
 */
#pragma once

#include "core/base/cleanup.h"

#define ERROR_TEXT_MAX 4096u

struct error {
	int code;                  /* negative errno, 0 while nothing failed */
	char text[ERROR_TEXT_MAX]; /* one sentence without a full stop, cut when longer; config lists one
				      mistake a line */
};

/* Store code and sentence; returns `code`, so that reporting and returning are one statement. NULL `err` is
 * allowed. */
int error_set(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/* Put "PREFIX: " before the sentence that is there; returns the code that is there. */
int error_prefix(struct error *err, const char *format, ...) PRINTF(2, 3);

/* The sysexits(3) code a program ends with for this error: 65, 69, 77 or 78, as listed above. */
int error_exit_code(const struct error *err);
