/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base: the modules that all of Kiln uses, and that use no other folder of Kiln: errors, clean-up,
 * clocks, logs and events, JSON, paths and durable files. No module of this folder has a thread, or state
 * that outlives the process.
 *
 * Errors: an errno for the program, a sentence for the human.
 *
 * Functions that can fail return 0 (or a count) or a negative errno, and have a `struct error *` as their
 * last parameter. The text contains the object, the position in the object, what was found and what was
 * expected; it never contains a secret.
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
 *   -ENOKEY      the certificate of the other side does not verify (exit 77)
 *   any other    a failure that may be temporary, such as -EAGAIN, -ETIMEDOUT, -ECONNRESET, -EIO or -ENOSPC
 *                (exit 69: systemd starts the program again)
 */
#pragma once

#include "core/base/cleanup.h"

#define ERROR_TEXT_MAX 4096u

struct error {
	int code;                  /* negative errno, 0 while nothing failed */
	char text[ERROR_TEXT_MAX]; /* one sentence without a full stop, cut when too long, without hidden
				      characters (core/base/visible.h); for a configuration: one line for
				      each mistake */
};

/* Stores the code and the sentence. Returns `code`, so that a function can write `return error_set(...)`.
 * `err` may be NULL. */
int error_set(struct error *err, int code, const char *format, ...) PRINTF(3, 4);
/* Does the same, but line ends stay: for the mistakes of a configuration, and the log of a compiler. */
int error_set_lines(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/* Puts "PREFIX: " before the sentence in `err`. Returns the code in `err`. */
int error_prefix(struct error *err, const char *format, ...) PRINTF(2, 3);

/* Returns the sysexits(3) code that a program ends with for this error: 65, 69, 77 or 78, as listed above. */
int error_exit_code(const struct error *err);
