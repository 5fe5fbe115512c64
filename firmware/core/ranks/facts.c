/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/facts.h"

#include "core/base/paths.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define TRAINER     "kiln-traind"
#define DEVICES_MAX (1u << 20)

/* ---- This box ---- */

static int read_build(char out[static BUILD_ID_BYTES], struct error *err)
{
	char path[PATH_BYTES];

	return build_id_of(path_of_program(TRAINER, path), out, err);
}

/* Reads the note of the device that the last run took. */
static void read_device(char out[static RANKS_DEVICE_BYTES])
{
	CLEANUP(json_free) cJSON *list = NULL;
	char path[PATH_BYTES];
	const cJSON *device;

	*out = '\0';
	if (json_read(path_of(PATH_DEVICES, NULL, path), DEVICES_MAX, &list, NULL) < 0)
		return;
	cJSON_ArrayForEach(device, list) {
		const char *platform = cJSON_GetStringValue(json_member(device, "platform"));
		const char *name = cJSON_GetStringValue(json_member(device, "name"));

		if (!cJSON_IsTrue(json_member(device, "taken")) || !platform || !name)
			continue;
		(void)snprintf(out, RANKS_DEVICE_BYTES, "%.48s, %.76s", platform, name);
		return;
	}
}

int ranks_facts_here(struct ranks_facts *ret_facts, struct error *err)
{
	struct ranks_facts facts = { 0 };
	struct timespec now;
	int r = read_build(facts.build, err);

	if (r < 0)
		return r;
	read_device(facts.device);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	facts.time_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	*ret_facts = facts;
	return 0;
}

/* ---- On the wire ---- */

cJSON *ranks_facts_json(const struct ranks_facts *facts)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();

	if (!cJSON_AddStringToObject(object, "build", facts->build) ||
	    !cJSON_AddItemToObject(object, "device", json_string(facts->device)) ||
	    !json_add_u64(object, "time_us", facts->time_us) ||
	    !cJSON_AddItemToObject(object, "busy", json_string(facts->busy)))
		return NULL;
	return TAKE(object);
}

int ranks_facts_of(const cJSON *object, struct ranks_facts *ret_facts, struct error *err)
{
	struct ranks_facts facts = { 0 };
	int r = json_copy_string("rank.check", object, "build", facts.build, sizeof(facts.build), err);

	if (r < 0 ||
	    (r = json_copy_string("rank.check", object, "device", facts.device, sizeof(facts.device), err)) <
		    0 ||
	    (r = json_get_u64("rank.check", object, "time_us", &facts.time_us, err)) < 0 ||
	    (r = json_copy_string("rank.check", object, "busy", facts.busy, sizeof(facts.busy), err)) < 0)
		return r;
	*ret_facts = facts;
	return 0;
}

/* ---- Compare ---- */

int ranks_facts_compare(const struct ranks_facts *found, const struct ranks_facts *here, uint64_t way_us,
			bool mixed, struct error *err)
{
	const bool ahead = found->time_us > here->time_us;
	const uint64_t apart_us = ahead ? found->time_us - here->time_us : here->time_us - found->time_us;

	if (strcmp(found->build, here->build) != 0)
		return error_set(err, -ESTALE, "found the build %s of " TRAINER ", expected %s as here",
				 found->build, here->build);
	if (*found->busy)
		return error_set(err, -EBUSY, "it %s", found->busy);
	if (!mixed && *found->device && *here->device && strcmp(found->device, here->device) != 0)
		return error_set(err, -ESTALE,
				 "found the device \"%s\", expected \"%s\" as here; ranks.mixed = true "
				 "allows different ones",
				 found->device, here->device);
	if (apart_us > RANKS_CLOCK_US && apart_us - RANKS_CLOCK_US > way_us)
		return error_set(err, -ESTALE,
				 "found its clock %" PRIu64 ".%03" PRIu64
				 " s %s, expected at most 2 s of difference",
				 apart_us / 1000000, apart_us / 1000 % 1000, ahead ? "ahead" : "behind");
	return 0;
}
