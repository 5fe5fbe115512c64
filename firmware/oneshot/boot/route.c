/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes the interface by which the run's shards come: that of the route to the host of the first source on a
 * network. kiln-begin.service calls it once the run is decided, under a user of its own and with the name
 * service: the root programs that use the note have neither. Without a note they use the default route.
 */
#include "core/base/log.h"
#include "core/run/run.h"
#include "drivers/nic/nic.h"
#include "drivers/store/store.h"
#include "oneshot/boot/boot.h"

#include <string.h>
#include <sysexits.h>

static int note_route(const struct config *config, struct error *err)
{
	char host[STORE_HOST_BYTES], nic[NIC_NAME_BYTES];
	int r;

	for (uint32_t i = 0; i < config->sources; i++) {
		if ((r = store_host(&config->source[i].store, host, err)) < 0)
			return r;
		if (!*host)
			continue;
		if ((r = nic_route_to(host, nic, err)) < 0 || (r = nic_route_note(nic, err)) < 0)
			return r;
		log_info("the way to %s is %s", host, nic);
		return 0;
	}
	return 0;
}

int oneshot_route(int argc, char **argv)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };
	int r;

	(void)argc;
	(void)argv;
	r = run_load(&run, &err);
	if (r == 0 && strcmp(run.config.fetch.nic, "auto") == 0)
		r = note_route(&run.config, &err);
	if (r < 0)
		log_warning("%s; the interface of the default route is used", err.text);
	return EX_OK;
}
