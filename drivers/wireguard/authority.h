/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WireGuard network of an authority's folder (drivers/tls/pki.h): FOLDER/boxes, the signed list of
 * peers.h, and FOLDER/NAME.wireguard, the private key of each box, which only the owner can read. No key file
 * is ever overwritten: for a new key of a box remove its file, then add the box again.
 *
 * Threads: none; it runs in the caller's thread. Crash: may leave a key whose box is not in the list; to add
 * the box again uses this key.
 */
#pragma once

#include "core/base/error.h"

/* Adds boxes to the list, and makes the list where there is none. `network`: its CIDR, the same each time.
 * `names`: NULL at the end. A new box gets the first address that no box has or had; a box of the list keeps
 * its address, and gets the key of its file. Repeating it changes nothing. Errors: -EINVAL `network` is no
 * network or not that of the list, or a name is no box's; -EKEYREVOKED; -ENOSPC no address is free; -EIO a
 * certificate is missing; those of peers_read(). */
MUST_CHECK int authority_add_boxes(const char *folder, const char *network, const char *const *names,
				   struct error *err);

/* Takes the key of a box out of the list, and removes its file, so that no box gets this key again; the box
 * keeps its address, so that no other box gets it. Repeating it changes nothing. Does nothing where there is
 * no list, or where the list has no such box. */
MUST_CHECK int authority_revoke_box(const char *folder, const char *name, struct error *err);
