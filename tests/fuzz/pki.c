/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the input as the PEM of an authority, as an operator gives it, and as the certificate of a peer, in
 * PEM or DER: its role and its name, which a log shows before the peer has proven anything.
 */
#include "drivers/tls/pki.h"
#include "drivers/tls/tls.c" // NOLINT(bugprone-suspicious-include): its statics

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const roles[] = { "view", "operate", "admin", NULL };

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static void try_peer(const unsigned char *text, size_t bytes)
{
	mbedtls_x509_crt found;

	mbedtls_x509_crt_init(&found);
	(void)mbedtls_x509_crt_parse(&found, text, bytes);
	for (const mbedtls_x509_crt *cert = &found; cert && cert->raw.p; cert = cert->next) {
		struct tls_link link = { 0 };
		int unit = unit_of(cert, roles);

		must(unit >= -1 && unit < 3);
		save_name(&link, cert);
		must(strlen(link.name) < TLS_NAME_BYTES);
		for (const char *c = link.name; *c; c++)
			must(*c > 0x20 && *c < 0x7f);
	}
	mbedtls_x509_crt_free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_ptr) char *text = malloc(size + 1);
	struct error err = { 0 };

	must(text);
	memcpy(text, data, size);
	text[size] = 0;
	must((pki_check(text, size, &err) < 0) == (*err.text != 0));
	try_peer((const unsigned char *)text, size + 1);
	try_peer(data, size);
	return 0;
}
