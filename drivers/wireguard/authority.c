/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/wireguard/authority.h"
#include "core/base/paths.h"
#include "drivers/wireguard/peers.h"

#include <string.h>
#include <unistd.h>

static char *path_in(const char *folder, const char *name, const char *ending, char out[static PATH_BYTES])
{
	(void)snprintf(out, PATH_BYTES, "%s/%s%s", folder, name, ending);
	return out;
}

/* Reads FOLDER/boxes. Returns 1 where there is none. */
static int read_list(const char *folder, struct peers *ret_peers, struct error *err)
{
	char path[PATH_BYTES], ca_file[PATH_BYTES];
	int r = peers_read(path_in(folder, "boxes", "", path), path_in(folder, "ca", ".crt", ca_file),
			   ret_peers, err);

	return r == -ENOENT ? 1 : r;
}

static int write_list(const char *folder, struct peers *peers, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	unsigned char hash[PEERS_HASH_BYTES];
	char path[PATH_BYTES];
	int r;

	peers_hash(peers, hash);
	if ((r = pki_sign(folder, hash, peers->signature, sizeof(peers->signature), err)) < 0 ||
	    (r = peers_print(peers, &text, err)) < 0)
		return r;
	return file_write_durable(path_in(folder, "boxes", "", path), text, strlen(text), err);
}

/* Reads the public key of FOLDER/NAME.wireguard, and makes this file where it is missing. */
static int key_of(const char *folder, const char *name, char ret_public[static WIREGUARD_KEY_BYTES],
		  struct error *err)
{
	char path[PATH_BYTES], private[WIREGUARD_KEY_BYTES], line[WIREGUARD_KEY_BYTES + 1];
	int r = wireguard_read_key(path_in(folder, name, ".wireguard", path), private, ret_public, err);

	if (r == -ENOENT && (r = wireguard_make_key(private, ret_public, err)) == 0) {
		(void)snprintf(line, sizeof(line), "%s\n", private);
		r = pki_write_new(path, line, 0600, err);
		explicit_bzero(line, sizeof(line));
	}
	explicit_bzero(private, sizeof(private));
	return r;
}

/* Finds the box in the list, or adds it with the first free address. */
static int place_of(struct peers *peers, const char *name, struct peers_box **ret_box, struct error *err)
{
	const struct peers_box *known = peers_named(peers, name);
	const uint32_t hosts = cidr_hosts(&peers->network);
	struct peers_box *box = &peers->box[peers->count];
	uint32_t host = 1;

	if (known) {
		*ret_box = &peers->box[known - peers->box];
		return 0;
	}
	while (host <= hosts && peers_at(peers, peers->network.network + host))
		host++;
	if (host > hosts || peers->count == PEERS_MAX)
		return error_set(
			err, -ENOSPC,
			"%s: no address is free: the list has %u boxes, the network %u addresses, and "
			"a list at most %u boxes",
			name, peers->count, hosts, PEERS_MAX);
	*box = (struct peers_box){ .address = peers->network.network + host };
	(void)snprintf(box->name, sizeof(box->name), "%s", name);
	peers->count++;
	*ret_box = box;
	return 0;
}

static int add_box(const char *folder, const char *name, struct peers *peers, struct error *err)
{
	char public_key[WIREGUARD_KEY_BYTES];
	const struct peers_box *other;
	struct peers_box *box = NULL;
	int r;

	if ((r = pki_check_box(folder, name, err)) < 0 || (r = place_of(peers, name, &box, err)) < 0 ||
	    (r = key_of(folder, box->name, public_key, err)) < 0)
		return r;
	other = peers_with_key(peers, public_key);
	if (other && other != box)
		return error_set(err, -EINVAL, "%s: its key is that of %s, expected one of its own",
				 box->name, other->name);
	memcpy(box->public_key, public_key, sizeof(public_key));
	return 0;
}

int authority_add_boxes(const char *folder, const char *network, const char *const *names, struct error *err)
{
	struct peers peers = { 0 };
	struct cidr cidr;
	int r;

	if (!cidr_parse(network, &cidr))
		return error_set(err, -EINVAL, "found \"%.64s\" as the network, allowed: " CIDR_ALLOWED,
				 network);
	if ((r = read_list(folder, &peers, err)) < 0)
		return r;
	if (r > 0)
		peers = (struct peers){ .network = cidr };
	else if (peers.network.network != cidr.network || peers.network.prefix != cidr.prefix)
		return error_set(err, -EINVAL, "found %s as the network, allowed: that of %s/boxes", network,
				 folder);
	for (; *names; names++)
		if ((r = add_box(folder, *names, &peers, err)) < 0)
			return r;
	return write_list(folder, &peers, err);
}

static int remove_key(const char *folder, const char *name, struct error *err)
{
	char path[PATH_BYTES];

	if (unlink(path_in(folder, name, ".wireguard", path)) == 0 || errno == ENOENT)
		return 0;
	return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
}

int authority_revoke_box(const char *folder, const char *name, struct error *err)
{
	const struct peers_box *known;
	struct peers peers = { 0 };
	int r = read_list(folder, &peers, err);

	if (r != 0)
		return r < 0 ? r : 0;
	known = peers_named(&peers, name);
	if (!known)
		return 0;
	if (*known->public_key) {
		*peers.box[known - peers.box].public_key = '\0';
		r = write_list(folder, &peers, err);
	}
	return r < 0 ? r : remove_key(folder, known->name, err);
}
