/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/tls/tls.h"
#include "core/base/clock.h"
#include "core/base/paths.h"
#include "drivers/digest/digest.h"
#include "drivers/tls/mbedtls_tls.h"
#include "drivers/tls/watch.h"

#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/oid.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define REVOKED_BYTES_MAX (4u << 20)
#define DATE_FLAGS        (MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE)
/* Bytes that a server reads from a client in one call, at most; more than a whole record has. mbedTLS itself
 * goes on as long as the client sends records that carry nothing, such as warnings. */
#define TURN_BYTES (20u << 10)

struct tls {
	struct tls_options options;
	mbedtls_entropy_context entropy;
	mbedtls_ctr_drbg_context random;
	mbedtls_x509_crt ca, cert;
	mbedtls_pk_context key;
	mbedtls_ssl_config config;
};

struct tls_link {
	struct tls *tls;
	mbedtls_ssl_context ssl;
	int fd;
	int unit; /* role of the client; -1 = none yet */
	/* MBEDTLS_X509_BADCERT_* flags about the dates of the authority, put off while the clock is not set
	 */
	uint32_t ca_dates;
	char fingerprint[DIGEST_HEX_BYTES]; /* SHA-256 of the peer's certificate; "" = not known yet */
	bool wants_write;
	uint64_t until_ms;      /* tls_deadline() */
	size_t turn_bytes;      /* that may still be read in this call of tls_handshake() or tls_read() */
	struct tls_watch watch; /* on the handshake of a client */
	char why[256];          /* why this side refused the peer; "" = not refused */
	char name[TLS_NAME_BYTES];
};

static const int suites[] = { MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
			      MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
			      MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
			      MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			      MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			      MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
			      0 };

/* ---- Open ---- */

static int rejected(struct error *err, const char *file, int code)
{
	char text[128];

	if (code == MBEDTLS_ERR_PK_FILE_IO_ERROR)
		return error_set(err, -EKEYREJECTED, "%s: cannot read it: %s", file, strerror(errno));
	mbedtls_strerror(code, text, sizeof(text));
	return error_set(err, -EKEYREJECTED, "%s: %s", file, text);
}

static int read_files(struct tls *tls, struct error *err)
{
	const struct tls_options *options = &tls->options;
	int r = mbedtls_ctr_drbg_seed(&tls->random, mbedtls_entropy_func, &tls->entropy, NULL, 0);

	if (r != 0)
		return rejected(err, "TLS", r);
	if ((r = mbedtls_x509_crt_parse_file(&tls->ca, options->ca_file)) != 0)
		return rejected(err, options->ca_file, r);
	if ((r = mbedtls_x509_crt_parse_file(&tls->cert, options->cert_file)) != 0)
		return rejected(err, options->cert_file, r);
	if ((r = tls_parse_key(&tls->key, options->key_file, &tls->random)) != 0)
		return rejected(err, options->key_file, r);
	if ((r = tls_check_pair(&tls->cert.pk, &tls->key, &tls->random)) != 0)
		return rejected(err, options->key_file, r);
	return 0;
}

static int configure(struct tls *tls, struct error *err)
{
	mbedtls_ssl_config *config = &tls->config;
	int r = mbedtls_ssl_config_defaults(
		config, tls->options.side == TLS_SERVER ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
		MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);

	if (r == 0)
		r = mbedtls_ssl_conf_own_cert(config, &tls->cert, &tls->key);
	if (r != 0)
		return rejected(err, "TLS", r);
	mbedtls_ssl_conf_rng(config, mbedtls_ctr_drbg_random, &tls->random);
	mbedtls_ssl_conf_ca_chain(config, &tls->ca, NULL);
	mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_REQUIRED);
	mbedtls_ssl_conf_ciphersuites(config, suites);
	tls_only_1_2(config);
	tls_only_fast_curves(config);
	mbedtls_ssl_conf_session_tickets(config, MBEDTLS_SSL_SESSION_TICKETS_DISABLED);
	return 0;
}

int tls_open(const struct tls_options *options, struct tls **ret_tls, struct error *err)
{
	CLEANUP(tls_closep) struct tls *tls = calloc(1, sizeof(*tls));
	int r;

	if (!tls)
		return error_set(err, -ENOMEM, "no memory for TLS");
	tls->options = *options;
	mbedtls_entropy_init(&tls->entropy);
	mbedtls_ctr_drbg_init(&tls->random);
	mbedtls_x509_crt_init(&tls->ca);
	mbedtls_x509_crt_init(&tls->cert);
	mbedtls_pk_init(&tls->key);
	mbedtls_ssl_config_init(&tls->config);
	if ((r = read_files(tls, err)) < 0 || (r = configure(tls, err)) < 0)
		return r;
	*ret_tls = TAKE(tls);
	return 0;
}

