/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/tls/pki.h"
#include "core/base/paths.h"
#include "drivers/digest/digest.h"
#include "drivers/tls/mbedtls_tls.h"

#include <fcntl.h>
#include <mbedtls/asn1write.h>
#include <mbedtls/base64.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/oid.h>
#include <string.h>
#include <time.h>

#define PEM_BYTES       8192
#define BACKDATED_S     86400 /* certificates are valid from yesterday on, for boxes whose clock is slow */
#define REVOKED_MAX     (4u << 20)
#define SAN_DNS         (MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2) /* RFC 5280 4.2.1.6, dNSName */
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-"

struct maker {
	mbedtls_entropy_context entropy;
	mbedtls_ctr_drbg_context random;
	mbedtls_pk_context key, ca_key;
	mbedtls_x509_crt ca;
	mbedtls_x509write_cert cert;
	unsigned char serial[TLS_SERIAL_BYTES];
};

static void maker_done(struct maker *maker)
{
	mbedtls_x509write_crt_free(&maker->cert);
	mbedtls_x509_crt_free(&maker->ca);
	mbedtls_pk_free(&maker->ca_key);
	mbedtls_pk_free(&maker->key);
	mbedtls_ctr_drbg_free(&maker->random);
	mbedtls_entropy_free(&maker->entropy);
}

static int failed(struct error *err, const char *what, int code)
{
	char text[128];

	mbedtls_strerror(code, text, sizeof(text));
	return error_set(err, -EIO, "%s: %s", what, text);
}

/* Makes a new key and a random serial number of 127 bits. */
static int maker_init(struct maker *maker, struct error *err)
{
	int r;

	mbedtls_entropy_init(&maker->entropy);
	mbedtls_ctr_drbg_init(&maker->random);
	mbedtls_pk_init(&maker->key);
	mbedtls_pk_init(&maker->ca_key);
	mbedtls_x509_crt_init(&maker->ca);
	mbedtls_x509write_crt_init(&maker->cert);
	if ((r = mbedtls_ctr_drbg_seed(&maker->random, mbedtls_entropy_func, &maker->entropy, NULL, 0)) ==
		    0 &&
	    (r = mbedtls_pk_setup(&maker->key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY))) == 0 &&
	    (r = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(maker->key),
				     mbedtls_ctr_drbg_random, &maker->random)) == 0 &&
	    (r = mbedtls_ctr_drbg_random(&maker->random, maker->serial, sizeof(maker->serial))) == 0) {
		maker->serial[0] = (maker->serial[0] & 0x7f) | 0x40;
		return 0;
	}
	return failed(err, "a new key", r);
}

static int set_dates(mbedtls_x509write_cert *cert, unsigned days)
{
	time_t from = time(NULL) - BACKDATED_S, to = time(NULL) + (time_t)days * 86400;
	char before[16], after[16];
	struct tm tm;

	(void)gmtime_r(&from, &tm);
	(void)strftime(before, sizeof(before), "%Y%m%d%H%M%S", &tm);
	(void)gmtime_r(&to, &tm);
	(void)strftime(after, sizeof(after), "%Y%m%d%H%M%S", &tm);
	return mbedtls_x509write_crt_set_validity(cert, before, after);
}

/* Sets extendedKeyUsage to one purpose and, for a box, subjectAltName to one DNS name. mbedTLS writes ASN.1
 * from the end of the buffer to its beginning. */
static int set_usage(mbedtls_x509write_cert *cert, const char *dns_name)
{
	const char *purpose = dns_name ? MBEDTLS_OID_SERVER_AUTH : MBEDTLS_OID_CLIENT_AUTH;
	unsigned char buffer[128 + PKI_NAME_MAX], *end = buffer + sizeof(buffer), *at = end;
	int r = mbedtls_asn1_write_oid(&at, buffer, purpose, MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH));

	(void)mbedtls_asn1_write_len(&at, buffer, (size_t)r);
	(void)mbedtls_asn1_write_tag(&at, buffer, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
	r = mbedtls_x509write_crt_set_extension(cert, MBEDTLS_OID_EXTENDED_KEY_USAGE,
						MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0, at,
						(size_t)(end - at));
	if (r != 0 || !dns_name)
		return r;
	at = end;
	r = mbedtls_asn1_write_tagged_string(&at, buffer, SAN_DNS, dns_name, strlen(dns_name));
	(void)mbedtls_asn1_write_len(&at, buffer, (size_t)r);
	(void)mbedtls_asn1_write_tag(&at, buffer, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
	return mbedtls_x509write_crt_set_extension(cert, MBEDTLS_OID_SUBJECT_ALT_NAME,
						   MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, at,
						   (size_t)(end - at));
}

/* ---- Files ---- */

static char *path_in(const char *folder, const char *name, const char *ending, char out[static PATH_BYTES])
{
	(void)snprintf(out, PATH_BYTES, "%s/%s%s", folder, name, ending);
	return out;
}

int pki_write_new(const char *path, const char *text, mode_t mode, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));

	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r < 0 ? error_set(err, r, "%s: cannot write it: %s", path, strerror(-r)) : 0;
}

