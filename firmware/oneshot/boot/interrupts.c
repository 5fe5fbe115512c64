/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the interrupts of the network interface, and its receive packet steering, on the cores of fetchd's
 * network threads. Done again before each run, because a driver that was reset chooses other cores.
 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/run.h"
#include "drivers/nic/nic.h"
#include "oneshot/boot/boot.h"

#include <sysexits.h>

static void say(const struct run *run, const struct nic_cores *cores, const struct nic_steered *steered)
{
	char text[512];

	nic_cores_text(&cores->network, text, sizeof(text));
	log_info("%s: %u of %u interrupts on the cores %s; %u receive queues%s", cores->nic, steered->moved,
		 steered->irqs, text, steered->queues,
		 steered->spread ? ", received packets are distributed over all of these cores" : "");
	if (*steered->why)
		event_send(&(struct event){ .id = EVENT_INTERRUPTS_LEFT,
					    .run_id = run->id,
					    .count = steered->irqs - steered->moved },
			   "%s: %u of %u interrupts stay where they are: %s", cores->nic,
			   steered->irqs - steered->moved, steered->irqs, steered->why);
}

static int interrupts(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	const char *root = getenv("KILN_ROOT");
	struct nic_steered steered;
	struct nic_cores cores;
	int r = run_load(&run, err);

	if (!root)
		root = "";
	if (r == 0 && run.config.fetch.interrupts == INTERRUPTS_LEAVE) {
		log_info("fetch.interrupts = \"leave\": the interrupts stay as they are");
		return 0;
	}
	if (r < 0 ||
	    (r = nic_cores_find(root, run.config.fetch.nic, run.config.fetch.cores, &cores, err)) < 0)
		return r;
	if (!*cores.nic) {
		log_info("no interface has the default route: nothing to do");
		return 0;
	}
	/* The near cores are not known, or all cores do both fetching and decoding: no core can be freed from
	 * interrupts. */
	if (!cores.known || CPU_EQUAL(&cores.network, &cores.decode)) {
		log_info("%s: every core is one of its cores: nothing to do", cores.nic);
		return 0;
	}
	nic_steer(root, cores.nic, &cores.network, &steered);
	say(&run, &cores, &steered);
	return 0;
}

int oneshot_interrupts(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	return interrupts(&err) < 0 ? fatal(&err) : EX_OK;
}