void tls_closep(struct tls **tls)
{
	if (!*tls)
		return;
	mbedtls_ssl_config_free(&(*tls)->config);
	mbedtls_pk_free(&(*tls)->key);
	mbedtls_x509_crt_free(&(*tls)->cert);
	mbedtls_x509_crt_free(&(*tls)->ca);
	mbedtls_ctr_drbg_free(&(*tls)->random);
	mbedtls_entropy_free(&(*tls)->entropy);
	free(*tls);
	*tls = NULL;
}

/* ---- The check of a peer ---- */

/* Returns the role of a certificate, as an index into `units`; -1 where its OU is not a role, or it does not
 * have exactly one OU. */
static int unit_of(const mbedtls_x509_crt *cert, const char *const *units)
{
	const mbedtls_x509_buf *found = NULL;

	for (const mbedtls_x509_name *name = &cert->subject; name; name = name->next)
		if (MBEDTLS_OID_CMP(MBEDTLS_OID_AT_ORG_UNIT, &name->oid) == 0) {
			if (found)
				return -1;
			found = &name->val;
		}
	for (int i = 0; found && units[i]; i++)
		if (strlen(units[i]) == found->len && memcmp(units[i], found->p, found->len) == 0)
			return i;
	return -1;
}

static void save_name(struct tls_link *link, const mbedtls_x509_crt *cert)
{
	for (const mbedtls_x509_name *name = &cert->subject; name; name = name->next) {
		size_t length = name->val.len < TLS_NAME_BYTES ? name->val.len : TLS_NAME_BYTES - 1;

		if (MBEDTLS_OID_CMP(MBEDTLS_OID_AT_CN, &name->oid) != 0)
			continue;
		for (size_t i = 0; i < length; i++)
			link->name[i] =
				name->val.p[i] > 0x20 && name->val.p[i] < 0x7f ? (char)name->val.p[i] : '?';
		link->name[length] = '\0';
	}
}

/* Returns whether the certificate is revoked. Where the list of revoked certificates cannot be read, every
 * certificate counts as revoked. */
static bool is_revoked(struct tls_link *link, const char *fingerprint)
{
	CLEANUP(free_ptr) char *text = NULL;
	const char *file = link->tls->options.revoked_file;
	struct error err = { 0 };
	int r = file ? file_read(file, REVOKED_BYTES_MAX, &text, NULL, &err) : -ENOENT;

	if (r == -ENOENT)
		return false;
	if (r == 0 && !strcasestr(text, fingerprint))
		return false;
	(void)snprintf(link->why, sizeof(link->why), "%s",
		       r < 0 ? "the list of revoked certificates cannot be read"
			     : "the certificate is revoked");
	return true;
}

static bool has_clock(const struct tls_options *options)
{
	return !options->clock_is_set || options->clock_is_set();
}

static void check_leaf(struct tls_link *link, const mbedtls_x509_crt *cert, uint32_t *flags)
{
	const struct tls_options *options = &link->tls->options;

	digest_sha256(cert->raw.p, cert->raw.len, link->fingerprint);
	save_name(link, cert);
	if (is_revoked(link, link->fingerprint))
		*flags |= MBEDTLS_X509_BADCERT_REVOKED;
	if (options->side == TLS_CLIENT)
		return;
	if (mbedtls_x509_crt_check_extended_key_usage(cert, MBEDTLS_OID_CLIENT_AUTH,
						      MBEDTLS_OID_SIZE(MBEDTLS_OID_CLIENT_AUTH)) != 0)
		*flags |= MBEDTLS_X509_BADCERT_EXT_KEY_USAGE;
	link->unit = unit_of(cert, options->units);
	if (link->unit < 0) {
		(void)snprintf(link->why, sizeof(link->why), "the certificate's OU names no role");
		*flags |= MBEDTLS_X509_BADCERT_OTHER;
	}
	*flags |= link->ca_dates;
	if (!has_clock(options) && link->unit == 0)
		*flags &= ~(uint32_t)DATE_FLAGS;
}

/* Saves why the peer is refused: the first of mbedTLS's sentences about the flags. */
static void save_reason(struct tls_link *link, uint32_t flags)
{
	size_t used;

	(void)mbedtls_x509_crt_verify_info(link->why, sizeof(link->why), "", flags);
	used = strcspn(link->why, "\n");
	link->why[used] = '\0';
	if ((flags & DATE_FLAGS) && !has_clock(&link->tls->options))
		(void)snprintf(link->why + used, sizeof(link->why) - used,
			       "; the clock is not set here: only the role %s needs no date",
			       link->tls->options.units[0]);
}

