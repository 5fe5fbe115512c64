/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/people/people.h"
#include "core/base/json.h"
#include "drivers/mail/mail.h"
#include "drivers/store/credential.h"
#include "drivers/webhook/webhook.h"

#include <mbedtls/platform_util.h>
#include <string.h>

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

/* ---- The monitor ---- */

/* Writes the URL with the suffix after its path, before a query. */
static void add_suffix(const char *url, const char *suffix, char *out, size_t size)
{
	const size_t length = strcspn(url, "?#"), slash = *suffix && length && url[length - 1] == '/';

	(void)snprintf(out, size, "%.*s%s%s", (int)(length - slash), url, suffix, url + length);
}

bool people_have_monitor(const struct config *config)
{
	return config->file && (*config->notify.heartbeat_url || *config->notify.heartbeat_credential);
}

int people_beat(const struct config *config, const char *suffix, const char *text, uint64_t wait_ms,
		struct error *err)
{
	char secret[CREDENTIAL_LINE_BYTES] = "", url[CREDENTIAL_LINE_BYTES + 16];
	const struct webhook webhook = {
		.url = url, .token = "", .ca_file = config->notify.ca_file, .wait_ms = wait_ms
	};
	CLEANUP(json_free) cJSON *body = cJSON_CreateObject();
	CLEANUP(free_ptr) char *json = NULL;
	int r = 0;

	if (!cJSON_AddItemToObject(body, "text", json_string(text)))
		return error_set(err, -ENOMEM, "no memory for a heartbeat");
	if (*config->notify.heartbeat_credential)
		r = credential_load_url(config->notify.heartbeat_credential, secret, err);
	add_suffix(*secret ? secret : config->notify.heartbeat_url, suffix, url, sizeof(url));
	if (r == 0 && (r = json_print_line(body, &json, err)) == 0)
		r = webhook_post(&webhook, json, strlen(json), err);
	mbedtls_platform_zeroize(secret, sizeof(secret));
	mbedtls_platform_zeroize(url, sizeof(url));
	return r;
}
