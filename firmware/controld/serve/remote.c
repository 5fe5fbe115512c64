/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/remote.h"
#include "controld/status/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/config/config.h"
#include "drivers/tls/tls.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BACKLOG 128

/* Finds the file of a credential: in systemd's folder, or without systemd in PATH_CREDENTIALS. In systemd's
 * folder kiln-controld.service writes "-" for a credential that the box does not have. */
static int find_credential(const char *name, char ret_path[static PATH_BYTES], struct error *err)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char source[PATH_BYTES];
	struct stat st;

	(void)path_of(PATH_CREDENTIALS, name, source);
	(void)snprintf(ret_path, PATH_BYTES, "%s", source);
	if (folder)
		(void)snprintf(ret_path, PATH_BYTES, "%s/%s", folder, name);
	if (stat(ret_path, &st) == 0 && st.st_size > 1)
		return 0;
	return error_set(err, -ENOENT,
			 "%s did not exist when kiln-controld began; kiln pki --help tells what it is",
			 source);
}

static int open_tls(struct server *server, struct error *err)
{
	static char revoked[PATH_BYTES]; /* static: TLS needs the path at every handshake */
	char ca[PATH_BYTES], cert[PATH_BYTES], key[PATH_BYTES];
	const struct tls_options options = {
		.side = TLS_SERVER,
		.ca_file = ca,
		.cert_file = cert,
		.key_file = key,
		.revoked_file = path_of(PATH_REVOKED, NULL, revoked),
		.units = conn_tls_units,
		.clock_is_set = clock_is_set,
	};
	int r;

	if ((r = find_credential("control-ca", ca, err)) < 0 ||
	    (r = find_credential("control-crt", cert, err)) < 0 ||
	    (r = find_credential("control-key", key, err)) < 0)
		return r;
	return tls_open(&options, &server->tls, err);
}

/* Opens one socket for IPv6 and IPv4, or for IPv4 only if the kernel has no IPv6. */
static int listen_on(uint16_t port, int *ret_fd, struct error *err)
{
	const struct sockaddr_in6 ip = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const struct sockaddr_in old = { .sin_family = AF_INET, .sin_port = htons(port) };
	CLEANUP(close_fd) int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool has_ip = fd >= 0 || errno != EAFNOSUPPORT;
	int one = 1, zero = 0;

	if (!has_ip)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (has_ip && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, has_ip ? (const struct sockaddr *)&ip : (const struct sockaddr *)&old,
		 has_ip ? sizeof(ip) : sizeof(old)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return error_set(err, -errno, "port %u: cannot listen: %s", port, strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Loads kiln.conf, or the last good one if kiln.conf has a mistake: the mistake must not lock out people who
 * want to correct it from another machine. */
static int load(struct config *ret_config, struct error *err)
{
	const char *file = config_path(0, NULL);
	char good[PATH_BYTES];
	int r = config_load(file, ret_config, err);

	if (r == 0 || r == -ENOENT)
		return r;
	config_done(ret_config);
	*ret_config = (struct config){ 0 };
	(void)snprintf(good, sizeof(good), "%.4000s" CONFIG_GOOD_SUFFIX, file);
	if (config_load(good, ret_config, NULL) < 0)
		return r;
	log_warning("%s has a mistake: using control.* of the last good file, %s", file, good);
	return 0;
}

void remote_open(struct server *server)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	int r = load(&config, &err);

	if (r == 0 && *config.control.metrics_dir)
		server->box.metrics.dir = strdup(config.control.metrics_dir);
	if (r == -ENOENT || (r == 0 && !config.control.remote))
		return;
	if (r == 0 && (r = open_tls(server, &err)) == 0 &&
	    (r = listen_on((uint16_t)config.control.port, &server->remote.fd, &err)) == 0)
		r = server_listen(server, &server->remote, &err);
	if (r < 0)
		event_send(&(struct event){ .id = EVENT_REMOTE_UNAVAILABLE },
			   "other machines get no answers: %s", err.text);
	else
		log_info("answering other machines on port %u", (unsigned)config.control.port);
}
