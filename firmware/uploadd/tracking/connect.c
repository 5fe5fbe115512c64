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

static bool is_same(const cJSON *a, const cJSON *b, const char *key)
{
	return strcmp(files_text(a, key), files_text(b, key)) == 0;
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

	if (sender->mlflow && is_same(sender->where, where, "url") &&
	    is_same(sender->where, where, "credential") && is_same(sender->where, where, "ca_file"))
		return 0;
	send_disconnect(sender);
	if (*credential)
		r = credential_load_line(credential, login, err);
	if (r == 0)
		r = mlflow_open(&options, &sender->mlflow, err);
	mbedtls_platform_zeroize(login, sizeof(login));
	if (r < 0)
		return r;
	sender->where = cJSON_Duplicate(where, true);
	sender->connected(sender->awake_context, sender->mlflow);
	return 0;
}
