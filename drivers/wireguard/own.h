/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box itself has of the WireGuard network of ranks.network: the credentials ranks-key, its private key
 * (FOLDER/NAME.wireguard of kiln pki), and ranks-boxes, the signed list of boxes (FOLDER/boxes), which the
 * authority of the credential control-ca has to have signed. A credential is a file in systemd's folder
 * CREDENTIALS_DIRECTORY or, without this folder, in PATH_CREDENTIALS.
 *
 * The box finds itself in the list by its key: its name need not be known.
 *
 * Order: own_load -> read -> own_done, which clears the key. One thread. Crash: nothing is stored.
 */
#pragma once

#include "core/config/config.h"
#include "drivers/wireguard/peers.h"

#include <stdbool.h>

#define OWN_KEY   "ranks-key"
#define OWN_BOXES "ranks-boxes"

struct own {
	char private_key[WIREGUARD_KEY_BYTES];
	struct peers peers;
	const struct peers_box *box; /* this box, in `peers` */
};

/* Tells whether kiln.conf asks for a WireGuard network: ranks.network is set and not trusted. */
bool own_is_needed(const struct config *config);

/* Loads the credentials and checks them against kiln.conf. Errors: -ENOENT one of the credentials is missing;
 * -EACCES only root may read them; -EKEYREJECTED the list is not of this box's authority; -ENOKEY the list
 * has no box with this key; -EINVAL the list is for another network, or ranks.boxes names a box without a key
 * in the list; those of wireguard_read_key() and peers_read(). */
MUST_CHECK int own_load(const struct config *config, struct own *ret_own, struct error *err);
void own_done(struct own *own);
