/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/people.h"
#include "core/base/log.h"
#include "drivers/mail/mail.h"
#include "drivers/store/credential.h"
#include "drivers/webhook/webhook.h"
#include "oneshot/boot/last_good.h"

#include <mbedtls/platform_util.h>
#include <string.h>

void people_load(struct config *ret_config)
{
	struct error err = { 0 };

	if (config_load(config_path(0, NULL), ret_config, &err) == 0)
		return;
	log_warning("%s", err.text);
	if (last_good_or_frozen(config_path(0, NULL), ret_config, &err) < 0)
		log_warning("%s; nobody can be told of this night", err.text);
}

bool people_have_url(const struct config *config)
{
	return config->file && (*config->notify.url || *config->notify.url_credential);
}

bool people_have_mail(const struct config *config)
{
	return config->file && *config->notify.mail_server;
}

int people_post(const struct config *config, const char *json, uint64_t bytes, uint64_t wait_ms,
		struct error *err)
{
	char token[CREDENTIAL_LINE_BYTES] = "", url[CREDENTIAL_LINE_BYTES] = "";
	const struct webhook webhook = { .url = *config->notify.url ? config->notify.url : url,
					 .token = token,
					 .ca_file = config->notify.ca_file,
					 .wait_ms = wait_ms };
	int r = 0;

	if (*config->notify.url_credential)
		r = credential_load_url(config->notify.url_credential, url, err);
	if (r == 0 && *config->notify.credential)
		r = credential_load_line(config->notify.credential, token, err);
	if (r == 0)
		r = webhook_post(&webhook, json, bytes, err);
	mbedtls_platform_zeroize(token, sizeof(token));
	mbedtls_platform_zeroize(url, sizeof(url));
	return r;
}

int people_mail(const struct config *config, const char *subject, const char *text, uint64_t wait_ms,
		struct error *err)
{
	char login[CREDENTIAL_LINE_BYTES] = "";
	const struct mail mail = { .server = config->notify.mail_server,
				   .login = login,
				   .from = config->notify.mail_from,
				   .to = config->notify.mail_to,
				   .ca_file = config->notify.ca_file,
				   .wait_ms = wait_ms };
	int r = 0;

	if (*config->notify.mail_credential)
		r = credential_load_line(config->notify.mail_credential, login, err);
	if (r == 0)
		r = mail_send(&mail, subject, text, err);
	mbedtls_platform_zeroize(login, sizeof(login));
	return r;
}
