/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the keys of the group `ranks`, and of device.count. */
#include "core/config/cidr.h"
#include "core/config/config_reading.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define BOXES    "ranks.boxes"
#define TOGETHER "with device.count above 1 or ranks.boxes"
#define NAME_MAX 63u /* longest name of a box: kiln pki issues no certificate for a longer one */

/* Tells whether one of the first `bytes` bytes of a list is the name. Names of hosts have no case. */
static bool is_among(const char *list, size_t bytes, const char *name, size_t length)
{
	const char *const end = list + bytes;
	size_t item;

	for (; (item = config_next_name(&list)) > 0 && list < end; list += item)
		if (item == length && strncasecmp(list, name, length) == 0)
			return true;
	return false;
}

/* Checks each name of ranks.boxes; returns how many there are. */
static uint64_t check_names(struct config_reading *reading)
{
	const char *const boxes = reading->config->ranks.boxes, *name = boxes;
	const unsigned line = config_line(reading->config, BOXES);
	uint64_t count = 0;

	for (size_t bytes; (bytes = config_next_name(&name)) > 0; name += bytes, count++) {
		if (is_among(boxes, (size_t)(name - boxes), name, bytes))
			mistakes_add(reading->mistakes, line, BOXES ": found \"%.*s\" twice, allowed: once",
				     (int)bytes, name);
		if (bytes > NAME_MAX || memchr(name, ':', bytes))
			mistakes_add(reading->mistakes, line,
				     BOXES ": found \"%.*s\", allowed: host names, 1 .. %u characters of "
					   "[A-Za-z0-9.-]",
				     (int)bytes, name, NAME_MAX);
	}
	return count;
}

/* Checks what ranks.boxes asks of other keys, which have no effect without it. */
static void check_boxes(struct config_reading *reading, uint64_t boxes)
{
	const struct config *config = reading->config;
	struct cidr cidr;

	if (boxes == 0)
		return;
	if (config->ranks.boxes_min > boxes + 1)
		mistakes_add(reading->mistakes, config_line(config, "ranks.boxes_min"),
			     "ranks.boxes_min: found %" PRIu64 ", allowed: at most %" PRIu64
			     ", this box and those of ranks.boxes",
			     config->ranks.boxes_min, boxes + 1);
	if (!config->ranks.network)
		return;
	if (!cidr_parse(config->ranks.network, &cidr))
		mistakes_add(reading->mistakes, config_line(config, "ranks.network"),
			     "ranks.network: found \"\", allowed with ranks.boxes: " CIDR_ALLOWED);
	else if (boxes + 1 > cidr_hosts(&cidr))
		mistakes_add(reading->mistakes, config_line(config, "ranks.network"),
			     "ranks.network: found \"%s\", which has addresses for %" PRIu32
			     " boxes, allowed: at least %" PRIu64,
			     config->ranks.network, cidr_hosts(&cidr), boxes + 1);
}

/* Tells whether each device gets as many lanes as the others: it owns a node of the tree of lanes. */
static bool shares_are_equal(uint64_t lanes, uint64_t devices)
{
	const uint64_t each = lanes / devices;

	return lanes % devices == 0 && (each & (each - 1)) == 0;
}

/* Checks what several devices that train together ask of other keys. `boxes`: how many others there are. */
static void check_devices(struct config_reading *reading, uint64_t boxes)
{
	const struct config *config = reading->config;
	uint64_t devices;

	if (config->device.count <= 1 && boxes == 0)
		return;
	if (__builtin_mul_overflow(config->device.count, boxes + 1, &devices))
		devices = UINT64_MAX;
	if (config->order.lanes > 0 && config->order.lanes < devices)
		mistakes_add(reading->mistakes, config_line(config, "order.lanes"),
			     "order.lanes: found %" PRIu64 ", allowed with %" PRIu64 " devices: %" PRIu64
			     " or more",
			     config->order.lanes, devices, devices);
	if (config->device.id && strcmp(config->device.id, "auto") != 0)
		mistakes_add(reading->mistakes, config_line(config, "device.id"),
			     "device.id: found \"%s\", allowed " TOGETHER ": \"auto\"", config->device.id);
	if (config->order.mode == ORDER_FAST)
		mistakes_add(reading->mistakes, config_line(config, "order.mode"),
			     "order.mode: found \"fast\", allowed " TOGETHER ": \"exact\"");
	if (!config->ranks.exact && !shares_are_equal(config->order.lanes, devices))
		mistakes_add(reading->mistakes, config_line(config, "ranks.exact"),
			     "ranks.exact: found false, allowed with %" PRIu64 " devices and %" PRIu64
			     " lanes: true, or order.lanes 1, 2, 4, 8, 16 or 32 times the devices",
			     devices, config->order.lanes);
	if (!config->ranks.exact && config->optimizer.lazy)
		mistakes_add(reading->mistakes, config_line(config, "optimizer.lazy"),
			     "optimizer.lazy: found true, allowed " TOGETHER ": false");
	if (config->series.parallel != 1)
		mistakes_add(reading->mistakes, config_line(config, "series.parallel"),
			     "series.parallel: found %" PRIu64 ", allowed " TOGETHER ": 1",
			     config->series.parallel);
}

void config_check_ranks(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const uint64_t boxes = config->ranks.boxes ? check_names(reading) : 0;

	check_boxes(reading, boxes);
	check_devices(reading, boxes);
	if (config->ranks.trusted && config->ranks.network && !*config->ranks.network)
		mistakes_add(reading->mistakes, config_line(config, "ranks.trusted"),
			     "ranks.trusted: found true, allowed: with ranks.network");
}
