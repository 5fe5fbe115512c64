/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/choose.h"

#include "core/base/slot.h"

#include <ctype.h>
#include <string.h>

#define DIGITS     "0123456789"
#define HEX_DIGITS "0123456789abcdefABCDEF"

struct gpu_wish gpu_wish_of(const struct config *config)
{
	return (struct gpu_wish){ .platform = config->device.platform,
				  .type = config->device.type,
				  .id = config->device.id,
				  .slot = slot_now(),
				  .rank = slot_local() };
}

static const char *const type_names[] = {
	[DEVICE_AUTO] = "auto", [DEVICE_CPU] = "cpu", [DEVICE_GPU] = "gpu"
};

/* A device.id, by what it looks like. */
struct id {
	enum { ID_AUTO, ID_INDEX, ID_PCI, ID_UUID, ID_NAME } kind;
	unsigned long index;
	char text[GPU_UUID_BYTES]; /* of ID_PCI and ID_UUID */
};

bool gpu_is_pci(const char *id, char ret_pci[static GPU_PCI_BYTES])
{
	unsigned domain = 0, bus, slot, function;
	int used = 0;

	if (strspn(id, HEX_DIGITS ":.") != strlen(id))
		return false;
	/* nvidia-smi prints the domain with eight digits. */
	if (strncmp(id, "0000", 4) == 0 && strcspn(id, ":") == 8)
		id += 4;
	if (sscanf(id, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &used) != 4 || id[used]) {
		domain = 0;
		used = 0;
		if (sscanf(id, "%2x:%2x.%1x%n", &bus, &slot, &function, &used) != 3 || id[used])
			return false;
	}
	(void)snprintf(ret_pci, GPU_PCI_BYTES, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, slot & 0xff,
		       function & 0xf);
	return true;
}

static bool parse_uuid(const char *text, struct id *id)
{
	size_t used = 0;

	if (strncasecmp(text, "GPU-", 4) == 0)
		text += 4;
	for (; *text; text++) {
		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text) || used == GPU_UUID_BYTES - 1)
			return false;
		id->text[used++] = (char)tolower((unsigned char)*text);
	}
	id->text[used] = '\0';
	return used == GPU_UUID_BYTES - 1;
}

static struct id parse(const char *text)
{
	struct id id = { .kind = ID_NAME };

	if (strcmp(text, "auto") == 0)
		id.kind = ID_AUTO;
	else if (*text && strlen(text) < 4 && strspn(text, DIGITS) == strlen(text))
		id = (struct id){ .kind = ID_INDEX, .index = strtoul(text, NULL, 10) };
	else if (gpu_is_pci(text, id.text))
		id.kind = ID_PCI;
	else if (parse_uuid(text, &id))
		id.kind = ID_UUID;
	return id;
}

static bool is_candidate(const struct gpu_listed *device, const struct gpu_wish *wish)
{
	if (device->too_old ||
	    (strcmp(wish->platform, "auto") != 0 && !strcasestr(device->platform, wish->platform)))
		return false;
	return wish->type == DEVICE_AUTO || device->cpu == (wish->type == DEVICE_CPU);
}

/* `nth`: the device's index among the candidates. */
static bool fits(const struct gpu_listed *device, unsigned nth, const struct id *id,
		 const struct gpu_wish *wish)
{
	switch (id->kind) {
	case ID_AUTO:
		return false; /* is_automatic() */
	case ID_INDEX:
		return nth == id->index;
	case ID_PCI:
		return strcmp(device->pci, id->text) == 0;
	case ID_UUID:
		return strcmp(device->uuid, id->text) == 0;
	case ID_NAME:
		break;
	}
	return strcasestr(device->name, wish->id);
}

/* Writes "0: PLATFORM: NAME, PCI ADDRESS, UUID HEX; 1: ..." about all candidates. */
static void describe(const struct gpu_listed *list, unsigned count, const struct gpu_wish *wish, char *out,
		     size_t size)
{
	unsigned nth = 0;
	size_t used = 0;

	(void)snprintf(out, size, "none");
	for (unsigned i = 0; i < count && used < size; i++) {
		const struct gpu_listed *device = &list[i];

		if (!is_candidate(device, wish))
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%u: %s: %s%s%s%s%s", nth ? "; " : "",
					 nth, device->platform, device->name, *device->pci ? ", PCI " : "",
					 device->pci, *device->uuid ? ", UUID " : "", device->uuid);
		nth++;
	}
}

/* Tells whether "auto" may mean a device: it is of the type of the first candidate, and the first of the list
 * with its PCI address, because two drivers may list one GPU. */
static bool is_automatic(const struct gpu_listed *list, unsigned device, const struct gpu_wish *wish)
{
	if (!is_candidate(&list[device], wish))
		return false;
	for (unsigned i = 0; i < device; i++)
		if (is_candidate(&list[i], wish) &&
		    (list[i].cpu != list[device].cpu ||
		     (*list[i].pci && strcmp(list[i].pci, list[device].pci) == 0)))
			return false;
	return true;
}

