/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/control/client.h"

#include "core/base/clock.h"
#include "core/base/paths.h"
#include "drivers/tls/tls.h"

#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ANSWER_MS ((CONTROL_ACT_S + 5) * 1000)

#define CONNECT_S 5 /* time limit of connect(), and again of the TLS handshake */

struct client {
	int fd;
	struct tls *tls; /* NULL for this box, whose kiln-controld is reached over a local socket */
	struct tls_link *link;
	uint64_t id;
	size_t bytes, size;
	char *data;
};

/* ---- Connection ---- */

/* Says why the socket of this box does not answer, and what the user can do. */
static const char *remedy(int code)
{
	switch (code) {
	case ENOENT:
	case ECONNREFUSED:
		return "it does not run; start it with systemctl start kiln-controld, or without systemd "
		       "with "
		       "kiln-controld &";
	case EACCES:
	case EPERM:
		return "your user may not ask it; as root, adduser USER kiln-view (or kiln-operate, "
		       "kiln-admin)";
	default:
		return strerror(code);
	}
}

static int open_local(struct client *client, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char path[PATH_BYTES];

	(void)path_of(PATH_CONTROL, NULL, path);
	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s: too long for a socket", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0 || connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(err, -errno, "%s: kiln-controld does not answer: %s", path, remedy(errno));
	return 0;
}

static int open_files(const struct client_identity *as, struct tls **ret_tls, struct error *err)
{
	const struct tls_options options = {
		.side = TLS_CLIENT, .ca_file = as->ca, .cert_file = as->cert, .key_file = as->key
	};

	return tls_open(&options, ret_tls, err);
}

/* Loads the certificate and key by which other boxes know this user, from KILN_PKI or ~/.kiln. */
static int open_own(struct tls **ret_tls, struct error *err)
{
	const char *folder = getenv("KILN_PKI"), *home = getenv("HOME");
	char ca[PATH_BYTES], cert[PATH_BYTES], key[PATH_BYTES];
	const char *below = folder ? "" : "/.kiln";

	if (!folder)
		folder = home ? home : "";
	(void)snprintf(ca, sizeof(ca), "%s%s/ca.crt", folder, below);
	(void)snprintf(cert, sizeof(cert), "%s%s/client.crt", folder, below);
	(void)snprintf(key, sizeof(key), "%s%s/client.key", folder, below);
	return open_files(&(struct client_identity){ ca, cert, key }, ret_tls, err);
}

static int dial(const struct client_box *box, int *ret_fd, struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	const struct timeval limit = { CONNECT_S, 0 };
	struct addrinfo *found = NULL;
	int r = getaddrinfo(box->address, box->port, &hints, &found), fd = -1;

	if (r != 0)
		return error_set(err, -EHOSTUNREACH, "%s: %s", box->address, gai_strerror(r));
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
		if (fd < 0)
			continue;
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
			break;
		r = errno;
		(void)close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd < 0)
		return error_set(err, -EHOSTUNREACH, "%s port %s: %s", box->address, box->port,
				 strerror(r == EINPROGRESS ? ETIMEDOUT : r));
	*ret_fd = fd;
	return 0;
}

static int open_remote(struct client *client, const struct client_box *box, struct error *err)
{
	const struct timeval limit = { CONTROL_ACT_S, 0 };
	int r = box->as ? open_files(box->as, &client->tls, err) : open_own(&client->tls, err);

	if (r < 0 || (r = dial(box, &client->fd, err)) < 0 ||
	    (r = tls_attach(client->tls, client->fd, box->name, &client->link, err)) < 0)
		return r;
	tls_deadline(client->link, clock_ms() + CONNECT_S * 1000);
	r = tls_handshake(client->link, err);
	if (r == -EAGAIN)
		return error_set(err, -ETIMEDOUT, "%s port %s: connected, but no TLS handshake within %d s",
				 box->address, box->port, CONNECT_S);
	(void)setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return r;
}

int client_open_box(const struct client_box *box, struct client **ret_client, struct error *err)
{
	CLEANUP(client_closep) struct client *client = calloc(1, sizeof(*client));
	int r;

	if (!client)
		return error_set(err, -ENOMEM, "no memory");
	client->fd = -1;
	r = box ? open_remote(client, box, err) : open_local(client, err);
	if (r < 0)
		return r;
	*ret_client = TAKE(client);
	return 0;
}

void client_closep(struct client **client)
{
	if (!*client)
		return;
	tls_detachp(&(*client)->link);
	tls_closep(&(*client)->tls);
	close_fd(&(*client)->fd);
	free((*client)->data);
	free(*client);
	*client = NULL;
}

