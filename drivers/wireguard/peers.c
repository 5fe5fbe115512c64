/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/wireguard/peers.h"
#include "core/base/json.h"
#include "drivers/digest/mbedtls.h"

#include <mbedtls/base64.h>
#include <mbedtls/x509_crt.h>
#include <string.h>
#include <strings.h>

/* ---- Boxes ---- */

const struct peers_box *peers_named(const struct peers *peers, const char *name)
{
	for (uint32_t i = 0; i < peers->count; i++)
		if (strcasecmp(peers->box[i].name, name) == 0)
			return &peers->box[i];
	return NULL;
}

const struct peers_box *peers_with_key(const struct peers *peers, const char *public_key)
{
	for (uint32_t i = 0; i < peers->count; i++)
		if (*public_key && strcmp(peers->box[i].public_key, public_key) == 0)
			return &peers->box[i];
	return NULL;
}

const struct peers_box *peers_at(const struct peers *peers, uint32_t address)
{
	for (uint32_t i = 0; i < peers->count; i++)
		if (peers->box[i].address == address)
			return &peers->box[i];
	return NULL;
}

/* ---- Read ---- */

static int parse_network(const char *what, const cJSON *json, struct peers *peers, struct error *err)
{
	const char *text;
	int r = json_get_string(what, json, "network", &text, err);

	if (r < 0 || cidr_parse(text, &peers->network))
		return r;
	return error_set(err, -EBADMSG, "%s: network: found \"%.64s\", expected " CIDR_ALLOWED, what, text);
}

/* Checks the values of a box. The files of systemd-networkd contain the name and the key. */
static int parse_box(const char *what, const cJSON *json, struct peers *peers, struct error *err)
{
	const char *name, *address, *key;
	struct peers_box *box = &peers->box[peers->count];
	int r;

	if ((r = json_get_string(what, json, "name", &name, err)) < 0 ||
	    (r = json_get_string(what, json, "address", &address, err)) < 0 ||
	    (r = json_get_string(what, json, "public_key", &key, err)) < 0)
		return r;
	if (pki_check_name(name, err) < 0)
		return error_set(err, -EBADMSG, "%s: box %u: the name is no host name", what, peers->count);
	if (!cidr_parse_address(address, &box->address) || !cidr_has(&peers->network, box->address))
		return error_set(err, -EBADMSG,
				 "%s: %s: found the address \"%.64s\", expected one of the network", what,
				 name, address);
	if (*key && !wireguard_is_key(key))
		return error_set(err, -EBADMSG, "%s: %s: public_key is no key of WireGuard", what, name);
	if (peers_named(peers, name) || peers_with_key(peers, key) || peers_at(peers, box->address))
		return error_set(err, -EBADMSG, "%s: %s: the name, the address or the key is there twice",
				 what, name);
	(void)snprintf(box->name, sizeof(box->name), "%s", name);
	(void)snprintf(box->public_key, sizeof(box->public_key), "%s", key);
	peers->count++;
	return 0;
}

static int parse(const char *what, const cJSON *json, struct peers *peers, struct error *err)
{
	const cJSON *boxes = json_member(json, "boxes"), *box;
	const char *signature;
	int r = json_get_string(what, json, "signature", &signature, err);

	if (r < 0 || (r = parse_network(what, json, peers, err)) < 0)
		return r;
	if (strlen(signature) >= sizeof(peers->signature))
		return error_set(err, -EBADMSG, "%s: signature: found %zu bytes, expected at most %zu", what,
				 strlen(signature), sizeof(peers->signature) - 1);
	(void)snprintf(peers->signature, sizeof(peers->signature), "%s", signature);
	if (!cJSON_IsArray(boxes) || cJSON_GetArraySize(boxes) > (int)PEERS_MAX)
		return error_set(err, -EBADMSG, "%s: boxes: expected a list of at most %u", what, PEERS_MAX);
	cJSON_ArrayForEach(box, boxes)
		if ((r = parse_box(what, box, peers, err)) < 0)
			return r;
	return 0;
}

int peers_parse(const char *what, const char *text, uint64_t bytes, struct peers *ret_peers,
		struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	struct peers peers = { 0 };
	int r = json_parse(what, text, bytes, &json, err);

	if (r < 0 || (r = parse(what, json, &peers, err)) < 0)
		return r;
	*ret_peers = peers;
	return 0;
}

