/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/program.h"
#include "core/base/slot.h"
#include "core/box/usable.h"
#include "core/run/spool.h"
#include "core/series/series.h"
#include "drivers/cores/cores.h"
#include "drivers/gpu/gpu.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "drivers/ranks/mpirun.h"
#include "model/self_test.h"
#include "traind/devices.h"
#include "traind/killed.h"
#include "traind/loop.h"
#include "traind/names.h"
#include "traind/rest.h"
#include "traind/restore.h"
#include "traind/session.h"
#include "traind/together.h"
#include "traind/train.h"
#include "traind/wait.h"

#include <inttypes.h>
#include <string.h>

/* Puts the trainer on the cores near its GPU, before it starts threads and touches the memory for staging:
 * memory lies on the node of the thread that touches it first. device.cores, if set, has done that already
 * (CPUAffinity=). */
static void go_near(const struct gpu *gpu, const struct config *config)
{
	cpu_set_t near, allowed;
	char text[512];

	if (strcmp(config->device.cores, "auto") != 0 || gpu_is_cpu(gpu) || !gpu_cores(gpu, &near) ||
	    sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	CPU_AND(&near, &near, &allowed);
	if (CPU_COUNT(&near) == 0 || CPU_EQUAL(&near, &allowed))
		return;
	cores_pin(&near);
	cores_text(&near, text, sizeof(text));
	log_info("on the cores near the device: %s", text);
}

/* Takes the places on the disk to which only one trainer may write. The process holds the locks until it
 * ends. A second traind fails here, before it changes anything. */
static int take_spool(struct train *train, struct error *err)
{
	int r;

	if ((r = spool_make(train->run.id, err)) < 0 || (r = spool_lock(&train->lock, err)) < 0 ||
	    (r = spool_lock_run(train->run.id, &train->run_lock, err)) < 0)
		return r;
	return killed_look(train->run.id, err);
}

/* Gives the model its first state: rank 0 loads it, and the others get it from rank 0. */
static int open_state(struct train *train, struct error *err)
{
	const bool leads = world_leads(&train->world);
	int r = leads ? names_write(&train->run, err) : 0;

	if (r == 0 && leads)
		r = restore(train, err);
	if (train->world.count > 1)
		r = world_all(train, r, err);
	if (r == 0)
		r = world_spread(train, err);
	return r == 0 && leads ? record_open(train, err) : r;
}

/* Opens what this rank has for itself. */
static int open_own(struct train *train, struct error *err)
{
	const struct config *config = &train->run.config;
	const struct gpu_wish wish = gpu_wish_of(config);
	char path[PATH_BYTES];
	int r;

	if (train->world.count == 1)
		batches_ask(train);
	if (slot_now() == 0 && world_leads(&train->world)) /* the note is of the box */
		devices_note("", &wish);
	if ((r = gpu_open(&wish, &train->gpu, err)) < 0)
		return r;
	go_near(train->gpu, config);
	if ((r = model_open(train->gpu, config, true, &train->model, err)) < 0 ||
	    (r = batches_wait_plan(train, err)) < 0 ||
	    (r = quarantine_open(&train->quarantine, config, path_of(PATH_RUN, "plan", path), err)) < 0)
		return r;
	return best_open(&train->best, config, train->model, err);
}

static int open_run(struct train *train, struct error *err)
{
	int r;

	if (world_leads(&train->world) && (r = take_spool(train, err)) < 0)
		return r;
	/* Before the device: a stop and the end of the night are obeyed where it is gone. */
	if ((r = want_check_early(train, err)) < 0 ||
	    (r = world_join(train, open_own(train, err), err)) < 0 || (r = open_state(train, err)) < 0)
		return r;
	log_info("%s: %" PRIu64 " parameters on %s", train->run.id, model_parameters(train->model),
		 gpu_description(train->gpu));
	if (!gpu_is_cpu(train->gpu))
		log_info("tensor cores that compute products: %s", model_tensor_cores(train->model));
	report_open(train);
	save_open(train);
	if (world_leads(&train->world))
		session_begin(train);
	r = throttle_open(train, err);
	return r < 0 ? r : writer_open(train, err);
}

/* Tells whether the trial cannot train in this slot: its device does not come back, or the machine has no
 * memory for it beside the others. Slot 0 takes it when its own trial has ended. */
static bool is_to_move(int opened)
{
	return slot_now() > 0 &&
	       (opened == -EUSERS || (opened == -ENODEV && alive_failures() >= ALIVE_DEGRADED_AT));
}

/* Tests the device of the configuration, or any device while there is no configuration. */
static int test_device(void)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(gpu_closep) struct gpu *gpu = NULL;
	struct error err = { 0 };
	bool none = config_load(config_path(0, NULL), &config, &err) == -ENOENT;
	const struct gpu_wish wish = none ? GPU_ANY : gpu_wish_of(&config);

	if ((!none && err.code < 0) || gpu_open(&wish, &gpu, &err) < 0 || self_test(gpu, &err) < 0)
		return fatal(&err);
	log_info("%s: the self-test passed", gpu_description(gpu));
	return EX_OK;
}

