/* SPDX-License-Identifier: Apache-2.0 */
/* The open stores of several threads: a store belongs to one thread at a time. Any thread may call. */
#pragma once

#include "cli/prep/parallel.h"
#include "drivers/store/store.h"

#include <pthread.h>

struct stores {
	struct config_store where;
	pthread_mutex_t lock;
	struct store *idle[PARALLEL_THREADS_MAX]; /* stores that no thread is using */
	uint32_t idles;
};

void stores_init(struct stores *stores, const struct config_store *where);
void stores_done(struct stores *stores);

/* Returns a store that no other thread uses; opens one where there is none. NULL: an error. */
struct store *stores_borrow(struct stores *stores, struct error *err);
void stores_give_back(struct stores *stores, struct store *store);
