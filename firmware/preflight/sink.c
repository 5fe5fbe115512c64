/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/versions/versions_run.h"
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

/* Checks that the branch that winners are merged into is there. */
static void check_merge_target(struct preflight *preflight)
{
	const struct store_options options = preflight_store_options(preflight);
	CLEANUP(versions_closep) struct versions *versions = NULL;
	const char *into = preflight->config->branches.merge_into;
	char id[VERSIONS_ID_BYTES];
	struct error err = { 0 };
	int r;

	if (!*into)
		return;
	if ((r = versions_sink_open(preflight->config, &options, &versions, &err)) == 0)
		r = versions_resolve(versions, into, id, &err);
	if (r == -ENOENT)
		preflight_add(preflight, "sink", PREFLIGHT_FAILED, "make the branch, or mend sink.merge_into",
			      "sink.merge_into: %s", err.text);
	else if (r < 0)
		preflight_add_error(preflight, "sink", &err);
	else
		preflight_add(preflight, "sink", PREFLIGHT_OK, "", "sink.merge_into: %s is at commit %s",
			      into, id);
}

void preflight_sink(struct preflight *preflight)
{
	CLEANUP(store_closep) struct store *store = NULL;
	char host[256] = "";
	struct error err = { 0 };
	int r = preflight_store_open(preflight, &preflight->config->sink, &store, &err);

	(void)gethostname(host, sizeof(host) - 1);
	if (r < 0 || store_list(store, NULL, stop, NULL, &err) < 0 ||
	    write_and_delete(store, host, &err) < 0) {
		preflight_add_error(preflight, "sink", &err);
		return;
	}
	preflight_add(preflight, "sink", PREFLIGHT_OK, "", "%s: listed; an object was written and deleted",
		      store_url(store));
	check_merge_target(preflight);
}
