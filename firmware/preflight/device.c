/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/slot.h"
#include "core/ranks/launch.h"
#include "drivers/gpu/gpu.h"
#include "model/memory.h"
#include "model/model.h"
#include "preflight/preflight.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PART "device"

static int build(const struct config *config, struct gpu *gpu, uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(model_closep) struct model *model = NULL;
	int r = model_open(gpu, config, true, &model, err);

	if (r < 0)
		return r;
	*ret_bytes = memory_needed(model_graph(model), gpu_is_cpu(gpu));
	return 0;
}

/* Adds a row for each device that is passed over. */
static void add_others(struct preflight *preflight, const struct gpu_wish *wish)
{
	CLEANUP(free_ptr) struct gpu_listed *list = NULL;
	unsigned count = 0;

	if (gpu_list(&list, &count, NULL) < 0)
		return;
	for (unsigned i = 0; i < count; i++) {
		const struct gpu_verdict verdict = gpu_judge(list, count, i, wish);

		if (!verdict.taken)
			preflight_add(preflight, PART, PREFLIGHT_OK, "", "%s: %s, driver %s: passed over: %s",
				      list[i].platform, list[i].name, list[i].driver, verdict.why);
	}
}

/* Says what each of several trials side by side gets. The devices are counted here as in the night. */
static void add_slots(struct preflight *preflight, const struct gpu_wish *wish)
{
	const struct config *config = preflight->config;
	CLEANUP(free_ptr) struct gpu_listed *list = NULL;
	uint64_t slots = config->series.parallel;
	unsigned count = 0, usable;

	if (!config_has_trials(config) || slots == 1 || gpu_list(&list, &count, NULL) < 0)
		return;
	usable = gpu_usable(list, count, wish);
	slots = slots == 0 || slots > usable ? usable : slots;
	slots = slots > SLOTS_MAX ? SLOTS_MAX : slots;
	if (slots > 1)
		preflight_add(preflight, PART, PREFLIGHT_OK, "",
			      "%" PRIu64 " trials side by side: each has a device, %" PRIu64
			      " bytes of fetch.memory_bytes and a part of the cores for decoding",
			      slots, config->fetch.memory_bytes / slots);
}

/* Says what each of several devices that train together gets, or that one is missing. Returns whether all are
 * there. */
static bool add_ranks(struct preflight *preflight, struct gpu_wish wish)
{
	const struct config *config = preflight->config;
	const uint64_t ranks = config->device.count;
	CLEANUP(free_ptr) struct gpu_listed *list = NULL;
	unsigned count = 0, index;
	struct error err = { 0 };

	if (ranks == 1 || gpu_list(&list, &count, NULL) < 0)
		return true;
	for (wish.rank = 0; wish.rank < ranks; wish.rank++)
		if (gpu_choose(list, count, &wish, &index, &err) < 0) {
			preflight_add(preflight, PART, PREFLIGHT_FAILED, "lower device.count",
				      "device.count is %" PRIu64 ": %s", ranks, err.text);
			return false;
		}
	if (access(RANKS_MPIRUN, X_OK) < 0) {
		preflight_add(preflight, PART, PREFLIGHT_FAILED, "install the package openmpi-bin",
			      "device.count is %" PRIu64 ": " RANKS_MPIRUN ": %s", ranks, strerror(errno));
		return false;
	}
	preflight_add(preflight, PART, PREFLIGHT_OK, "",
		      list[index].cpu ? "%" PRIu64 " ranks train together and share this processor"
				      : "%" PRIu64 " devices train together",
		      ranks);
	return true;
}

void preflight_device(struct preflight *preflight)
{
	const struct config *config = preflight->config;
	const struct gpu_wish wish = gpu_wish_of(config);
	CLEANUP(gpu_closep) struct gpu *gpu = NULL;
	struct error err = { 0 };
	uint64_t needed = 0;

	add_others(preflight, &wish);
	add_slots(preflight, &wish);
	if (!add_ranks(preflight, wish))
		return;
	if (gpu_open(&wish, &gpu, &err) < 0) {
		preflight_add(preflight, PART, PREFLIGHT_FAILED,
			      "install the device's OpenCL driver, or change the keys of `device`", "%s",
			      err.text);
		return;
	}
	if (build(config, gpu, &needed, &err) < 0)
		preflight_add(preflight, PART, PREFLIGHT_FAILED,
			      "lower run.batch_rows, or make the network smaller or what the message says",
			      "%s: %s", gpu_description(gpu), err.text);
	else
		preflight_add(preflight, PART, PREFLIGHT_OK, "",
			      "%s: the network is built; it needs %" PRIu64 " of %" PRIu64 " bytes",
			      gpu_description(gpu), needed, gpu_memory(gpu).bytes);
}