/* Returns the index of the device that "auto" means, among those that it may mean. */
static unsigned automatic_index(const struct gpu_listed *device, const struct gpu_wish *wish)
{
	return device->cpu ? wish->slot : wish->slot + wish->rank;
}

/* Returns how many of the first `count` devices "auto" may mean. */
static unsigned automatic(const struct gpu_listed *list, unsigned count, const struct gpu_wish *wish)
{
	unsigned found = 0;

	for (unsigned i = 0; i < count; i++)
		found += is_automatic(list, i, wish);
	return found;
}

unsigned gpu_usable(const struct gpu_listed *list, unsigned count, const struct gpu_wish *wish)
{
	unsigned index;

	return parse(wish->id).kind == ID_AUTO ? automatic(list, count, wish)
					       : gpu_choose(list, count, wish, &index, NULL) == 0;
}

int gpu_choose(const struct gpu_listed *list, unsigned count, const struct gpu_wish *wish,
	       unsigned *ret_index, struct error *err)
{
	const struct id id = parse(wish->id);
	unsigned nth = 0, found = 0, index = 0;
	char devices[2048];

	for (unsigned i = 0; i < count; i++) {
		if (!is_candidate(&list[i], wish))
			continue;
		if ((id.kind == ID_AUTO ? is_automatic(list, i, wish) &&
						  automatic(list, i, wish) == automatic_index(&list[i], wish)
					: fits(&list[i], nth++, &id, wish)) &&
		    found++ == 0)
			index = i;
	}
	if (found == 1) {
		*ret_index = index;
		return 0;
	}
	describe(list, count, wish, devices, sizeof(devices));
	if (found > 1)
		return error_set(err, -EINVAL, "device.id: \"%s\" fits %u devices, expected one of: %s",
				 wish->id, found, devices);
	if (id.kind == ID_AUTO && wish->slot)
		return error_set(err, -ENODEV, "slot %u has no device of its own; there are: %s", wish->slot,
				 devices);
	if (id.kind == ID_AUTO && wish->rank)
		return error_set(err, -ENODEV, "rank %u of this box has no device of its own; there are: %s",
				 wish->rank, devices);
	if (id.kind == ID_AUTO)
		return error_set(err, -ENODEV, "no device of OpenCL 1.2 and type '%s' on platform '%s'",
				 type_names[wish->type], wish->platform);
	return error_set(
		err, -ENODEV,
		"device.id: no device fits \"%s\"; of OpenCL 1.2, type '%s' and platform '%s' there are: %s",
		wish->id, type_names[wish->type], wish->platform, devices);
}

/* Writes why a device is not the one that gpu_choose() took. */
static void explain(const struct gpu_listed *device, const struct gpu_wish *wish,
		    const struct gpu_verdict *verdict, char out[static GPU_WHY_BYTES])
{
	const struct id id = parse(wish->id);

	if (device->too_old)
		(void)snprintf(out, GPU_WHY_BYTES, "its OpenCL is older than 1.2");
	else if (wish->type != DEVICE_AUTO && device->cpu != (wish->type == DEVICE_CPU))
		(void)snprintf(out, GPU_WHY_BYTES, "device.type is \"%s\"", type_names[wish->type]);
	else if (!verdict->candidate)
		(void)snprintf(out, GPU_WHY_BYTES, "device.platform is \"%s\"", wish->platform);
	else if (id.kind == ID_AUTO && wish->slot)
		(void)snprintf(out, GPU_WHY_BYTES, "device.id is \"auto\", and this trial is in slot %u",
			       wish->slot);
	else if (id.kind == ID_AUTO)
		(void)snprintf(out, GPU_WHY_BYTES, "device.id is \"auto\", which takes the first%s",
			       device->cpu && wish->type == DEVICE_AUTO ? ", a GPU where there is one" : "");
	else if (fits(device, verdict->index, &id, wish))
		(void)snprintf(out, GPU_WHY_BYTES, "device.id is \"%s\", which fits other devices, too",
			       wish->id);
	else
		(void)snprintf(out, GPU_WHY_BYTES, "device.id is \"%s\"", wish->id);
}

struct gpu_verdict gpu_judge(const struct gpu_listed *list, unsigned count, unsigned device,
			     const struct gpu_wish *wish)
{
	struct gpu_verdict verdict = { .candidate = is_candidate(&list[device], wish) };
	unsigned chosen = 0;

	for (unsigned i = 0; i < device; i++)
		verdict.index += is_candidate(&list[i], wish);
	verdict.taken = gpu_choose(list, count, wish, &chosen, NULL) == 0 && chosen == device;
	if (!verdict.taken)
		explain(&list[device], wish, &verdict, verdict.why);
	return verdict;
}
