/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "core/clock.h"
#include "core/paths.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ANSWER_MS ((CONTROL_ACT_S + 5) * 1000)

struct client {
	int fd;
	uint64_t id;
	size_t bytes, size;
	char *data;
};

/* ---- Connection ---- */

int client_open(struct client **ret_client, struct error *err)
{
	CLEANUP(client_closep) struct client *client = calloc(1, sizeof(*client));
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char path[PATH_BYTES];

	if (!client)
		return error_set(err, -ENOMEM, "no memory");
	client->fd = -1;
	(void)path_of(PATH_CONTROL, NULL, path);
	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s: too long for a socket", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0 || connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(err, -errno, "%s: kiln-controld does not answer: %s", path, strerror(errno));
	*ret_client = TAKE(client);
	return 0;
}

void client_closep(struct client **client)
{
	if (!*client)
		return;
	close_fd(&(*client)->fd);
	free((*client)->data);
	free(*client);
	*client = NULL;
}

static int send_all(struct client *client, const char *line, struct error *err)
{
	size_t left = strlen(line);

	while (left > 0) {
		ssize_t n = send(client->fd, line, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE)
			return 0; /* it has said why */
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
	if (until_ms && (now >= until_ms || poll(&poll_fd, 1, (int)(until_ms - now)) == 0))
		return error_set(err, -ETIMEDOUT, "kiln-controld gave no answer within %u s",
				 ANSWER_MS / 1000);
	n = recv(client->fd, client->data + client->bytes, client->size - client->bytes, 0);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return error_set(err, n < 0 ? -errno : -ECONNRESET, "kiln-controld closed the connection");
	client->bytes += (size_t)n;
	return 0;
}

/* One line as JSON. */
static int next_line(struct client *client, uint64_t until_ms, cJSON **ret_json, struct error *err)
{
	char *end;
	int r;

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

static int result_of(cJSON *answer, cJSON **ret_result, struct error *err)
{
	const char *message = cJSON_GetStringValue(client_member(answer, "error.message"));
	cJSON *result;

	if (message)
		return error_set(err, -EREMOTEIO, "%s", message);
	result = cJSON_DetachItemFromObjectCaseSensitive(answer, "result");
	if (!result || client_number(result, "protocol") != CONTROL_PROTOCOL) {
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

int client_ask(const char *method, cJSON *params, cJSON **ret_result, struct error *err)
{
	CLEANUP(client_closep) struct client *client = NULL;
	int r = client_open(&client, err);

	if (r < 0) {
		cJSON_Delete(params);
		return r;
	}
	return client_call(client, method, params, ret_result, err);
}

/* ---- Members ---- */

const cJSON *client_member(const cJSON *object, const char *path)
{
	char key[64];

	while (object && *path) {
		size_t length = strcspn(path, ".");

		(void)snprintf(key, sizeof(key), "%.*s", (int)length, path);
		object = cJSON_GetObjectItemCaseSensitive(object, key);
		path += length + (path[length] == '.');
	}
	return object;
}

const char *client_text(const cJSON *object, const char *path)
{
	const char *text = cJSON_GetStringValue(client_member(object, path));

	return text ? text : "-";
}

double client_number(const cJSON *object, const char *path)
{
	const cJSON *item = client_member(object, path);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

void client_print(const char *text, FILE *out)
{
	for (; *text; text++)
		(void)fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
}

/* ---- Arguments ---- */

static cJSON *value_of(const struct control_param *param, const char *text)
{
	unsigned long long number;
	char *end;

	if (param->type != CONTROL_INTEGER)
		return json_string(text);
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end || end == text || *text == '-' || number > 9007199254740992u
		       ? NULL
		       : cJSON_CreateNumber((double)number);
}

static const struct control_param *param_of(const struct control_method *method, const char *name)
{
	static const struct control_param key = { "idempotency_key", CONTROL_NAME, false, 1,
						  CONTROL_KEY_MAX,   NULL,         "" };

	for (const struct control_param *param = method->params; name && param->name; param++)
		if (strcmp(param->name, name) == 0)
			return param;
	return name && method->acts && strcmp(name, key.name) == 0 ? &key : NULL;
}

static void usage(const char *verb, const struct control_method *method, const char *positional, bool json)
{
	printf("Usage: kiln %s%s%s%s%s\n\n%s.\n\n", verb, positional ? " [" : "",
	       positional ? positional : "", positional ? "]" : "",
	       method->params[0].name || json ? " [OPTION...]" : "", method->help);
	control_help(method, stdout);
	if (method->acts)
		printf("  %-20s the same key acts once\n", "--idempotency_key KEY");
	if (json)
		printf("  %-20s the answer as it is\n", "--json");
	printf("\nMethod %s, role %s.\n", method->name, control_role_name(method->role));
}

int client_arguments(int argc, char **argv, const char *method_name, const char *positional,
		     cJSON **ret_params, bool *ret_json)
{
	const struct control_method *method = control_method_find(method_name);
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject();

	for (int i = 1; i < argc; i++) {
		const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : NULL;
		const struct control_param *param = param_of(method, name ? name : positional);
		const char *text = argv[i];
		cJSON *value = NULL;

		if (name && strcmp(name, "help") == 0) {
			usage(argv[0], method, positional, ret_json != NULL);
			return -1;
		}
		if (name && ret_json && strcmp(name, "json") == 0) {
			*ret_json = true;
			continue;
		}
		if (!param || cJSON_HasObjectItem(params, param->name) || *argv[i] == '\0')
			return cli_usage(argv[0], "\"%s\" is not expected here", argv[i]);
		if (param->type == CONTROL_BOOLEAN)
			value = cJSON_CreateTrue();
		else if (!name || i + 1 < argc)
			value = value_of(param, name ? (text = argv[++i]) : text);
		if (!value || !cJSON_AddItemToObject(params, param->name, value))
			return cli_usage(argv[0], "%s: found \"%s\", expected another value", argv[i], text);
	}
	*ret_params = TAKE(params);
	return CLI_OK;
}
