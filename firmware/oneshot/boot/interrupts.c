/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the interrupts and queues of the network interface on the cores of fetchd's network threads. Done
 * again before each run, because a driver that was reset chooses other cores. Writes what it found and did to
 * PATH_STEERED, which `kiln node` shows.
 */
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/run.h"
#include "drivers/cores/cores.h"
#include "drivers/nic/nic.h"
#include "oneshot/boot/boot.h"

#include <string.h>
#include <sysexits.h>

#define LIST_BYTES 512u

/* ---- The note ---- */

static void add_cores(cJSON *note, const char *key, const cpu_set_t *set)
{
	char text[LIST_BYTES];

	cores_text(set, text, sizeof(text));
	(void)cJSON_AddStringToObject(note, key, text);
}

static void add_link(cJSON *note, const struct config *config, const struct nic_cores *cores)
{
	const struct nic_threads threads = nic_threads_of(config, cores);

	if (cores->mbit_per_s)
		(void)json_add_u64(note, "link_mbit_per_s", cores->mbit_per_s);
	else
		(void)cJSON_AddNullToObject(note, "link_mbit_per_s");
	(void)json_add_u64(note, "network_threads", threads.count);
	(void)cJSON_AddItemToObject(note, "network_threads_why", json_string(threads.why));
}

static cJSON *note_of(const struct config *config, const struct nic_cores *cores,
		      const struct nic_steered *steered, const char *text)
{
	cJSON *note = cJSON_CreateObject(), *devices;

	(void)cJSON_AddItemToObject(note, "interface",
				    *cores->nic ? json_string(cores->nic) : cJSON_CreateNull());
	devices = cJSON_AddArrayToObject(note, "devices");
	for (unsigned i = 0; i < cores->devices; i++)
		(void)cJSON_AddItemToArray(devices, json_string(cores->device[i]));
	add_link(note, config, cores);
	(void)cJSON_AddBoolToObject(note, "cores_known", cores->known);
	add_cores(note, "cores", &cores->network);
	add_cores(note, "decode_cores", &cores->decode);
	(void)json_add_u64(note, "interrupts", steered->irqs);
	(void)json_add_u64(note, "interrupts_moved", steered->moved);
	(void)json_add_u64(note, "queues_before", steered->queues_before);
	(void)json_add_u64(note, "queues", steered->queues);
	(void)json_add_u64(note, "send_queues", steered->send_queues);
	(void)cJSON_AddBoolToObject(note, "spread", steered->spread);
	(void)cJSON_AddItemToObject(note, "refused",
				    *steered->why ? json_string(steered->why) : cJSON_CreateNull());
	(void)cJSON_AddItemToObject(note, "text", json_string(text));
	return note;
}

/* A note that cannot be written is no reason to end the run: nobody but `kiln node` reads it. */
static void write_note(const struct config *config, const struct nic_cores *cores,
		       const struct nic_steered *steered, const char *text)
{
	CLEANUP(json_free) cJSON *note = note_of(config, cores, steered, text);
	CLEANUP(free_ptr) char *line = NULL;
	char path[PATH_BYTES];
	struct error err;

	if (json_print_line(note, &line, &err) < 0 ||
	    file_write_durable(path_of(PATH_STEERED, NULL, path), line, strlen(line), &err) < 0)
		log_warning("%s", err.text);
}

/* ---- The decision ---- */

/* Returns why nothing is to be moved, or NULL. */
static const char *why_not(const struct config *config, const struct nic_cores *cores)
{
	if (config->fetch.interrupts == INTERRUPTS_LEAVE)
		return "fetch.interrupts = \"leave\": interrupts and queues stay as they are";
	if (!*cores->nic)
		return "neither the store nor a default route has an interface: nothing to do";
	if (!cores->devices)
		return "the interface has no device: nothing to do";
	if (!cores->known)
		return "the kernel does not say which cores are near it: nothing to do";
	/* No core can be freed from interrupts. */
	if (CPU_EQUAL(&cores->network, &cores->decode))
		return "every core is one of its cores: nothing to do";
	return NULL;
}

static void steer(const struct run *run, const char *root, const struct nic_cores *cores)
{
	const char *why = why_not(&run->config, cores);
	struct nic_steered steered = { 0 };
	char text[256], list[LIST_BYTES];

	if (!why)
		nic_steer(root, cores, &steered);
	cores_text(&cores->network, list, sizeof(list));
	if (why)
		(void)snprintf(text, sizeof(text), "%s", why);
	else
		(void)snprintf(
			text, sizeof(text),
			"%u of %u interrupts on its cores; %u receive queues, %u before; %u send queues%s",
			steered.moved, steered.irqs, steered.queues, steered.queues_before,
			steered.send_queues,
			steered.spread ? "; received packets are distributed over its cores" : "");
	log_info("%s, cores %s: %s", *cores->nic ? cores->nic : "no interface", list, text);
	write_note(&run->config, cores, &steered, text);
	if (*steered.why)
		event_send(&(struct event){ .id = EVENT_INTERRUPTS_LEFT,
					    .run_id = run->id,
					    .count = steered.irqs - steered.moved },
			   "%s: %u of %u interrupts stay where they are; refused: %s", cores->nic,
			   steered.irqs - steered.moved, steered.irqs, steered.why);
}

static int interrupts(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	const char *root = getenv("KILN_ROOT");
	struct nic_cores cores;
	int r = run_load(&run, err);

	if (!root)
		root = "";
	if (r < 0 ||
	    (r = nic_cores_find(root, run.config.fetch.nic, run.config.fetch.cores, &cores, err)) < 0)
		return r;
	steer(&run, root, &cores);
	return 0;
}

int oneshot_interrupts(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	return interrupts(&err) < 0 ? fatal(&err) : EX_OK;
}
