/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The people to tell, and the monitor, as `notify` of kiln.conf names them: a POST of JSON to a URL, a mail,
 * and a POST to a monitor in the form of healthchecks.io.
 *
 * URLs, tokens and logins may be credentials. No error has more of a URL than its scheme and host, and none
 * has a token or a login. Threads: none; the caller's thread waits. Nothing is stored.
 */
#pragma once

#include "core/config/config.h"

/* Return whether kiln.conf names a URL, a mail server, a monitor. */
bool people_have_url(const struct config *config);
bool people_have_mail(const struct config *config);
bool people_have_monitor(const struct config *config);

/* Posts JSON to notify.url, or to the URL in the credential notify.url_credential. `wait_ms`: how long to try
 * again; 0 = one attempt. Errors: -EKEYREJECTED no such credential; those of webhook_post(). */
MUST_CHECK int people_post(const struct config *config, const char *json, uint64_t bytes, uint64_t wait_ms,
			   struct error *err);
/* Sends a mail to notify.mail_to. Errors: -EKEYREJECTED; those of mail_send(). */
MUST_CHECK int people_mail(const struct config *config, const char *subject, const char *text,
			   uint64_t wait_ms, struct error *err);

/* Suffixes of the path of the monitor's URL: the monitor learns from the suffix how the night goes. */
#define PEOPLE_BEAT_START "/start" /* the night has begun, or goes on */
#define PEOPLE_BEAT_GOOD  ""
#define PEOPLE_BEAT_FAIL  "/fail"
#define PEOPLE_BEAT_LOG   "/log" /* the monitor notes the text, and its state stays as it is */
/* Posts {"text": TEXT} to notify.heartbeat_url, or to the URL in the credential notify.heartbeat_credential,
 * with `suffix` after its path. Errors: as people_post(). */
MUST_CHECK int people_beat(const struct config *config, const char *suffix, const char *text,
			   uint64_t wait_ms, struct error *err);
