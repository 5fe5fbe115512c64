/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/stores.h"

void stores_init(struct stores *stores, const struct config_store *where)
{
	*stores = (struct stores){ .where = *where, .lock = PTHREAD_MUTEX_INITIALIZER };
}

void stores_done(struct stores *stores)
{
	while (stores->idles)
		store_close(stores->idle[--stores->idles]);
}

struct store *stores_borrow(struct stores *stores, struct error *err)
{
	struct store_options options = { 0 };
	struct store *store = NULL;

	(void)pthread_mutex_lock(&stores->lock);
	if (stores->idles)
		store = stores->idle[--stores->idles];
	(void)pthread_mutex_unlock(&stores->lock);
	if (!store && store_open(&stores->where, &options, &store, err) < 0)
		return NULL;
	return store;
}

void stores_give_back(struct stores *stores, struct store *store)
{
	(void)pthread_mutex_lock(&stores->lock);
	stores->idle[stores->idles++] = store;
	(void)pthread_mutex_unlock(&stores->lock);
}
