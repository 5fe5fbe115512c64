/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends one mail through an SMTP relay, by libcurl. Threads: none; the caller's thread waits. Owns: all
 * strings belong to the caller, and stay valid during the call. Crash: nothing is stored; the relay may have
 * taken the mail or not.
 *
 * TLS: smtps:// uses TLS from the first byte. smtp:// changes to TLS by STARTTLS: with a login or a CA file
 * always, and the certificate must be right; else where the relay offers it, without a check of the
 * certificate, as mail servers do among themselves.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct mail {
	const char *server;  /* smtp://host[:port] or smtps://host[:port] */
	const char *login;   /* "USER:PASSWORD"; "" = none */
	const char *from;    /* one address */
	const char *to;      /* addresses with a comma between them */
	const char *ca_file; /* "" = the certificate authorities of the system */
	uint64_t wait_ms; /* how long to try again where the relay does not answer or is busy; 0 = one attempt
			   */
};

/* Sends the mail as plain text in UTF-8. Characters of `subject` that a header cannot have become '?'. Blocks
 * for at most wait_ms plus 90 s. Messages name the server and never the login. Errors: -EACCES the relay
 * refuses the login; -EPERM it refuses an address or the mail (5xx); -EIO and the like after the last
 * attempt. */
MUST_CHECK int mail_send(const struct mail *mail, const char *subject, const char *text, struct error *err);
