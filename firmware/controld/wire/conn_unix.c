/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/wire/conn.h"

#include <grp.h>
#include <string.h>
#include <sys/socket.h>

#define GROUPS_MAX 1024

static const char *const groups[CONTROL_ROLE_MAX] = {
	[CONTROL_VIEW] = "kiln-view",
	[CONTROL_OPERATE] = "kiln-operate",
	[CONTROL_ADMIN] = "kiln-admin",
};

static ssize_t unix_read(struct conn *conn, void *data, size_t bytes)
{
	ssize_t n = recv(conn->fd, data, bytes, MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

static ssize_t unix_write(struct conn *conn, const void *data, size_t bytes)
{
	ssize_t n = send(conn->fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? -errno : n;
}

static void unix_close(struct conn *conn)
{
	(void)close(conn->fd);
	free(conn);
}

static const struct conn_type unix_type = { .read = unix_read, .write = unix_write, .close = unix_close };

static bool is_in(gid_t gid, const struct ucred *peer, const gid_t *others, size_t count)
{
	if (peer->gid == gid)
		return true;
	for (size_t i = 0; i < count; i++)
		if (others[i] == gid)
			return true;
	return false;
}

static enum control_role role_of(int fd, const struct ucred *peer)
{
	gid_t others[GROUPS_MAX];
	socklen_t bytes = sizeof(others);
	const char *root = getenv("KILN_ROOT");
	const struct group *group;

	if (peer->uid == 0 || (root && *root && peer->uid == geteuid()))
		return CONTROL_ADMIN;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, others, &bytes) < 0)
		bytes = 0;
	for (int role = CONTROL_ADMIN; role > CONTROL_NOBODY; role--) {
		group = getgrnam(groups[role]); // NOLINT(concurrency-mt-unsafe): one thread
		if (group && is_in(group->gr_gid, peer, others, bytes / sizeof(gid_t)))
			return (enum control_role)role;
	}
	return CONTROL_NOBODY;
}

int conn_unix(int fd, struct conn **ret_conn, struct error *err)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	int r;

	if (!conn || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0) {
		r = error_set(err, -errno, "a client's credentials: %s", strerror(errno));
		free(conn);
		(void)close(fd);
		return r;
	}
	*conn = (struct conn){
		.type = &unix_type, .fd = fd, .role = role_of(fd, &peer), .known = true, .caller = peer.uid
	};
	(void)snprintf(conn->who, sizeof(conn->who), "user %u", peer.uid);
	*ret_conn = conn;
	return 0;
}
