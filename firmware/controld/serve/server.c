/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/controld.h"
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

#define ROUND_EVENTS  64
#define ROUND_ACCEPTS 64
#define BACKLOG       1024
#define SWEEP_MS      1000u

int server_add(struct server *server, int fd, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

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
			session_begin(listener, conn);
	}
}

/* ---- Open ---- */

/* A file that nobody answers is what a killed controld left. */
static int make_way(const struct sockaddr_un *address, struct error *err)
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
	if ((r = make_way(&address, err)) < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Anybody may connect: who it is decides, not the file's mode. */
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0)
		return error_set(err, -errno, "%s: cannot listen: %s", path, strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

/* systemd's socket, where it gave one. */
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
	/* systemd's sockets block, and we take what waits until there is no more. */
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
	r = server_add(server, listener->fd, &listener->source, EPOLLIN);
	return r < 0 ? error_set(err, r, "epoll: %s", strerror(-r)) : 0;
}

int server_open(struct server *server, struct error *err)
{
	int r;

	*server = (struct server){
		.local = { .fd = -1, .clients_max = CONTROL_CLIENTS_MAX - CONTROL_REMOTE_MAX },
		.remote = { .fd = -1, .clients_max = CONTROL_REMOTE_MAX },
		.epoll_fd = -1,
	};
	limits_raise_files();
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0)
		return error_set(err, -errno, "epoll: %s", strerror(errno));
	r = listen_socket(&server->local.fd, err);
	if (r == 0)
		r = server_listen(server, &server->local, err);
	watch_sample(server);
	return r;
}

void server_done(struct server *server)
{
	while (server->sessions)
		session_end(server->sessions);
	session_free_ended(server);
	steer_forget(server, NULL);
	recall_done(&server->recall);
	cJSON_Delete(server->errors);
	free(server->metrics_dir);
	tls_closep(&server->tls);
	close_fd(&server->local.fd);
	close_fd(&server->remote.fd);
	close_fd(&server->epoll_fd);
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

/* A connection may last for days: who was revoked meanwhile does not stay. */
static void check_revoked(struct server *server)
{
	struct session *next;
	struct stat st = { 0 };
	char path[PATH_BYTES];

	if (stat(path_of(PATH_REVOKED, NULL, path), &st) < 0 ||
	    (st.st_mtim.tv_sec == server->revoked_stamp.tv_sec &&
	     st.st_mtim.tv_nsec == server->revoked_stamp.tv_nsec))
		return;
	server->revoked_stamp = st.st_mtim;
	for (struct session *session = server->sessions; session; session = next) {
		next = session_next(session);
		session_check(session);
	}
}

static void sweep(struct server *server)
{
	uint64_t now = clock_ms();
	struct session *next;

	if (now - server->swept_ms < SWEEP_MS)
		return;
	server->swept_ms = now;
	watch_sample(server);
	steer_sweep(server, now);
	metrics_sweep(server, now);
	check_revoked(server);
	for (struct session *session = server->sessions; session; session = next) {
		next = session_next(session);
		session_sweep(session, now);
	}
}

int server_run(struct server *server, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct stop stop = { { stop_ready }, false };
	struct alive_worker *worker;
	struct epoll_event events[ROUND_EVENTS];
	sigset_t signals;
	int r;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	r = fd < 0 ? -errno : server_add(server, fd, &stop.source, EPOLLIN);
	if (r < 0)
		return error_set(err, r, "signals: %s", strerror(-r));
	alive_open();
	worker = alive_worker("server");
	while (!stop.asked) {
		int count = epoll_wait(server->epoll_fd, events, ROUND_EVENTS, SWEEP_MS);

		if (count < 0 && errno != EINTR)
			return error_set(err, -errno, "epoll: %s", strerror(errno));
		for (int i = 0; i < count; i++) {
			struct source *source = events[i].data.ptr;

			source->ready(source, events[i].events);
		}
		sweep(server);
		session_free_ended(server);
		alive_tick(worker);
	}
	return 0;
}
