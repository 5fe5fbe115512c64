/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client/client.h"

#include "cli/base/say.h"
#include "cli/client/host.h"

int client_open(struct client **ret_client, struct error *err)
{
	const struct client_host *host = client_used();

	if (!host)
		return client_open_box(NULL, ret_client, err);
	return client_open_box(&(struct client_box){ host->name, host->address, host->port, NULL },
			       ret_client, err);
}

int client_error(const struct error *err)
{
	const bool answered = err->code == -EREMOTEIO || err->code == -EINVAL || err->code == -EKEYREJECTED;
	int r = cli_error(err);

	return client_used() && !answered ? CLI_NO_HOST : r;
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
