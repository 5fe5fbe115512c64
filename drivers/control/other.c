/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/control/other.h"

#include "core/base/clock.h"
#include "core/config/config.h"
#include "core/ranks/facts.h"

#include <inttypes.h>

/* Asks the box what it has, and compares it with this box. */
static int check(struct client *client, bool mixed, struct error *err)
{
	CLEANUP(json_free) cJSON *answer = NULL;
	const uint64_t since_us = clock_us();
	struct ranks_facts here, found;
	int r = client_call(client, "rank.check", NULL, &answer, err);
	const uint64_t way_us = clock_us() - since_us;

	if (r < 0 || (r = ranks_facts_here(&here, err)) < 0 || (r = ranks_facts_of(answer, &found, err)) < 0)
		return r;
	return ranks_facts_compare(&found, &here, way_us, mixed, err);
}

int other_open(const char *host, const struct config *config, const struct client_identity *as,
	       struct client **ret_client, struct error *err)
{
	CLEANUP(client_closep) struct client *client = NULL;
	char port[8];
	const struct client_box box = { .name = host, .address = host, .port = port, .as = as };
	int r;

	(void)snprintf(port, sizeof(port), "%" PRIu64, config->control.port);
	if ((r = client_open_box(&box, &client, err)) < 0 ||
	    (r = check(client, config->ranks.mixed, err)) < 0)
		return r;
	*ret_client = TAKE(client);
	return 0;
}
