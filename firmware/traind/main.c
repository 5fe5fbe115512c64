/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/run/spool.h"
#include "drivers/gpu/gpu.h"
#include "drivers/notify/notify.h"
#include "model/adapt.h"
#include "model/self_test.h"
#include "traind/train.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>

#define END_LEASE_S 900u /* the last checkpoint, reports, the device */

atomic_bool train_stop;

static void stop(int signal_number)
{
	(void)signal_number;
	atomic_store(&train_stop, true);
}

static int open_all(struct train *train, struct error *err)
{
	const struct config *config = &train->run.config;
	int r;

	/* The lock goes with the process: a second one ends here, before it touches anything. */
	if ((r = spool_make(train->run.id, err)) < 0 || (r = spool_lock(&train->lock, err)) < 0)
		return r;
	train_ask(train);
	if ((r = gpu_open(config->device.platform, config->device.type, &train->gpu, err)) < 0 ||
	    (r = model_open(train->gpu, config, true, &train->model, err)) < 0 ||
	    (r = train_wait_plan(train, err)) < 0 || (r = quarantine_open(train, err)) < 0 ||
	    (r = epochs_open(train, err)) < 0 || (r = restore(train, err)) < 0 ||
	    (r = report_open(train, err)) < 0)
		return r;
	log_info("%s: %" PRIu64 " parameters on %s", train->run.id, model_parameters(train->model),
		 gpu_description(train->gpu));
	train->cadence = cadence_of(config, clock_us());
	r = throttle_open(train, err);
	return r < 0 ? r : saver_open(train, err);
}

static uint64_t step_of(const struct train *train)
{
	return train->model ? model_step(train->model) : 0;
}

static void say_stopped(const struct train *train, enum run_state rest)
{
	uint64_t step = step_of(train);

	if (rest == RUN_EXPIRED)
		event_send(&(struct event){ .id = EVENT_RUN_EXPIRED, .run_id = train->run.id },
			   "%s: the night is over, stopped at step %" PRIu64, train->run.id, step);
	else if (rest == RUN_STOPPED)
		event_send(&(struct event){ .id = EVENT_RUN_STOPPED, .run_id = train->run.id, .step = step },
			   "%s: stopped at step %" PRIu64, train->run.id, step);
	else
		log_info("stopped at step %" PRIu64, step);
}

static int fail(const struct train *train, const struct error *why, struct error *err)
{
	int r;

	if (run_reason_set(why->text, err) < 0)
		log_warning("%s; the run fails without its reason", err->text);
	r = run_state_set(RUN_FAILED, err);
	if (r == 0)
		event_send(&(struct event){ .id = EVENT_RUN_FAILED,
					    .run_id = train->run.id,
					    .step = step_of(train) },
			   "%s: failed at step %" PRIu64 ": %s", train->run.id, step_of(train), why->text);
	return r;
}

/* systemd's signal may come before the wish to stop was looked at. */
static enum run_state rest_of(const struct train *train)
{
	struct run_want want;

	if (train->rest == RUN_RUNNING && run_want_get(&want, NULL) == 0 && want.state == RUN_STOPPED)
		return RUN_STOPPED;
	return train->rest;
}

/* Data that cannot be used ends the run; what may pass, or a person can put right, leaves it unfinished. */
static int end(struct train *train, int result, struct error *err)
{
	bool canceled = result == -ECANCELED;
	enum run_state rest = canceled ? rest_of(train) : RUN_RUNNING;
	struct error state_err;
	int code = result == 0 || canceled ? EX_OK : alive_fatal(STATUS_TRAIND, err);

	alive_lease(train->worker, NULL, END_LEASE_S);
	throttle_close(train);
	/* Of one that has ended well it stands there. */
	if (result < 0 && train->report.epochs && stages_note(train, &state_err) < 0)
		log_warning("%s; its time is not noted", state_err.text);
	/* The state comes last: whoever sees it finds every file. */
	report_close(train);
	saver_close(train);
	quarantine_close(train);
	epochs_close(train);
	adapt_close(train->adapt);
	if (canceled)
		say_stopped(train, rest);
	/* A signal alone is a reboot, or systemd's: the run goes on at the next start. */
	if ((rest != RUN_RUNNING && run_state_set(rest, &state_err) < 0) ||
	    (code == EX_DATAERR && fail(train, err, &state_err) < 0) ||
	    ((rest != RUN_RUNNING || result == 0) && run_rest(&state_err) < 0))
		log_err("%s", state_err.text);
	model_close(train->model); /* until here the device may read batches in the ring */
	ring_close(train->ring);
	publish_close(train);
	gpu_close(train->gpu);
	run_done(&train->run);
	return code;
}

/* The configured device, or any where there is no configuration yet. */
static int test_device(void)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(gpu_closep) struct gpu *gpu = NULL;
	struct error err = { 0 };
	bool none = config_load(config_path(0, NULL), &config, &err) == -ENOENT;

	if ((!none && err.code < 0) ||
	    gpu_open(none ? "auto" : config.device.platform, none ? DEVICE_AUTO : config.device.type, &gpu,
		     &err) < 0 ||
	    self_test(gpu, &err) < 0)
		return fatal(&err);
	log_info("%s: the self-test is right", gpu_description(gpu));
	return EX_OK;
}

int main(int argc, char **argv)
{
	static struct train train = { .saver = { .lock = PTHREAD_MUTEX_INITIALIZER,
						 .change = PTHREAD_COND_INITIALIZER } };
	struct error err = { 0 };
	int r;

	log_open("traind");
	if (argc == 2 && strcmp(argv[1], "--self-test") == 0)
		return test_device();
	if (argc > 1) {
		fputs("Usage: kiln-traind [--self-test]   with --self-test it verifies a kernel on the "
		      "device and ends\n",
		      stderr);
		return EX_USAGE;
	}
	stages_begin(&train);
	alive_back_off(STATUS_TRAIND);
	(void)signal(SIGTERM, stop);
	(void)signal(SIGINT, stop);
	r = run_load(&train.run, &err);
	if (r < 0)
		return alive_fatal(STATUS_TRAIND, &err);
	if (run_state_is_final(train.run.state)) {
		log_info("%s is %s", train.run.id, run_state_name(train.run.state));
		return EX_OK;
	}
	publish_open(&train);
	publish_phase(&train, "starting", "opening the device and the model");
	obey_open(&train);
	train.rest = RUN_RUNNING;
	r = open_all(&train, &err);
	train.worker = alive_worker("the main thread");
	alive_open();
	if (r == 0)
		notify_ready("training %s", train.run.id);
	return end(&train, r < 0 ? r : train_run(&train, &err), &err);
}