static ssize_t put(const struct client *client, const char *data, size_t bytes)
{
	ssize_t n;

	if (!client->link)
		return send(client->fd, data, bytes, MSG_NOSIGNAL);
	n = tls_write(client->link, data, bytes);
	errno = n < 0 ? (int)-n : 0;
	return n;
}

static ssize_t get(const struct client *client, char *data, size_t bytes)
{
	ssize_t n;

	if (!client->link)
		return recv(client->fd, data, bytes, 0);
	n = tls_read(client->link, data, bytes);
	errno = n < 0 ? (int)-n : 0;
	return n;
}

static int send_all(struct client *client, const char *line, struct error *err)
{
	size_t left = strlen(line);

	while (left > 0) {
		ssize_t n = put(client, line, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE)
			/* kiln-controld closed the connection: its last line, which the caller reads next,
			 * says why */
			return 0;
		if (n < 0)
			return error_set(err, -errno, "cannot ask kiln-controld: %s", strerror(errno));
		line += n;
		left -= (size_t)n;
	}
	return 0;
}

static int receive(struct client *client, uint64_t until_ms, struct error *err)
{
	struct pollfd poll_fd = { .fd = client->fd, .events = POLLIN };
	uint64_t now = clock_ms();
	ssize_t n;

	if (client->bytes == client->size) {
		size_t size = client->size ? 2 * client->size : 65536;
		char *data = size <= 2 * (size_t)CONTROL_REPLY_MAX ? realloc(client->data, size) : NULL;

		if (!data)
			return error_set(err, -E2BIG, "kiln-controld's answer is too long");
		client->data = data;
		client->size = size;
	}
	if (until_ms && !(client->link && tls_buffered(client->link)) &&
	    (now >= until_ms || poll(&poll_fd, 1, (int)(until_ms - now)) == 0))
		return error_set(err, -ETIMEDOUT, "kiln-controld gave no answer within %u s",
				 ANSWER_MS / 1000);
	n = get(client, client->data + client->bytes, client->size - client->bytes);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return error_set(err, n < 0 ? -errno : -ECONNRESET, "kiln-controld closed the connection");
	client->bytes += (size_t)n;
	return 0;
}

/* Receives the next line and parses it as JSON. `until_ms` (clock_ms()) bounds the wait; 0 = for ever. */
static int next_line(struct client *client, uint64_t until_ms, cJSON **ret_json, struct error *err)
{
	char *end;
	int r;

	if (client->link)
		tls_deadline(client->link, until_ms);
	while (!client->bytes || !(end = memchr(client->data, '\n', client->bytes))) {
		r = receive(client, until_ms, err);
		if (r < 0)
			return r;
	}
	r = json_parse("answer", client->data, (uint64_t)(end - client->data), ret_json, err);
	client->bytes -= (size_t)(end + 1 - client->data);
	memmove(client->data, end + 1, client->bytes);
	return r;
}

static bool is_config_error(const cJSON *answer)
{
	const cJSON *code = json_member(answer, "error.code");

	return cJSON_IsNumber(code) && code->valuedouble == CONTROL_CONFIG;
}

static int result_of(cJSON *answer, cJSON **ret_result, struct error *err)
{
	const char *message = cJSON_GetStringValue(json_member(answer, "error.message"));
	cJSON *result;

	if (message)
		return is_config_error(answer) ? error_set_lines(err, -EINVAL, "%s", message)
					       : error_set(err, -EREMOTEIO, "%s", message);
	result = cJSON_DetachItemFromObjectCaseSensitive(answer, "result");
	if (!result ||
	    cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(result, "protocol")) != CONTROL_PROTOCOL) {
		cJSON_Delete(result);
		return error_set(err, -EPROTO, "kiln-controld does not speak protocol %u", CONTROL_PROTOCOL);
	}
	*ret_result = result;
	return 0;
}

int client_call(struct client *client, const char *method, cJSON *params, cJSON **ret_result,
		struct error *err)
{
	CLEANUP(free_ptr) char *line = control_call(++client->id, method, params);
	CLEANUP(json_free) cJSON *answer = NULL;
	int r;

	if (!line)
		return error_set(err, -ENOMEM, "no memory");
	if ((r = send_all(client, line, err)) < 0 ||
	    (r = next_line(client, clock_ms() + ANSWER_MS, &answer, err)) < 0)
		return r;
	return result_of(answer, ret_result, err);
}

int client_event(struct client *client, cJSON **ret_params, struct error *err)
{
	CLEANUP(json_free) cJSON *line = NULL;
	int r = next_line(client, 0, &line, err);

	if (r < 0)
		return r;
	*ret_params = cJSON_DetachItemFromObjectCaseSensitive(line, "params");
	return *ret_params ? 0
			   : error_set(err, -EPROTO, "kiln-controld: found no event where one was expected");
}