static int count_usable(const struct config *config, unsigned *ret_usable, struct error *err)
{
	CLEANUP(free_ptr) struct gpu_listed *list = NULL;
	const struct gpu_wish wish = gpu_wish_of(config);
	unsigned count = 0;
	int r = gpu_list(&list, &count, err);

	if (r == 0)
		*ret_usable = gpu_usable(list, count, &wish);
	return r;
}

/* Writes the path of the configuration that the trials of the night have: that of the unfinished series,
 * which may be older than `file`. */
static void find_config(const char *file, char path[static PATH_BYTES])
{
	CLEANUP(json_free) cJSON *series = NULL;

	if (series_load_unfinished(&series, NULL) < 0 ||
	    file_exists(series_file(series_id(series), SERIES_CONFIG_FILE, path), NULL) <= 0)
		(void)snprintf(path, PATH_BYTES, "%s", file);
}

/* Notes on how many devices trials can train side by side. With series.parallel = 1 nobody asks. kiln-oneshot
 * begin says what is wrong with a configuration that cannot be used. */
static int note_usable(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	char path[PATH_BYTES];
	unsigned usable = 1;

	/* Where a driver crashes, trials train in turn. */
	if (usable_note(usable, &err) < 0)
		return fatal(&err);
	find_config(config_path(argc, argv), path);
	if (config_load(path, &config, NULL) == 0 && config.series.parallel != 1 &&
	    count_usable(&config, &usable, &err) < 0)
		log_warning("%s; trials train in turn", err.text);
	if (usable_note(usable, &err) < 0)
		return fatal(&err);
	if (usable > 1)
		log_info("devices for trials side by side: %u", usable);
	return EX_OK;
}

static const struct program program = {
	"kiln-traind", "[--self-test] [--count-devices] [--config FILE] [--rank-from-env]",
	"Trains the network of the current run. With --self-test it verifies a kernel on the device and "
	"ends. "
	"With --count-devices it notes how many devices the configuration may use, and ends.\n"
	"Where several devices or boxes train the run (device.count, ranks.boxes) it becomes mpirun, which "
	"starts "
	"a rank for\neach device.\n"
	"With --rank-from-env it is one of several ranks that train together: mpirun or srun starts them, "
	"and "
	"its\nenvironment variables say which rank this is."
};

int main(int argc, char **argv)
{
	static struct train train = { .writer = WRITER_INITIALIZER };
	struct error err = { 0 };
	int code, r = program_begin(&program, argc, argv);

	if (r != PROGRAM_GOES_ON)
		return r;
	log_open("traind");
	if (program_option(argc, argv, "--self-test"))
		return test_device();
	if (program_option(argc, argv, "--count-devices"))
		return note_usable(argc, argv);
	if (program_option(argc, argv, "--rank-from-env"))
		mpirun_arrive("kiln-traind");
	else if (together_become(&err) < 0)
		return alive_fatal(STATUS_TRAIND, &err);
	if (world_find(&train.world, program_option(argc, argv, "--rank-from-env"), &err) < 0)
		return fatal(&err);
	stages_begin(&train.stages);
	alive_back_off(STATUS_TRAIND);
	wait_catch_signals();
	r = run_load(&train.run, &err);
	if (r < 0)
		return world_exit_code(&train.world, alive_fatal(STATUS_TRAIND, &err));
	train.run.config.ranks.world = train.world.count;
	if (run_state_is_final(train.run.state)) {
		log_info("nothing to do: %s is %s", train.run.id, run_state_name(train.run.state));
		return EX_OK;
	}
	publish_open(&train);
	publish_phase(&train, "starting", "opening the device and the model; new kernels are compiled");
	want_open(&train);
	r = open_run(&train, &err);
	train.worker = alive_worker("the main thread");
	alive_open();
	if (r == 0)
		notify_ready("training %s", train.run.id);
	code = rest(&train, r < 0 ? r : loop_run(&train, &err), &err);
	return is_to_move(r) ? SERIES_EXIT_MOVE : code;
}
