/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base: what all of Kiln stands on, and stands on nothing itself: errors, clean-up, clocks, logs and
 * events, JSON, paths and durable files. No module here has a thread, or state that outlives the process.
 *
 * Errors: an errno for the program, a sentence for the human.
 *
 * Functions that can fail return 0 (or a count) or a negative errno, and have a `struct error *` as their
 * last parameter. The text names the object, the position in it, what was found and what was expected; it
 * never holds a secret.
 *
 * Codes with one meaning everywhere:
 *   -EINVAL      a wrong configuration or argument; restarting does not help (exit 78)
 *   -EBADMSG     bytes from outside are corrupt or of the wrong form (exit 65)
 *   -ESTALE      the object changed under the run (exit 65)
 *   -EDOM        a number is NaN or infinite (exit 65)
 *   -EACCES, -EPERM, -ENOENT
 *                refused, or not found (exit 77)
 *   -EKEYREJECTED
 *                credentials missing or unreadable (exit 77)
 *   any other    a trouble that may pass, such as -EAGAIN, -ETIMEDOUT, -ECONNRESET, -EIO or -ENOSPC (exit 69:
 *                systemd starts the program again)
 */
#pragma once

#include "core/base/cleanup.h"

#define ERROR_TEXT_MAX 4096u

struct error {
	int code;                  /* negative errno, 0 while nothing failed */
	char text[ERROR_TEXT_MAX]; /* a sentence without a full stop, cut when longer; mistakes of a
				      configuration are a line each */
};

/* Stores the code and the sentence. Returns `code`, so that reporting and returning are one statement. `err`
 * may be NULL. */
int error_set(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/* Puts "PREFIX: " before the sentence in `err`. Returns the code in `err`. */
int error_prefix(struct error *err, const char *format, ...) PRINTF(2, 3);

/* Returns the sysexits(3) code that a program ends with for this error: 65, 69, 77 or 78, as listed above. */
int error_exit_code(const struct error *err);
