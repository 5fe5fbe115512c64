/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/connect.h"
#include "drivers/store/credential.h"

#include <mbedtls/platform_util.h>
#include <string.h>

void send_disconnect(struct sender *sender)
{
	if (sender->mlflow)
		sender->connected(sender->awake_context, NULL);
	mlflow_close(TAKE(sender->mlflow));
	cJSON_Delete(TAKE(sender->where));
}

void send_done(struct sender *sender)
{
	send_disconnect(sender);
	cJSON_Delete(TAKE(sender->failed));
}

static bool is_same(const cJSON *a, const cJSON *b, const char *key)
{
	return strcmp(files_text(a, key), files_text(b, key)) == 0;
}

static bool is_same_server(const cJSON *a, const cJSON *b)
{
	return is_same(a, b, "url") && is_same(a, b, "credential") && is_same(a, b, "ca_file");
}

void send_begin_pass(struct sender *sender)
{
	cJSON_Delete(TAKE(sender->failed));
	sender->failed = cJSON_CreateArray();
	sender->retry_after_s = 0;
}

void send_note_failed(struct sender *sender)
{
	const uint64_t seconds = sender->mlflow ? mlflow_retry_after_s(sender->mlflow) : 0;

	if (seconds > sender->retry_after_s)
		sender->retry_after_s = seconds;
	(void)cJSON_AddItemToArray(sender->failed, cJSON_Duplicate(sender->where, true));
}

static bool has_failed(const struct sender *sender, const cJSON *where)
{
	const cJSON *server;

	cJSON_ArrayForEach(server, sender->failed) {
		if (is_same_server(server, where))
			return true;
	}
	return false;
}

int connect_to(struct sender *sender, const cJSON *where, struct error *err)
{
	char login[CREDENTIAL_LINE_BYTES] = "";
	struct mlflow_options options = { .url = files_text(where, "url"),
					  .login = login,
					  .ca_file = files_text(where, "ca_file"),
					  .awake = sender->awake,
					  .awake_context = sender->awake_context };
	const char *credential = files_text(where, "credential");
	int r = 0;

	if (has_failed(sender, where))
		return error_set(err, -EALREADY, "%s: it has failed in this pass", options.url);
	if (sender->mlflow && is_same_server(sender->where, where))
		return 0;
	send_disconnect(sender);
	sender->where = cJSON_Duplicate(where, true);
	if (*credential)
		r = credential_load_line(credential, login, err);
	if (r == 0)
		r = mlflow_open(&options, &sender->mlflow, err);
	mbedtls_platform_zeroize(login, sizeof(login));
	if (r < 0)
		return r;
	sender->connected(sender->awake_context, sender->mlflow);
	return 0;
}
