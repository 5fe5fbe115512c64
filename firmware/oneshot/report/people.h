/* SPDX-License-Identifier: Apache-2.0 */
/* The people to tell, as `notify` of kiln.conf names them: a POST of JSON to a URL, and a mail. */
#pragma once

#include "core/config/config.h"

/* Loads the configuration that says whom to tell: kiln.conf; where it has mistakes, its last good copy or the
 * frozen one of the current run. Where there is none, *ret_config stays empty, and the log says so. The
 * caller calls config_done(). */
void people_load(struct config *ret_config);

/* The functions below return true where kiln.conf names a URL, or a mail address. */
bool people_have_url(const struct config *config);
bool people_have_mail(const struct config *config);

/* Posts JSON to notify.url, or to the URL in the credential notify.url_credential. `wait_ms`: how long to try
 * again; 0 = one attempt. */
MUST_CHECK int people_post(const struct config *config, const char *json, uint64_t bytes, uint64_t wait_ms,
			   struct error *err);
/* Sends a mail to notify.mail_to. */
MUST_CHECK int people_mail(const struct config *config, const char *subject, const char *text,
			   uint64_t wait_ms, struct error *err);
