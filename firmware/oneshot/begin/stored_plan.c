/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/stored_plan.h"

#include "data/plan.h"
#include "drivers/digest/digest.h"

#include <string.h>

static int get(struct store *sink, const struct run *run, const char *record, const char *path,
	       struct error *err)
{
	char key[STORE_KEY_MAX], found[DIGEST_HEX_BYTES];
	int r;

	(void)snprintf(key, sizeof(key), "%s/plan", run->id);
	if ((r = store_get_file(sink, key, path, PLAN_FILE_MAX, err)) < 0 ||
	    (r = digest_file(path, found, err)) < 0 || strcmp(found, run->plan_sha256) == 0)
		return r;
	(void)unlink(path);
	return error_set(err, -EBADMSG, "%s/%s: SHA-256 %s, expected %s by %s", store_url(sink), key, found,
			 run->plan_sha256, record);
}

int stored_plan_get(struct store *sink, const struct run *run, const char *record, const char *path,
		    struct error *err)
{
	int r = get(sink, run, record, path, err);

	return r == -EBADMSG ? get(sink, run, record, path, err) : r;
}
