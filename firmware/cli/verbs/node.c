/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln node`: prints the hardware of a box. */
#include "cli/base/format.h"
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"

/* Prints what kiln-oneshot interrupts found and chose before the last run. */
static void print_network(const cJSON *network)
{
	const cJSON *device;

	if (!cJSON_IsObject(network))
		return;
	printf("%-11s%s", "network", client_text(network, "interface"));
	cJSON_ArrayForEach(device, json_member(network, "devices")) {
		fputs(device->prev->next ? ", " : " on ", stdout);
		fputs(cJSON_IsString(device) ? device->valuestring : "-", stdout);
	}
	if (cJSON_IsNumber(json_member(network, "link_mbit_per_s")))
		printf(", %.0f Mbit/s", client_number(network, "link_mbit_per_s"));
	printf(", cores %s%s, decode on %s\n", client_text(network, "cores"),
	       cJSON_IsTrue(json_member(network, "cores_known")) ? "" : " (not known which are near)",
	       client_text(network, "decode_cores"));
	printf("%-11s%s\n", "", client_text(network, "text"));
	if (cJSON_IsNumber(json_member(network, "network_threads")))
		printf("%-11snetwork threads for each source: %.0f, %s\n", "",
		       client_number(network, "network_threads"),
		       client_text(network, "network_threads_why"));
	if (cJSON_IsString(json_member(network, "refused")))
		printf("%-11srefused: %s\n", "", client_text(network, "refused"));
}

/* Prints a device of OpenCL, and why the trainer passed it over. */
static void print_device(const cJSON *device)
{
	char memory[FORMAT_BYTES], node[FORMAT_BYTES];

	printf("%-11s%s %s: %s, driver %s, %s", "device",
	       format_number(client_number(device, "index"), "%.0f", node), client_text(device, "platform"),
	       client_text(device, "name"), client_text(device, "driver"),
	       format_bytes(client_number(device, "memory_bytes"), memory));
	if (cJSON_IsString(json_member(device, "pci")))
		printf(", PCI %s, link %s, memory node %s", client_text(device, "pci"),
		       client_text(device, "link"),
		       format_number(client_number(device, "numa_node"), "%.0f", node));
	if (cJSON_IsTrue(json_member(device, "taken")))
		puts(": taken");
	else
		printf(": passed over: %s\n", client_text(device, "why"));
}

static int print_node(const cJSON *node)
{
	char a[FORMAT_BYTES], b[FORMAT_BYTES];
	const cJSON *item;

	printf("%-11s%s, kiln %s, %s, Linux %s\n", "box", client_text(node, "host"),
	       client_text(node, "version"), client_text(node, "system"), client_text(node, "kernel"));
	printf("%-11sbuild %s, slot %s, machine %s\n", "image", client_text(node, "build"),
	       client_text(node, "slot"), client_text(node, "machine"));
	printf("%-11s%.0f, memory %s, 2 MiB pages %s, free %s\n", "cores", client_number(node, "cores"),
	       format_bytes(client_number(node, "memory_bytes"), a),
	       format_number(client_number(node, "hugepages.pages_2mib"), "%.0f", b),
	       format_number(client_number(node, "hugepages.free_2mib"), "%.0f", (char[FORMAT_BYTES]){ 0 }));
	printf("%-11s%s\n", "gpu", client_text(node, "gpu"));
	cJSON_ArrayForEach(item, json_member(node, "devices"))
		print_device(item);
	cJSON_ArrayForEach(item, json_member(node, "nics"))
		printf("%-11s%s, %s, %s Mbit/s\n", "nic", client_text(item, "name"),
		       client_text(item, "state"),
		       format_number(client_number(item, "speed_mbit_per_s"), "%.0f", a));
	print_network(json_member(node, "network"));
	item = json_member(node, "watchdog");
	if (cJSON_IsObject(item))
		printf("%-11s%s, %s, %s s\n", "watchdog", client_text(item, "name"),
		       cJSON_IsTrue(json_member(item, "active")) ? "active" : "not active",
		       format_number(client_number(item, "timeout_s"), "%.0f", a));
	else
		printf("%-11snone\n", "watchdog");
	printf("%-11s%s free\n", "disk", format_bytes(client_number(node, "disk.free_bytes"), a));
	cJSON_ArrayForEach(item, json_member(node, "temperatures"))
		printf("%-11s%s %.0f C\n", "heat", client_text(item, "name"), client_number(item, "celsius"));
	return CLI_OK;
}

static int node(const struct arguments *arguments)
{
	return call_run(arguments, "node.info", print_node);
}

const struct verb verb_node = {
	.name = "node",
	.methods = { "node.info" },
	.options = { call_options },
	.run = node,
};
