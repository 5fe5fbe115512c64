/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"
#include "drivers/store/credential.h"
#include "drivers/webhook/webhook.h"
#include "preflight/preflight.h"
#include "preflight/stores.h"

#include <string.h>
#include <unistd.h>

static int stop(void *context, const struct store_object *object)
{
	(void)context;
	(void)object;
	return 1;
}

/* Writes an object, reads its size and deletes it. */
static int write_and_delete(struct store *store, const char *host, struct error *err)
{
	static const char text[] = "kiln check writes this object and deletes it\n";
	struct store_object object;
	char key[300];
	int r, deleted;

	(void)snprintf(key, sizeof(key), PREFLIGHT_KEY "%s-%d", host, (int)getpid());
	if ((r = store_put(store, key, text, strlen(text), err)) < 0)
		return r;
	r = store_stat(store, key, &object, err);
	deleted = store_delete(store, key, r < 0 ? NULL : err);
	return r < 0 ? r : deleted;
}

void preflight_sink(struct preflight *preflight)
{
	CLEANUP(store_closep) struct store *store = NULL;
	char host[256] = "";
	struct error err = { 0 };
	int r = preflight_store_open(preflight->config, &preflight->config->sink, &store, &err);

	(void)gethostname(host, sizeof(host) - 1);
	if (r < 0 || store_list(store, NULL, stop, NULL, &err) < 0 ||
	    write_and_delete(store, host, &err) < 0) {
		preflight_add_error(preflight, "sink", &err);
		return;
	}
	preflight_add(preflight, "sink", PREFLIGHT_OK, "", "%s: listed; an object was written and deleted",
		      store_url(store));
}

/* ---- notify.url ---- */

static int post(const struct config *config, struct error *err)
{
	CLEANUP(json_free) cJSON *message = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char token[CREDENTIAL_LINE_BYTES] = "", host[256] = "", said[320];
	const struct webhook webhook = { .url = config->notify.url,
					 .token = token,
					 .ca_file = config->notify.ca_file };
	int r = 0;

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(said, sizeof(said), "%s: kiln check: this is a test", host);
	cJSON_AddItemToObject(message, "text", json_string(said));
	cJSON_AddBoolToObject(message, "test", true);
	if (*config->notify.credential)
		r = credential_load_line(config->notify.credential, token, err);
	if (r == 0 && (r = json_print(message, &text, err)) == 0)
		r = webhook_post(&webhook, text, strlen(text), err);
	explicit_bzero(token, sizeof(token));
	return r;
}

void preflight_notify(struct preflight *preflight)
{
	struct error err = { 0 };

	if (!*preflight->config->notify.url)
		return;
	if (post(preflight->config, &err) < 0)
		preflight_add_error(preflight, "notify", &err);
	else
		preflight_add(preflight, "notify", PREFLIGHT_OK, "", "notify.url took a test message");
}
