/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/mail/mail.h"

#include "core/base/cleanup.h"
#include "core/base/clock.h"

#include <curl/curl.h>
#include <mbedtls/platform_util.h>
#include <string.h>
#include <time.h>

#define CONNECT_TIMEOUT_S 10L
#define TIMEOUT_S         60L
#define REPLY_TIMEOUT_S   30L
#define PAUSE_S_MIN       5u
#define PAUSE_S_MAX       60u
#define SUBJECT_BYTES     200u
#define LOGIN_BYTES       4097u
#define LINE_BYTES        1024u

struct message {
	CURL *curl;
	curl_mime *mime;
	struct curl_slist *headers, *recipients;
	char problem[CURL_ERROR_SIZE];
};

static void message_done(struct message *message)
{
	curl_easy_cleanup(message->curl);
	curl_mime_free(message->mime);
	curl_slist_free_all(message->headers);
	curl_slist_free_all(message->recipients);
}

/* ---- Headers ---- */

static int append(struct curl_slist **list, const char *line, struct error *err)
{
	struct curl_slist *grown = curl_slist_append(*list, line);

	if (!grown)
		return error_set(err, -ENOMEM, "no memory for a mail");
	*list = grown;
	return 0;
}

static int add_recipients(struct message *message, const char *to, struct error *err)
{
	char address[LINE_BYTES];
	int r = 0;

	for (; r == 0 && *to; to += strspn(to, ", ")) {
		size_t length = strcspn(to, ", ");

		(void)snprintf(address, sizeof(address), "<%.*s>", (int)length, to);
		r = append(&message->recipients, address, err);
		to += length;
	}
	return r;
}

static int add_subject(struct message *message, const char *subject, struct error *err)
{
	char line[SUBJECT_BYTES];

	(void)snprintf(line, sizeof(line), "Subject: %s", subject);
	for (char *c = line; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return append(&message->headers, line, err);
}

static int add_headers(struct message *message, const struct mail *mail, const char *subject,
		       struct error *err)
{
	char line[LINE_BYTES];
	time_t now = time(NULL);
	struct tm tm = { 0 };
	int r;

	(void)snprintf(line, sizeof(line), "From: %.900s", mail->from);
	if ((r = append(&message->headers, line, err)) < 0)
		return r;
	(void)snprintf(line, sizeof(line), "To: %.900s", mail->to);
	if ((r = append(&message->headers, line, err)) < 0 || (r = add_subject(message, subject, err)) < 0)
		return r;
	(void)gmtime_r(&now, &tm);
	(void)strftime(line, sizeof(line), "Date: %a, %d %b %Y %H:%M:%S +0000", &tm);
	return append(&message->headers, line, err);
}

static int add_text(struct message *message, const char *text, struct error *err)
{
	curl_mimepart *part;

	message->mime = curl_mime_init(message->curl);
	part = message->mime ? curl_mime_addpart(message->mime) : NULL;
	if (!part || curl_mime_data(part, text, CURL_ZERO_TERMINATED) != CURLE_OK ||
	    curl_mime_type(part, "text/plain; charset=utf-8") != CURLE_OK ||
	    curl_mime_encoder(part, "quoted-printable") != CURLE_OK)
		return error_set(err, -ENOMEM, "no memory for a mail");
	return 0;
}

/* ---- The transfer ---- */

static void set_login(CURL *curl, const char *login)
{
	char user[LOGIN_BYTES];
	const char *colon = strchr(login, ':');

	(void)snprintf(user, sizeof(user), "%.*s", colon ? (int)(colon - login) : (int)LOGIN_BYTES - 1,
		       login);
	(void)curl_easy_setopt(curl, CURLOPT_USERNAME, user);
	(void)curl_easy_setopt(curl, CURLOPT_PASSWORD, colon ? colon + 1 : "");
	mbedtls_platform_zeroize(user, sizeof(user));
}

static void set_tls(CURL *curl, const struct mail *mail)
{
	const bool wanted = *mail->login || *mail->ca_file || strncmp(mail->server, "smtps:", 6) == 0;

	(void)curl_easy_setopt(curl, CURLOPT_USE_SSL, wanted ? (long)CURLUSESSL_ALL : (long)CURLUSESSL_TRY);
	(void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, wanted ? 1L : 0L);
	(void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, wanted ? 2L : 0L);
	if (*mail->ca_file)
		(void)curl_easy_setopt(curl, CURLOPT_CAINFO, mail->ca_file);
}

static int prepare(struct message *message, const struct mail *mail, const char *subject, const char *text,
		   struct error *err)
{
	CURL *curl = message->curl = curl_easy_init();
	int r;

	if (!curl)
		return error_set(err, -ENOMEM, "no memory for a mail");
	if ((r = add_recipients(message, mail->to, err)) < 0 ||
	    (r = add_headers(message, mail, subject, err)) < 0 || (r = add_text(message, text, err)) < 0)
		return r;
	(void)curl_easy_setopt(curl, CURLOPT_URL, mail->server);
	(void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	(void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(curl, CURLOPT_MAIL_FROM, mail->from);
	(void)curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, message->recipients);
	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, message->headers);
	(void)curl_easy_setopt(curl, CURLOPT_MIMEPOST, message->mime);
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	(void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, TIMEOUT_S);
	/* After the mail libcurl says QUIT. TIMEOUT_S does not limit the wait for that reply, and without
	 * CURLOPT_FORBID_REUSE no option does. */
	(void)curl_easy_setopt(curl, CURLOPT_SERVER_RESPONSE_TIMEOUT, REPLY_TIMEOUT_S);
	(void)curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message->problem);
	set_tls(curl, mail);
	if (*mail->login)
		set_login(curl, mail->login);
	return 0;
}

/* Sends once. Returns 0, an error after which another attempt may help (-EIO), or another error. */
static int attempt(struct message *message, struct error *err)
{
	CURLcode code = curl_easy_perform(message->curl);
	long status = 0;

	if (code == CURLE_OK)
		return 0;
	(void)curl_easy_getinfo(message->curl, CURLINFO_RESPONSE_CODE, &status);
	return error_set(err,
			 code == CURLE_LOGIN_DENIED ? -EACCES
			 : status / 100 == 5        ? -EPERM
						    : -EIO,
			 "%s", *message->problem ? message->problem : curl_easy_strerror(code));
}

int mail_send(const struct mail *mail, const char *subject, const char *text, struct error *err)
{
	const uint64_t until_us = clock_us() + mail->wait_ms * 1000;
	CLEANUP(message_done) struct message message = { 0 };
	int r = prepare(&message, mail, subject, text, err);

	for (unsigned pause_s = PAUSE_S_MIN; r == 0;
	     pause_s = pause_s < PAUSE_S_MAX / 2 ? 2 * pause_s : PAUSE_S_MAX) {
		if ((r = attempt(&message, err)) != -EIO || clock_us() + pause_s * 1000000ull > until_us)
			break;
		(void)sleep(pause_s);
		r = 0;
	}
	return r < 0 ? error_prefix(err, "mail by %s", mail->server) : 0;
}
