/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the sink can be used. Runs as the user of kiln-uploadd, so that it checks exactly the access
 * that a run needs. kiln-mark-good starts it in a slot that was updated, before that slot counts as good. */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/config/config.h"
#include "drivers/store/store.h"
#include "oneshot/update/update.h"

#include <sysexits.h>

static int stop_at_first(void *context, const struct store_object *object)
{
	(void)context;
	(void)object;
	return 1;
}

static int check(const struct config *config, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const struct store_options options = store_options_of(config);
	int r = store_open(&config->sink, &options, &store, err);

	if (r == 0)
		r = store_list(store, NULL, stop_at_first, NULL, err);
	if (r >= 0)
		log_info("%s answers", store_url(store));
	return r < 0 ? r : 0;
}

int oneshot_check_store(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	int r = config_load(config_path(argc, argv), &config, &err);

	if (r == -ENOENT) {
		log_info("no configuration: there is no store to reach");
		return EX_OK;
	}
	if (r == 0 && config.update.offline) {
		log_info("update.offline: the store is not asked");
		return EX_OK;
	}
	if (r == 0)
		r = check(&config, &err);
	return r < 0 ? fatal(&err) : EX_OK;
}
