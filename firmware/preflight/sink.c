/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/versions/versions.h"
#include "preflight/branches.h"
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
	char key[300];
	int r, deleted = 0;

	(void)snprintf(key, sizeof(key), PREFLIGHT_KEY "%s-%d", host, (int)getpid());
	r = store_put_checked(store, key, text, strlen(text), NULL, err);
	if (r == 0 || r == -EIO) /* -EIO: the store may have a part of it */
		deleted = store_delete(store, key, r < 0 ? NULL : err);
	return r < 0 ? r : deleted;
}

void preflight_sink(struct preflight *preflight)
{
	CLEANUP(store_closep) struct store *store = NULL;
	char host[256] = "";
	struct error err = { 0 };
	int r;

	if (versions_has_branches(&preflight->config->sink)) {
		preflight_branches(preflight);
		return;
	}
	r = preflight_store_open(preflight, &preflight->config->sink, &store, &err);
	(void)gethostname(host, sizeof(host) - 1);
	if (r < 0 || store_list(store, NULL, stop, NULL, &err) < 0 || write_and_delete(store, host, &err) < 0)
		preflight_add_error(preflight, "sink", &err);
	else
		preflight_add(preflight, "sink", PREFLIGHT_OK, "",
			      "%s: listed; an object was written and deleted", store_url(store));
}
