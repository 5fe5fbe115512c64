/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signed list of boxes: name, address and public WireGuard key of every box of ranks.network. `kiln pki
 * network` (drivers/wireguard/authority.h) makes it; every box has a copy, the credential ranks-boxes:
 *
 *     { "network": "10.7.0.0/24",
 *       "boxes": [ { "name": "box-1", "address": "10.7.0.1", "public_key": BASE64 }, ... ],
 *       "signature": BASE64 }
 *
 * A public key that is "" belongs to a box that was revoked, whose address no other box gets.
 *
 * Why a list with one signature, and not the keys inside the certificates: a box has to know all other boxes
 * before it can reach any of them, so their certificates would have to be copied to it anyway; the addresses
 * have to be assigned in one place; and a certificate expires at a date, at which the network would break,
 * while the list is replaced as a whole. The signature is made with the key of the authority, over a text
 * that is computed from the values (peers_hash()). So the list is exactly as good as a certificate of the
 * same authority: nobody else can add a box or replace a key, on the way to a box, either. An older list of
 * the same authority is accepted: to take a key back, copy the new list to each box, as with
 * /etc/kiln/revoked.
 *
 * Order: peers_read, or peers_parse and peers_verify -> peers_find. One thread. Crash: nothing is stored.
 */
#pragma once

#include "core/config/cidr.h"
#include "drivers/tls/pki.h"
#include "drivers/wireguard/keys.h"

#include <stdint.h>

#define PEERS_MAX             254u
#define PEERS_FILE_BYTES_MAX  (1u << 20)
#define PEERS_HASH_BYTES      32u
#define PEERS_SIGNATURE_BYTES 1024u /* as text: enough for RSA keys of 4096 bits */

struct peers_box {
	char name[PKI_NAME_MAX + 1];
	uint32_t address;
	char public_key[WIREGUARD_KEY_BYTES]; /* "" = revoked */
};

struct peers {
	struct cidr network;
	uint32_t count;
	struct peers_box box[PEERS_MAX]; /* in the order in which they were added */
	char signature[PEERS_SIGNATURE_BYTES];
};

/* Parses a list, and checks each value but not the signature: names have only the characters of host names,
 * addresses belong to the network, nothing is there twice. `what`: the name of the text in errors. Errors:
 * -EBADMSG. */
MUST_CHECK int peers_parse(const char *what, const char *text, uint64_t bytes, struct peers *ret_peers,
			   struct error *err);

/* Checks the signature. `ca_file`: PEM, the certificates of the authority; one of them has to fit. Errors:
 * -EKEYREJECTED another authority signed the list, or somebody changed it; the file cannot be read. */
MUST_CHECK int peers_verify(const char *what, const struct peers *peers, const char *ca_file,
			    struct error *err);

/* Reads, parses and verifies a file. Errors: those of json_read(), peers_parse() and peers_verify(). */
MUST_CHECK int peers_read(const char *path, const char *ca_file, struct peers *ret_peers, struct error *err);

/* Computes what the authority signs: SHA-256 of a text with all values. */
void peers_hash(const struct peers *peers, unsigned char ret_hash[static PEERS_HASH_BYTES]);

/* Prints a list as JSON. The caller frees the text. Errors: -ENOMEM. */
MUST_CHECK int peers_print(const struct peers *peers, char **ret_text, struct error *err);

/* Return the box with this name, in any case, or with this public key; NULL where there is none. */
const struct peers_box *peers_named(const struct peers *peers, const char *name);
const struct peers_box *peers_with_key(const struct peers *peers, const char *public_key);
/* Returns the box with this address; NULL where it is free. */
const struct peers_box *peers_at(const struct peers *peers, uint32_t address);