/* mbedTLS calls this for each certificate, first the authority's, last the peer's own (depth 0). The flags of
 * the last call decide. */
static int verify(void *context, mbedtls_x509_crt *cert, int depth, uint32_t *flags)
{
	struct tls_link *link = context;
	const struct tls_options *options = &link->tls->options;

	if (depth > 0 && !has_clock(options)) {
		link->ca_dates |= *flags & DATE_FLAGS;
		*flags &= ~(uint32_t)DATE_FLAGS;
	}
	if (depth == 0)
		check_leaf(link, cert, flags);
	if (*flags && !*link->why)
		save_reason(link, *flags);
	return 0;
}

/* ---- A connection ---- */

/* Sends bytes for mbedTLS, in place of mbedtls_net_send(), which would raise SIGPIPE. */
static int put(void *context, const unsigned char *data, size_t bytes)
{
	struct tls_link *link = context;
	ssize_t n = send(link->fd, data, bytes, MSG_NOSIGNAL);

	if (n >= 0)
		return (int)n;
	if (errno == EAGAIN || errno == EINTR)
		return MBEDTLS_ERR_SSL_WANT_WRITE;
	/* During the handshake report success although the peer has closed the connection: mbedTLS then reads
	 * the peer's alert, which says why. */
	if (!tls_handshake_is_over(&link->ssl) && (errno == EPIPE || errno == ECONNRESET))
		return (int)bytes;
	return MBEDTLS_ERR_NET_SEND_FAILED;
}

/* Returns whether mbedTLS may have these bytes. */
static bool passes(struct tls_link *link, const unsigned char *data, size_t bytes)
{
	if (link->tls->options.side == TLS_CLIENT)
		return true;
	link->turn_bytes -= bytes;
	if (tls_watch_pass(&link->watch, &link->tls->ca, data, bytes))
		return true;
	(void)snprintf(link->why, sizeof(link->why),
		       "it sends certificates of authorities that the box does not trust");
	return false;
}

/* Waits until the peer has sent something. Returns whether it has, before the deadline. */
static bool comes(const struct tls_link *link)
{
	struct pollfd poll_fd = { .fd = link->fd, .events = POLLIN };
	const uint64_t now = clock_ms();

	if (!link->until_ms)
		return true;
	return now < link->until_ms && poll(&poll_fd, 1, (int)(link->until_ms - now)) > 0;
}

static int get(void *context, unsigned char *data, size_t bytes)
{
	struct tls_link *link = context;
	ssize_t n;

	if (link->tls->options.side == TLS_SERVER && link->turn_bytes < bytes)
		bytes = link->turn_bytes;
	if (!bytes || !comes(link))
		return MBEDTLS_ERR_SSL_WANT_READ;
	n = recv(link->fd, data, bytes, 0);
	if (n >= 0)
		return passes(link, data, (size_t)n) ? (int)n : MBEDTLS_ERR_NET_RECV_FAILED;
	if (errno == EAGAIN || errno == EINTR)
		return MBEDTLS_ERR_SSL_WANT_READ;
	return errno == ECONNRESET ? MBEDTLS_ERR_NET_CONN_RESET : MBEDTLS_ERR_NET_RECV_FAILED;
}

int tls_attach(struct tls *tls, int fd, const char *server_name, struct tls_link **ret_link,
	       struct error *err)
{
	CLEANUP(tls_detachp) struct tls_link *link = calloc(1, sizeof(*link));
	int r;

	if (!link)
		return error_set(err, -ENOMEM, "no memory for a TLS connection");
	link->tls = tls;
	link->fd = fd;
	link->unit = -1;
	mbedtls_ssl_init(&link->ssl);
	r = mbedtls_ssl_setup(&link->ssl, &tls->config);
	if (r == 0 && server_name)
		r = mbedtls_ssl_set_hostname(&link->ssl, server_name);
	if (r != 0)
		return rejected(err, "TLS", r);
	mbedtls_ssl_set_verify(&link->ssl, verify, link);
	mbedtls_ssl_set_bio(&link->ssl, link, put, get, NULL);
	*ret_link = TAKE(link);
	return 0;
}

void tls_detachp(struct tls_link **link)
{
	if (!*link)
		return;
	(void)mbedtls_ssl_close_notify(&(*link)->ssl);
	mbedtls_ssl_free(&(*link)->ssl);
	free(*link);
	*link = NULL;
}