static int write_pair(struct maker *maker, const char *folder, const char *name, struct error *err)
{
	unsigned char cert[PEM_BYTES], key[PEM_BYTES];
	char path[PATH_BYTES];
	int r;

	if ((r = mbedtls_pk_write_key_pem(&maker->key, key, sizeof(key))) != 0 ||
	    (r = mbedtls_x509write_crt_pem(&maker->cert, cert, sizeof(cert), mbedtls_ctr_drbg_random,
					   &maker->random)) != 0)
		return failed(err, name, r);
	r = pki_write_new(path_in(folder, name, ".key", path), (const char *)key, 0600, err);
	return r < 0 ? r : pki_write_new(path_in(folder, name, ".crt", path), (const char *)cert, 0644, err);
}

/* ---- Certificates ---- */

int pki_check_name(const char *name, struct error *err)
{
	size_t length = strlen(name);

	if (length >= 1 && length <= PKI_NAME_MAX && strspn(name, NAME_CHARACTERS) == length &&
	    *name != '.' && *name != '-')
		return 0;
	return error_set(err, -EINVAL,
			 "found \"%.100s\" as a name, allowed: 1 .. %u characters of [A-Za-z0-9.-]", name,
			 PKI_NAME_MAX);
}

int pki_init(const char *folder, const char *name, unsigned days, struct error *err)
{
	CLEANUP(maker_done) struct maker maker;
	mbedtls_x509write_cert *cert = &maker.cert;
	char subject[128];
	int r = maker_init(&maker, err);

	if (r < 0 || (r = pki_check_name(name, err)) < 0 || (r = path_make(folder, err)) < 0)
		return r;
	(void)snprintf(subject, sizeof(subject), "O=kiln,CN=%s", name);
	mbedtls_x509write_crt_set_version(cert, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(cert, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(cert, &maker.key);
	mbedtls_x509write_crt_set_issuer_key(cert, &maker.key);
	if ((r = mbedtls_x509write_crt_set_subject_name(cert, subject)) != 0 ||
	    (r = mbedtls_x509write_crt_set_issuer_name(cert, subject)) != 0 ||
	    (r = tls_set_serial(cert, maker.serial)) != 0 || (r = set_dates(cert, days)) != 0 ||
	    (r = mbedtls_x509write_crt_set_basic_constraints(cert, 1, 0)) != 0 ||
	    (r = mbedtls_x509write_crt_set_key_usage(cert, MBEDTLS_X509_KU_KEY_CERT_SIGN)) != 0 ||
	    (r = mbedtls_x509write_crt_set_subject_key_identifier(cert)) != 0)
		return failed(err, "the authority's certificate", r);
	return write_pair(&maker, folder, "ca", err);
}

static int read_ca(struct maker *maker, const char *folder, struct error *err)
{
	char path[PATH_BYTES];
	int r = mbedtls_x509_crt_parse_file(&maker->ca, path_in(folder, "ca", ".crt", path));

	if (r == 0)
		r = tls_parse_key(&maker->ca_key, path_in(folder, "ca", ".key", path), &maker->random);
	return r == 0 ? 0 : failed(err, path, r);
}

static int set_names(struct maker *maker, const char *name, const char *unit)
{
	char subject[256], issuer[256];
	int r = mbedtls_x509_dn_gets(issuer, sizeof(issuer), &maker->ca.subject);

	(void)snprintf(subject, sizeof(subject), "O=kiln,%s%s%sCN=%s", unit ? "OU=" : "", unit ? unit : "",
		       unit ? "," : "", name);
	if (r < 0 || (r = mbedtls_x509write_crt_set_subject_name(&maker->cert, subject)) != 0)
		return r;
	return mbedtls_x509write_crt_set_issuer_name(&maker->cert, issuer);
}

int pki_issue(const char *folder, const char *name, const char *unit, unsigned days, struct error *err)
{
	CLEANUP(maker_done) struct maker maker;
	mbedtls_x509write_cert *cert = &maker.cert;
	int r = maker_init(&maker, err);

	if (r < 0 || (r = pki_check_name(name, err)) < 0 || (r = read_ca(&maker, folder, err)) < 0)
		return r;
	mbedtls_x509write_crt_set_version(cert, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(cert, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(cert, &maker.key);
	mbedtls_x509write_crt_set_issuer_key(cert, &maker.ca_key);
	if ((r = set_names(&maker, name, unit)) != 0 || (r = tls_set_serial(cert, maker.serial)) != 0 ||
	    (r = set_dates(cert, days)) != 0 ||
	    (r = mbedtls_x509write_crt_set_basic_constraints(cert, 0, -1)) != 0 ||
	    (r = mbedtls_x509write_crt_set_key_usage(cert, MBEDTLS_X509_KU_DIGITAL_SIGNATURE)) != 0 ||
	    (r = mbedtls_x509write_crt_set_authority_key_identifier(cert)) != 0 ||
	    (r = set_usage(cert, unit ? NULL : name)) != 0)
		return failed(err, name, r);
	return write_pair(&maker, folder, name, err);
}

/* ---- Revocation ---- */

/* Reads FOLDER/NAME.crt. `ret_fingerprint`: the SHA-256 by which a certificate is revoked. */
static int read_certificate(const char *folder, const char *name, mbedtls_x509_crt *cert,
			    char ret_fingerprint[static DIGEST_HEX_BYTES], struct error *err)
{
	char path[PATH_BYTES];
	int r = pki_check_name(name, err);

	if (r < 0)
		return r;
	r = mbedtls_x509_crt_parse_file(cert, path_in(folder, name, ".crt", path));
	if (r != 0)
		return failed(err, path, r);
	digest_sha256(cert->raw.p, cert->raw.len, ret_fingerprint);
	return 0;
}

/* Reads the list FOLDER/revoked; *ret is NULL where there is none. */
static int read_revoked(const char *folder, char **ret, struct error *err)
{
	char path[PATH_BYTES];
	int r = file_read(path_in(folder, "revoked", "", path), REVOKED_MAX, ret, NULL, err);

	return r == -ENOENT ? 0 : r;
}

int pki_revoke(const char *folder, const char *name, struct error *err)
{
	CLEANUP(free_ptr) char *old = NULL, *text = NULL;
	CLEANUP(mbedtls_x509_crt_free) mbedtls_x509_crt cert;
	char path[PATH_BYTES], fingerprint[DIGEST_HEX_BYTES];
	int r;

	mbedtls_x509_crt_init(&cert);
	if ((r = read_certificate(folder, name, &cert, fingerprint, err)) < 0 ||
	    (r = read_revoked(folder, &old, err)) < 0)
		return r;
	if (old && strstr(old, fingerprint))
		return 0;
	if (asprintf(&text, "%s%s # %s\n", old ? old : "", fingerprint, name) < 0)
		return error_set(err, -ENOMEM, "no memory");
	return file_write_durable(path_in(folder, "revoked", "", path), text, strlen(text), err);
}

int pki_check_box(const char *folder, const char *name, struct error *err)
{
	CLEANUP(mbedtls_x509_crt_free) mbedtls_x509_crt cert;
	CLEANUP(free_ptr) char *revoked = NULL;
	char fingerprint[DIGEST_HEX_BYTES];
	int r;

	mbedtls_x509_crt_init(&cert);
	if ((r = read_certificate(folder, name, &cert, fingerprint, err)) < 0 ||
	    (r = read_revoked(folder, &revoked, err)) < 0)
		return r;
	if (revoked && strstr(revoked, fingerprint))
		return error_set(err, -EKEYREVOKED, "%s: its certificate is revoked", name);
	return tls_is_authority(&cert) || mbedtls_x509_crt_check_extended_key_usage(
						  &cert, MBEDTLS_OID_SERVER_AUTH,
						  MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH)) != 0
		       ? error_set(err, -EINVAL,
				   "%s: expected the certificate of a box, not of a person or "
				   "an authority",
				   name)
		       : 0;
}

int pki_sign(const char *folder, const unsigned char hash[static PKI_HASH_BYTES], char *ret_base64,
	     size_t size, struct error *err)
{
	CLEANUP(maker_done) struct maker maker;
	unsigned char signature[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
	size_t bytes = 0;
	int r = maker_init(&maker, err);

	if (r < 0 || (r = read_ca(&maker, folder, err)) < 0)
		return r;
	if ((r = tls_sign(&maker.ca_key, hash, PKI_HASH_BYTES, signature, sizeof(signature), &bytes,
			  &maker.random)) != 0)
		return failed(err, "a signature of the authority", r);
	return mbedtls_base64_encode((unsigned char *)ret_base64, size, &bytes, signature, bytes) == 0
		       ? 0
		       : error_set(err, -E2BIG,
				   "the authority's signature is too long: its key has more than "
				   "4096 bits");
}

/* ---- A text ---- */

int pki_check(const char *text, uint64_t bytes, struct error *err)
{
	mbedtls_x509_crt found;
	char why[128];
	int r;

	mbedtls_x509_crt_init(&found);
	/* The length of PEM includes the NUL. A positive result of mbedtls_x509_crt_parse() is the number of
	 * unreadable certificates. */
	r = mbedtls_x509_crt_parse(&found, (const unsigned char *)text, bytes + 1);
	mbedtls_x509_crt_free(&found);
	if (r > 0)
		return error_set(err, -EINVAL, "%d certificates cannot be read", r);
	if (r < 0) {
		mbedtls_strerror(r, why, sizeof(why));
		return error_set(err, -EINVAL, "no certificate in PEM: %s", why);
	}
	return 0;
}
