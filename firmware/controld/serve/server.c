/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/server.h"
#include "controld/call/jobs.h"
#include "controld/call/steer.h"
#include "controld/status/metrics.h"
#include "controld/status/noted.h"
#include "core/base/clock.h"
#include "core/base/limits.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/notify/alive.h"
#include "drivers/tls/tls.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#define ROUND_ACCEPTS 64
#define BACKLOG       1024
#define SWEEP_MS      1000u

static void accept_some(struct source *source, uint32_t events)
{
	struct listener *listener = (struct listener *)source;
	struct server *server = listener->server;
	struct error err = { 0 };

	(void)events;
	for (int i = 0; i < ROUND_ACCEPTS; i++) {
		struct conn *conn;
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if ((listener == &server->local ? conn_unix(fd, &conn, &err)
						: conn_tls(server->tls, fd, &conn, &err)) < 0)
			log_debug("%s", err.text);
		else
			sessions_add(&server->sessions, &listener->crowd, conn);
	}
}

/* ---- Open ---- */

/* Removes the socket file that a killed controld left. Errors: -EBUSY another controld answers at the
 * socket. */
static int remove_stale(const struct sockaddr_un *address, struct error *err)
{
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 &&
	    (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN))
		return error_set(err, -EBUSY, "%s: another kiln-controld answers there", address->sun_path);
	if (unlink(address->sun_path) < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s: cannot remove it: %s", address->sun_path, strerror(errno));
	return 0;
}

static int listen_at(int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNTIME, NULL, path), err);

	if (r < 0)
		return r;
	(void)path_of(PATH_CONTROL, NULL, path);
	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu bytes", path,
				 sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	if ((r = remove_stale(&address, err)) < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Anybody may connect: the peer's credentials decide, not the file's mode. */
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0)
		return error_set(err, -errno, "%s: cannot listen: %s", path, strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Uses systemd's socket if systemd passed one, else opens a socket. */
static int listen_socket(int *ret_fd, struct error *err)
{
	int count = sd_listen_fds(1);

	if (count == 0)
		return listen_at(ret_fd, err);
	if (count != 1 || sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) <= 0)
		return error_set(err, -EINVAL,
				 "found %d descriptors from the service manager, expected one "
				 "listening Unix stream socket",
				 count);
	/* systemd's sockets block, but accept_some() needs -EAGAIN after the last connection. */
	if (fcntl(SD_LISTEN_FDS_START, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, -errno, "the service manager's socket: %s", strerror(errno));
	*ret_fd = SD_LISTEN_FDS_START;
	return 0;
}

int server_listen(struct server *server, struct listener *listener, struct error *err)
{
	int r;

	listener->source.ready = accept_some;
	listener->server = server;
	r = loop_add(&server->loop, listener->fd, &listener->source, EPOLLIN);
	return r < 0 ? error_set(err, r, "epoll: %s", strerror(-r)) : 0;
}

int server_open(struct server *server, struct error *err)
{
	int r;

	*server = (struct server){
		.loop.fd = -1,
		.local = { .fd = -1,
			   .crowd = { .clients_max = CONTROL_CLIENTS_MAX - CONTROL_REMOTE_MAX,
				      .idle_s = CONTROL_IDLE_S } },
		.remote = { .fd = -1,
			    .crowd = { .clients_max = CONTROL_REMOTE_MAX,
				       .place_max = CONTROL_ADDRESS_MAX,
				       .idle_s = CONTROL_REMOTE_IDLE_S } },
		.calls.loop = &server->loop,
		.sessions = { .loop = &server->loop, .calls = &server->calls, .box = &server->box },
	};
	limits_raise_files();
	r = loop_open(&server->loop, err);
	if (r == 0)
		r = listen_socket(&server->local.fd, err);
	if (r == 0)
		r = server_listen(server, &server->local, err);
	watch_sample(&server->box.watch);
	if (r == 0)
		jobs_open(&server->calls);
	return r;
}

/* Ends the sessions before steer_done() frees the calls: session_end() writes to a call that waits for
 * kiln-steer. */
void server_done(struct server *server)
{
	sessions_done(&server->sessions);
	steer_done(&server->calls);
	jobs_done(&server->calls);
	recall_done(&server->calls.recall);
	box_done(&server->box);
	kernel_done(&server->kernel);
	tls_closep(&server->tls);
	close_fd(&server->local.fd);
	close_fd(&server->remote.fd);
	loop_done(&server->loop);
}

/* ---- Run ---- */

struct stop {
	struct source source;
	bool asked;
};

static void stop_ready(struct source *source, uint32_t events)
{
	(void)events;
	((struct stop *)source)->asked = true;
}

/* Applies a changed list of revoked certificates to open connections too: a connection may last for days. */
static void check_revoked(struct server *server)
{
	struct stat st = { 0 };
	char path[PATH_BYTES];

	if (stat(path_of(PATH_REVOKED, NULL, path), &st) < 0 ||
	    (st.st_mtim.tv_sec == server->revoked_stamp.tv_sec &&
	     st.st_mtim.tv_nsec == server->revoked_stamp.tv_nsec))
		return;
	server->revoked_stamp = st.st_mtim;
	sessions_end_revoked(&server->sessions);
}

static void sweep(struct server *server)
{
	uint64_t now = clock_ms();

	if (now - server->swept_ms < SWEEP_MS)
		return;
	server->swept_ms = now;
	watch_sample(&server->box.watch);
	steer_sweep(&server->calls, now);
	jobs_sweep(&server->calls);
	metrics_sweep(&server->box, now);
	noted_sweep(&server->box, now);
	kernel_sweep(&server->kernel, now);
	check_revoked(server);
	sessions_sweep(&server->sessions, now);
}

static int open_signals(struct server *server, struct source *source, int *ret_fd, struct error *err)
{
	sigset_t signals;
	int r;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	*ret_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	r = *ret_fd < 0 ? -errno : loop_add(&server->loop, *ret_fd, source, EPOLLIN);
	return r < 0 ? error_set(err, r, "signals: %s", strerror(-r)) : 0;
}

int server_run(struct server *server, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct stop stop = { { stop_ready }, false };
	struct alive_worker *worker;
	int r = open_signals(server, &stop.source, &fd, err);

	if (r < 0)
		return r;
	alive_open();
	worker = alive_worker("server");
	while (!stop.asked) {
		if ((r = loop_round(&server->loop, SWEEP_MS, err)) < 0)
			return r;
		sweep(server);
		sessions_free_ended(&server->sessions);
		alive_tick(worker);
	}
	return 0;
}