/* Returns in words what an alert means by which the peer ended the handshake (RFC 5246 7.2). */
static const char *alert_text(int alert)
{
	switch (alert) {
	case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED:
		return "our certificate is revoked there";
	case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED:
		return "our certificate has expired, or is not valid yet";
	case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA:
		return "our certificate comes from an authority that it does not know";
	case MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED:
		return "our certificate's OU names no role";
	case MBEDTLS_SSL_ALERT_MSG_NO_CERT:
	case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE:
		return "it found no certificate, or no cipher suite in common";
	case MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT:
		return "our certificate is not for this use";
	case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN:
		return "our certificate is not valid yet by its clock, or is not one it can judge";
	case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION:
		return "it speaks only TLS 1.2";
	default:
		return "it refuses our certificate";
	}
}

static int failed(struct tls_link *link, int r, struct error *err)
{
	char text[160];

	/* What get() does not let pass, mbedTLS does not see, and so it sends no alert. */
	if (*link->why && r == MBEDTLS_ERR_NET_RECV_FAILED)
		(void)mbedtls_ssl_send_alert_message(&link->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
						     MBEDTLS_SSL_ALERT_MSG_BAD_CERT);
	if (*link->why)
		return error_set(err, -EACCES, "refused: %s", link->why);
	if (r == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE)
		return error_set(err, -EACCES, "the other side refuses: %s",
				 alert_text(tls_alert_of(&link->ssl)));
	if (r == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE) {
		(void)mbedtls_ssl_send_alert_message(&link->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
						     MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE);
		return error_set(err, -EACCES, "refused: there is no client certificate");
	}
	if (r == TLS_ERR_OLD_VERSION)
		return error_set(err, -EACCES, "refused: it offers no TLS 1.2, only something older");
	if (r == TLS_ERR_NO_SUITE || r == TLS_ERR_NO_CURVE)
		return error_set(
			err, -EACCES,
			"refused: it offers no suite of TLS 1.2 with ECDHE and AEAD, or no curve of ours");
	if (r == MBEDTLS_ERR_SSL_CONN_EOF || r == MBEDTLS_ERR_NET_CONN_RESET)
		return error_set(err, -ECONNRESET, "the other side ended the handshake");
	mbedtls_strerror(r, text, sizeof(text));
	return error_set(err, -EACCES, "refused: %s", text);
}

int tls_handshake(struct tls_link *link, struct error *err)
{
	int r;

	link->turn_bytes = TURN_BYTES;
	r = mbedtls_ssl_handshake(&link->ssl);
	link->wants_write = r == MBEDTLS_ERR_SSL_WANT_WRITE;
	if (r == MBEDTLS_ERR_SSL_WANT_READ || r == MBEDTLS_ERR_SSL_WANT_WRITE)
		return error_set(err, -EAGAIN, "the handshake goes on");
	return r == 0 ? 0 : failed(link, r, err);
}

void tls_deadline(struct tls_link *link, uint64_t until_ms)
{
	link->until_ms = until_ms;
}

int tls_unit(const struct tls_link *link)
{
	return link->unit;
}

uint64_t tls_peer(const struct tls_link *link)
{
	return strtoull(strndupa(link->fingerprint, 16), NULL, 16);
}

bool tls_is_revoked(struct tls_link *link)
{
	return is_revoked(link, link->fingerprint);
}

const char *tls_name(const struct tls_link *link)
{
	return link->name;
}

static ssize_t moved(struct tls_link *link, int r)
{
	link->wants_write = r == MBEDTLS_ERR_SSL_WANT_WRITE;
	if (r >= 0)
		return r;
	if (r == MBEDTLS_ERR_SSL_WANT_READ || r == MBEDTLS_ERR_SSL_WANT_WRITE)
		return -EAGAIN;
	return r == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ? 0 : -EPIPE;
}

ssize_t tls_read(struct tls_link *link, void *data, size_t bytes)
{
	link->turn_bytes = TURN_BYTES;
	return moved(link, mbedtls_ssl_read(&link->ssl, data, bytes));
}

ssize_t tls_write(struct tls_link *link, const void *data, size_t bytes)
{
	return moved(link, mbedtls_ssl_write(&link->ssl, data, bytes));
}

bool tls_wants_write(const struct tls_link *link)
{
	return link->wants_write;
}

size_t tls_buffered(const struct tls_link *link)
{
	return mbedtls_ssl_get_bytes_avail(&link->ssl);
}
