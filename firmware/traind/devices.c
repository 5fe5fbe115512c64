/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/devices.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/gpu/gpu.h"
#include "drivers/gpu/place.h"

#include <string.h>

static void add_text(cJSON *object, const char *key, const char *text)
{
	(void)cJSON_AddItemToObject(object, key, *text ? json_string(text) : cJSON_CreateNull());
}

static void add_number(cJSON *object, const char *key, bool known, double value)
{
	(void)cJSON_AddItemToObject(object, key, known ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

/* Adds "x16 of x16, 2.5 GT/s PCIe of 32.0 GT/s PCIe" and the memory node. */
static void add_link(cJSON *object, const char *root, const char *pci)
{
	struct gpu_link link;
	char text[128] = "";

	gpu_link(root, pci, &link);
	if (*link.speed && *link.width)
		(void)snprintf(text, sizeof(text), "x%s of x%s, %s of %s", link.width, link.width_max,
			       link.speed, link.speed_max);
	add_text(object, "link", text);
	add_number(object, "numa_node", link.node >= 0, link.node);
}

static cJSON *describe(const char *root, const struct gpu_listed *device, const struct gpu_verdict *verdict)
{
	cJSON *object = cJSON_CreateObject();

	add_text(object, "platform", device->platform);
	add_text(object, "name", device->name);
	add_text(object, "driver", device->driver);
	add_text(object, "type", device->cpu ? "cpu" : "gpu");
	(void)json_add_u64(object, "memory_bytes", device->memory_bytes);
	add_text(object, "pci", device->pci);
	add_text(object, "uuid", device->uuid);
	add_link(object, root, device->pci);
	add_number(object, "index", verdict->candidate, verdict->index);
	(void)cJSON_AddBoolToObject(object, "taken", verdict->taken);
	add_text(object, "why", verdict->why);
	return object;
}

static int write_note(const char *root, const struct gpu_wish *wish, struct error *err)
{
	CLEANUP(free_ptr) struct gpu_listed *list = NULL;
	CLEANUP(json_free) cJSON *note = cJSON_CreateArray();
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	unsigned count = 0;
	int r = gpu_list(&list, &count, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < count; i++) {
		const struct gpu_verdict verdict = gpu_judge(list, count, i, wish);

		(void)cJSON_AddItemToArray(note, describe(root, &list[i], &verdict));
	}
	r = json_print(note, &text, err);
	return r < 0 ? r : file_write_durable(path_of(PATH_DEVICES, NULL, path), text, strlen(text), err);
}

void devices_note(const char *root, const struct gpu_wish *wish)
{
	struct error err = { 0 };

	if (wish->slot == 0 && write_note(root, wish, &err) < 0)
		log_warning("kiln node shows no devices: %s", err.text);
}
