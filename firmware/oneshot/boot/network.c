/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the WireGuard network of ranks.network for systemd-networkd, before it starts: the interface with
 * its peers, its address, and the private key, which only root and systemd-networkd can read. On a flashed
 * box PATH_NETWORKD is a folder of /data (provision.c), so the files of the boot before are still there: each
 * start removes them first.
 *
 * kiln-generator does not do this: it runs before /data is there, and checks no signature.
 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/wireguard/netdev.h"
#include "drivers/wireguard/own.h"
#include "oneshot/boot/boot.h"
#include "oneshot/boot/last_good.h"

#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#define GROUP   "systemd-network" /* systemd-networkd runs as this user and group */
#define NETDEV  "50-" NETDEV_INTERFACE ".netdev"
#define NETWORK "50-" NETDEV_INTERFACE ".network"
#define KEY     "50-" NETDEV_INTERFACE ".key"

static int remove_all(struct error *err)
{
	static const char *const names[] = { NETDEV, NETWORK, KEY };
	char path[PATH_BYTES];
	int r = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (unlink(path_of(PATH_NETWORKD, names[i], path)) < 0 && errno != ENOENT)
			r = error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	return r;
}

/* Writes a new file. Its mode is set before its content is there. `group`: who may also read it. */
static int write_file(const char *name, const char *text, mode_t mode, gid_t group, struct error *err)
{
	char path[PATH_BYTES];
	CLEANUP(close_fd)
	int fd = open(path_of(PATH_NETWORKD, name, path),
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 || fchown(fd, (uid_t)-1, group) < 0 || fchmod(fd, mode) < 0
			? -errno
			: file_write_all(fd, text, strlen(text));

	return r < 0 ? error_set(err, r, "%s: cannot write it: %s", path, strerror(-r)) : 0;
}

static int write_key(const struct own *own, struct error *err)
{
	const struct group *group = getgrnam(GROUP);
	char line[WIREGUARD_KEY_BYTES + 1];
	int r;

	if (!group)
		return error_set(err, -ENOENT,
				 "there is no group " GROUP
				 ": systemd-networkd, which makes the network between "
				 "boxes, is not installed");
	(void)snprintf(line, sizeof(line), "%s\n", own->private_key);
	r = write_file(KEY, line, 0640, group->gr_gid, err);
	explicit_bzero(line, sizeof(line));
	return r;
}

/* Writes the .netdev file last: without it the others have no effect. */
static int write_all(const struct own *own, struct error *err)
{
	CLEANUP(free_ptr) char *netdev = NULL, *network = NULL;
	char folder[PATH_BYTES], key_file[PATH_BYTES];
	int r;

	if ((r = netdev_text(&own->peers, own->box, path_of(PATH_NETWORKD, KEY, key_file), &netdev, err)) <
		    0 ||
	    (r = netdev_network_text(&own->peers, own->box, &network, err)) < 0 ||
	    (r = path_make(path_of(PATH_NETWORKD, NULL, folder), err)) < 0 || (r = write_key(own, err)) < 0 ||
	    (r = write_file(NETWORK, network, 0644, (gid_t)-1, err)) < 0)
		return r;
	return write_file(NETDEV, netdev, 0644, (gid_t)-1, err);
}

int oneshot_network(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(own_done) struct own own = { 0 };
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	if (remove_all(&err) < 0)
		return fatal(&err);
	/* No error here for a kiln.conf with mistakes: kiln-config.service reports them. */
	if (last_good_load(&config, &err) < 0 || !own_is_needed(&config))
		return EX_OK;
	if (own_load(&config, &own, &err) < 0 || write_all(&own, &err) < 0)
		return fatal(&err);
	log_info("%s: this box is %s in the network %s between boxes", NETDEV_INTERFACE, own.box->name,
		 config.ranks.network);
	return EX_OK;
}