int peers_read(const char *path, const char *ca_file, struct peers *ret_peers, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	struct peers peers = { 0 };
	int r = json_read(path, PEERS_FILE_BYTES_MAX, &json, err);

	if (r < 0 || (r = parse(path, json, &peers, err)) < 0 ||
	    (r = peers_verify(path, &peers, ca_file, err)) < 0)
		return r;
	*ret_peers = peers;
	return 0;
}

/* ---- Signature ---- */

static void hash_text(mbedtls_sha256_context *hash, const char *text)
{
	/* With the NUL: no two lists have the same text. */
	(void)mbedtls_sha256_update(hash, (const unsigned char *)text, strlen(text) + 1);
}

static void hash_number(mbedtls_sha256_context *hash, uint32_t number)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%08x", number);
	hash_text(hash, text);
}

void peers_hash(const struct peers *peers, unsigned char ret_hash[static PEERS_HASH_BYTES])
{
	mbedtls_sha256_context hash;

	mbedtls_sha256_init(&hash);
	(void)mbedtls_sha256_starts(&hash, 0);
	/* No certificate begins so: a signature of this list is not one of a certificate. */
	hash_text(&hash, "kiln boxes");
	hash_number(&hash, peers->network.network);
	hash_number(&hash, peers->network.prefix);
	for (uint32_t i = 0; i < peers->count; i++) {
		hash_text(&hash, peers->box[i].name);
		hash_number(&hash, peers->box[i].address);
		hash_text(&hash, peers->box[i].public_key);
	}
	(void)mbedtls_sha256_finish(&hash, ret_hash);
	mbedtls_sha256_free(&hash);
}

int peers_verify(const char *what, const struct peers *peers, const char *ca_file, struct error *err)
{
	unsigned char hash[PEERS_HASH_BYTES], signature[PEERS_SIGNATURE_BYTES];
	mbedtls_x509_crt ca;
	bool fits = false;
	size_t bytes = 0;
	int r;

	peers_hash(peers, hash);
	mbedtls_x509_crt_init(&ca);
	r = mbedtls_x509_crt_parse_file(&ca, ca_file);
	if (r != 0) {
		mbedtls_x509_crt_free(&ca);
		return error_set(err, -EKEYREJECTED, "%s: no readable certificates (mbedTLS: -0x%x)", ca_file,
				 (unsigned)(r < 0 ? -r : r));
	}
	r = mbedtls_base64_decode(signature, sizeof(signature), &bytes,
				  (const unsigned char *)peers->signature, strlen(peers->signature));
	for (mbedtls_x509_crt *at = &ca; r == 0 && !fits && at; at = at->next)
		fits = mbedtls_pk_verify(&at->pk, MBEDTLS_MD_SHA256, hash, sizeof(hash), signature, bytes) ==
		       0;
	mbedtls_x509_crt_free(&ca);
	return fits ? 0
		    : error_set(err, -EKEYREJECTED,
				"%s: the signature is not one of the authority of %s: another authority "
				"made the list, or the list was changed",
				what, ca_file);
}

/* ---- Print ---- */

static bool add_box(cJSON *boxes, const struct peers_box *box)
{
	cJSON *json = cJSON_CreateObject();
	char address[CIDR_TEXT_BYTES];

	return cJSON_AddStringToObject(json, "name", box->name) &&
	       cJSON_AddStringToObject(json, "address", cidr_address(box->address, address)) &&
	       cJSON_AddStringToObject(json, "public_key", box->public_key) &&
	       cJSON_AddItemToArray(boxes, json);
}

int peers_print(const struct peers *peers, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	char address[CIDR_TEXT_BYTES], network[CIDR_TEXT_BYTES + 4];
	cJSON *boxes;
	bool good;

	(void)snprintf(network, sizeof(network), "%s/%u", cidr_address(peers->network.network, address),
		       peers->network.prefix);
	good = cJSON_AddStringToObject(json, "network", network);
	boxes = cJSON_AddArrayToObject(json, "boxes");
	for (uint32_t i = 0; i < peers->count; i++)
		good = good && add_box(boxes, &peers->box[i]);
	good = good && cJSON_AddStringToObject(json, "signature", peers->signature);
	return good ? json_print(json, ret_text, err)
		    : error_set(err, -ENOMEM, "no memory for a list of boxes");
}
