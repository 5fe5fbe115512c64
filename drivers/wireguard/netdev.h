/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files by which systemd-networkd makes the interface kiln-ranks of a box: systemd.netdev(5) with a peer
 * for each other box, and systemd.network(5) with the own address. Pure functions. Every value in them was
 * checked by peers_parse(), so that no value can add a line.
 */
#pragma once

#include "drivers/wireguard/peers.h"

#include <stdbool.h>

#define NETDEV_INTERFACE "kiln-ranks"
#define NETDEV_PORT      51820u /* UDP; other boxes reach this one here */

/* Writes the text of the .netdev file. `key_file`: the file with the private key, whose content is not in the
 * text. The caller frees the text. Errors: -ENOMEM. */
MUST_CHECK int netdev_text(const struct peers *peers, const struct peers_box *own, const char *key_file,
			   char **ret_text, struct error *err);
/* Writes the text of the .network file. The caller frees the text. Errors: -ENOMEM. */
MUST_CHECK int netdev_network_text(const struct peers *peers, const struct peers_box *own, char **ret_text,
				   struct error *err);
/* Tells whether this machine has the interface, and the interface is up. */
bool netdev_is_up(void);
