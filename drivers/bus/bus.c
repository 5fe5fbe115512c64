/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/bus/bus.h"

#include <string.h>

int bus_open(const char *whom, uint32_t wait_s, sd_bus **ret_bus, struct error *err)
{
	sd_bus *bus = NULL;
	int r = sd_bus_open_system(&bus);

	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, (uint64_t)wait_s * 1000000);
	if (r < 0) {
		bus_close(bus);
		return error_set(err, r, "cannot reach %s over D-Bus: %s", whom, strerror(-r));
	}
	*ret_bus = bus;
	return 0;
}

void bus_close(sd_bus *bus)
{
	sd_bus_flush_close_unref(bus);
}
