/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-traind's parts and what they share.
 *
 *   main thread (train.c)    next slot -> train or evaluate -> release when the device is done with it
 *   report.c                 what an epoch came to: log, run record
 *   curves.c                 event files
 *   epochs.c                 what follows from an epoch's figures: stop early, and the like
 *   restore.c                the state to start with
 *   adapt.c                  what layers must know of the data before
 *   obey.c                   what the operator wants of the run, between two batches
 *   heat.c                   pauses, or the end, where processor or GPU are too hot
 *   stages.c                 what its time went to
 *   quarantine.c             which records were left out
 *   publish.c                the status page
 *   save.c, its own thread   writes snapshots into the spool while training goes on
 *
 * Nothing here touches the network: uploadd takes what lies in the spool.
 */
#pragma once

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/ring/ring.h"
#include "core/run/run.h"
#include "core/run/status.h"
#include "data/plan.h"
#include "drivers/notify/alive.h"
#include "drivers/sensors/heat.h"
#include "model/checkpoint.h"
#include "model/formats/tfevents.h"
#include "model/learn/cadence.h"
#include "model/learn/callbacks.h"
#include "model/model.h"

#include <pthread.h>
#include <stdatomic.h>

/* A snapshot on its way to the disk. The lock guards `busy`, `quit`, `err`, `worked_us` and `took_us`; the
 * rest belongs to the thread while busy, to the main thread otherwise, `stalled_us` always. */
struct saver {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool started, busy, quit;
	bool final; /* the finished model: parameters alone */
	uint64_t step;
	char path[PATH_BYTES];
	char *quarantine;              /* its text, as of the snapshot; NULL = nothing is left out */
	struct error err;              /* of the last file */
	uint64_t skipped;              /* snapshots not taken because the last one was still being written */
	uint64_t worked_us;            /* copy and CPU time that the last file took */
	uint64_t took_us;              /* all of it, from the snapshot to the disk */
	uint64_t stalled_us;           /* the main thread's, for it */
	bool saved;                    /* the checkpoint of `saved_step` is on the disk */
	uint64_t saved_step, saved_us; /* Unix time */
};

enum curve_kind { CURVE_TRAIN, CURVE_VALIDATION, CURVE_STEPS, CURVE_MAX };

/* The event files of a folder: made with their first point, closed when one could not be written. */
struct curve {
	struct tfevents *events;
	uint64_t next; /* epoch or step of the next point */
};

struct curves {
	struct curve curve[CURVE_MAX];
	uint64_t since_us, since_rows, since_waited_us; /* of the status page, at the last point by step */
	bool said;                                      /* that points by step are left out */
};

#define CALLBACKS_TENSOR "state/callbacks"
#define BEST_PREFIX      "state/best/"

/* A parameter as it was in the best epoch. */
struct best {
	char name[256]; /* in a checkpoint */
	struct model_tensor tensor;
	void *data;
};

struct epochs {
	struct callbacks state;
	uint32_t best_count; /* parameters; 0: none are to be kept */
	struct best *best;
	bool best_kept; /* they hold something */
	bool finished;  /* the model has them */
};

struct report {
	cJSON *epochs, *metrics; /* members of run.json, see report.c */
	bool noted;              /* run.json has them */
	uint64_t shown_us, rows;
};

/* The page as written last; the main thread's alone. */
struct publish {
	struct status_page *page; /* NULL: it cannot be written */
	struct status status;
	uint64_t written_us;
	uint64_t batch_us,
		waited_us; /* when the last batch came, 0 = none since a pause; waited since then */
	enum split split;  /* of the last batch */
	uint64_t segment;
};

/* Each record that was left out so far once, and how often one came that there was no room for. */
#define QUARANTINE_MAX 256u
struct quarantine {
	struct plan *plan; /* NULL = nothing is left out: by policy the run stops */
	struct ring_quarantined record[QUARANTINE_MAX];
	uint32_t records;
	uint64_t more;
};

struct obey {
	uint64_t looked_us, checkpoint_seq;
	bool unreadable; /* and that was said */
};

/* Pauses between steps while something is too hot. */
struct throttle {
	struct heat *heat;
	uint64_t paused_us; /* of this spell; 0 = there is none */
	uint64_t hot_us;    /* when its last pause ended */
	uint64_t said_us;   /* when it was told of last, 0 = never */
};

/* The first batches of a kind of pass build kernels, or load them. */
#define WARM_BATCHES 2u
#define WARM_LEASE_S 600u

enum stage {
	STAGE_STARTING, /* device, model, weights; and the first batches of a split, which build kernels */
	STAGE_WAITING,  /* for a batch */
	STAGE_TRAINING,
	STAGE_EVALUATING,
	STAGE_CHECKPOINTS, /* as far as they hold training up */
	STAGE_PAUSED,      /* by somebody, or to cool down */
	STAGE_MAX
};

struct stages {
	enum stage now;
	uint64_t since_us, spent_us[STAGE_MAX]; /* of this process */
	double before_s[STAGE_MAX];             /* of those before it */
	uint64_t starts;                        /* with this one */
	unsigned done[SPLIT_MAX];               /* batches that the device is through with, to WARM_BATCHES */
};

struct train {
	struct run run;
	int lock; /* of the spool */
	struct gpu *gpu;
	struct model *model;
	struct ring *ring;
	bool asked; /* train_ask() has, and nothing has come back */
	uint32_t inputs, input[MODEL_INPUTS_MAX], label, weight, empty, left_out; /* columns */
	bool checkpoint_due; /* taken before the next batch */
	struct cadence cadence;
	struct saver saver;
	struct report report;
	struct stages stages;
	struct quarantine quarantine;
	struct curves curves;
	struct epochs epochs;
	struct publish publish;
	struct obey obey;
	struct throttle throttle;
	struct adapt *adapt; /* until layers have their statistics; NULL = they have */
	enum run_state rest; /* what -ECANCELED makes of the run; RUN_RUNNING: it goes on after a start */
	struct alive_worker *worker; /* the main thread */
	unsigned warm[SPLIT_MAX];    /* batches of each split, up to WARM_BATCHES */
};

/* Set by SIGTERM and SIGINT. */
extern atomic_bool train_stop;

/* train.c: until the run's end (0), a wish to stop (-ECANCELED) or an error. */
MUST_CHECK int train_run(struct train *train, struct error *err);
/* Wait until fetchd has fixed the plan: checkpoints name it. -ECANCELED. */
MUST_CHECK int train_wait_plan(struct train *train, struct error *err);

/* Before there is a model: a run without a checkpoint begins with its first batch, so ask for that, and
 * fetchd reads while the device is opened. Where anything is in the way, train_attach() asks. */
void train_ask(struct train *train);
/* Open the ring, waiting for one, and ask for the batch behind the state's cursor, unless train_ask() has.
 * -ECANCELED. */
MUST_CHECK int train_attach(struct train *train, struct error *err);
/* The next slot, waiting for it. -ECANCELED. */
MUST_CHECK int train_next_slot(struct train *train, const struct ring_slot **ret_slot, struct error *err);
/* What a slot of data holds, the ring's until it is released. */
void train_batch(const struct train *train, const struct ring_slot *slot, struct model_batch *ret_batch);
/* A slot that ends a generation: its error. */
MUST_CHECK int train_refuse(struct train *train, const struct ring_slot *slot, struct error *err);

/* Wait `ms`; -ECANCELED. */
MUST_CHECK int train_nap(struct train *train, uint32_t ms, struct error *err);

/* restore.c: the newest good checkpoint in the spool, the file begin left for start_from = latest or for
 * model.weights, or initial values. */
MUST_CHECK int restore(struct train *train, struct error *err);

/* adapt.c: behind train_attach(); no more than that where there is nothing to do. -ECANCELED, -EDOM. */
MUST_CHECK int adapt(struct train *train, struct error *err);

/* save.c */
MUST_CHECK int saver_open(struct train *train, struct error *err);
/* Behind a training step: whether a checkpoint is due by steps or time. */
bool save_is_due(struct train *train);
/* Takes a snapshot and lets the thread write the checkpoint of this step, unless that one is there already,
 * or there is nothing to keep yet (train->adapt). While the thread is busy: waits with `wait`, else skips and
 * counts. A file that could not be written is logged and training goes on. No checkpoint is ahead of the
 * reports: while those cannot be written, there is none. */
MUST_CHECK int save_checkpoint(struct train *train, bool wait, struct error *err);
/* The finished model; returns when it is on the disk. */
MUST_CHECK int save_model(struct train *train, struct error *err);
/* How long the last checkpoint was on its way to the disk. */
uint64_t saver_took_us(struct train *train);
/* forms.c: the finished model for other tools, too. */
void write_forms(const struct train *train, const struct model_tensor *tensors, uint32_t count);
/* Waits until nothing is being written: the thread looks at the ring. */
void saver_wait(struct train *train);
/* Waits for the thread and ends it. */
void saver_close(struct train *train);

/* quarantine.c */
#define QUARANTINE_TENSOR "state/quarantine"
/* Before restore(), behind train_wait_plan(). */
MUST_CHECK int quarantine_open(struct train *train, struct error *err);
void quarantine_close(struct train *train);
/* What a checkpoint has of it. Errors: -EBADMSG. */
MUST_CHECK int quarantine_restore(struct train *train, const char *path, const struct safetensors *file,
				  struct error *err);
/* A slot leaves records out: with its cursor, they are the state's. Errors: -EUCLEAN the peer's memory makes
 * no sense. */
MUST_CHECK int quarantine_take(struct train *train, const struct ring_slot *slot, struct error *err);
/* {records: [{source, split, shard, key, offset, rest}], more}: source and shard count from 0, shard in the
 * plan's split; with `rest` all of the shard from there on. NULL: it is empty, or there is no memory. */
cJSON *quarantine_json(const struct train *train);

/* report.c */
const char *split_name(uint32_t split);
MUST_CHECK int report_open(struct train *train, struct error *err);
/* Behind the last batch of a segment. What a disk does not take is kept, and training goes on. */
MUST_CHECK int report_segment(struct train *train, enum split split, uint64_t segment, struct error *err);
/* model_metrics(); what the device compiled is kept for the next start. */
MUST_CHECK int report_metrics(struct train *train, struct model_metrics *ret_metrics, struct error *err);
/* The quarantine list, or the time it was throttled, is more than was written. */
void report_changed(struct train *train);
/* Everything said about the segments so far is on the disk when this returns 0. */
MUST_CHECK int report_write(struct train *train, struct error *err);
/* Whether this error of report_write() is the disk's and not the run's: it is full or broken. */
bool report_may_wait(int code);
/* After every batch: a line every few seconds. */
MUST_CHECK int report_progress(struct train *train, enum split split, uint64_t segment, uint32_t rows,
			       struct error *err);
void report_close(struct train *train);

/* stages.c */
void stages_begin(struct train *train);
/* What run.json has of earlier processes counts, too. */
void stages_restore(struct train *train, const cJSON *record);
/* From now on; the stage up to here is returned. */
enum stage stages_enter(struct train *train, enum stage stage);
/* A batch of this split is next, or done: the first ones count as starting until the device is through. */
void stages_batch(struct train *train, enum split split);
void stages_batch_done(struct train *train, enum split split);
/* As members of run.json: into an object, or noted there. */
bool stages_add(struct train *train, cJSON *object);
MUST_CHECK int stages_note(struct train *train, struct error *err);

/* What run.json says of an epoch. */
struct callbacks_figures report_figures(const struct train *train, uint64_t epoch);

/* epochs.c */
MUST_CHECK int epochs_open(struct train *train, struct error *err);
void epochs_close(struct train *train);
/* What a checkpoint holds of it, up to 1 + best_count tensors: how many. */
uint32_t epochs_tensors(const struct epochs *epochs, struct model_tensor *ret_tensors);
/* What a checkpoint held. -EBADMSG */
MUST_CHECK int epochs_restore(struct train *train, const char *path, const struct safetensors *file,
			      struct error *err);
/* An epoch is through, with its validation. *ret_stop: training is over, and the model's cursor stands behind
 * the last epoch. */
MUST_CHECK int epochs_end(struct train *train, uint64_t epoch, bool *ret_stop, struct error *err);
/* Training is over: the model becomes what is evaluated and kept, once. */
MUST_CHECK int epochs_finish(struct train *train, struct error *err);

/* curves.c: see there. Epochs that are there already. */
void curves_open(struct train *train, uint64_t train_epochs, uint64_t validation_epochs);
void curves_close(struct train *train);
/* What `epochs` of run.json has more; it is on the disk when this returns 0. */
MUST_CHECK int curves_write(struct train *train, const cJSON *epochs, struct error *err);
/* Behind the last batch of an epoch whose points are written: of parameters and gradients, where they are
 * due. */
MUST_CHECK int curves_histograms(struct train *train, uint64_t epoch, struct error *err);
/* Behind a training step: a point where one is due. */
MUST_CHECK int curves_step(struct train *train, bool epoch_ends, struct error *err);
/* Rates of the next point begin here. */
void curves_rest(struct train *train);

/* obey.c */
void obey_open(struct train *train);
/* Before there is anything to checkpoint. -ECANCELED the run is to stop. */
MUST_CHECK int obey_early(struct train *train, struct error *err);
/* Between two batches, and while none comes: looks a few times a second, takes the checkpoint that was asked
 * for, waits while the run is to be paused. -ECANCELED the run is to stop. */
MUST_CHECK int obey(struct train *train, struct error *err);

/* While something else is waited for: looks at once. *ret_more: there is something for obey() to do.
 * -ECANCELED the run is to stop. */
MUST_CHECK int obey_look(struct train *train, bool *ret_more, struct error *err);
/* -ECANCELED, with `why`: the run comes to rest in that state. */
MUST_CHECK int obey_leave(struct train *train, enum run_state rest, const char *why, struct error *err);

/* heat.c */
MUST_CHECK int throttle_open(struct train *train, struct error *err);
void throttle_close(struct train *train);
/* Between two batches, a few times a second: waits while it is too hot, THROTTLE_MAX_S at most, so that the
 * run gets on all the same. -ECANCELED: it is critical, and the run stops, or something else is wanted. */
#define THROTTLE_MAX_S 5u
MUST_CHECK int throttle(struct train *train, struct error *err);

/* publish.c: what traind says of itself (core/run/status.h); never worth a run. */
void publish_open(struct train *train);
void publish_phase(struct train *train, const char *phase, const char *format, ...) PRINTF(3, 4);
void publish_batch(struct train *train, enum split split, uint64_t segment, uint32_t rows);
/* The segment's end, and how many batches it had. */
void publish_segment(struct train *train, enum split split, uint64_t batches);
void publish_metrics(struct train *train, enum split split, const struct model_metrics *metrics);
/* The device had no work for so long, as no batch was there. */
void publish_waited(struct train *train, uint64_t us);
/* It paused for so long to cool down; first of all, what the run did before this process. */
void publish_throttled(struct train *train, uint64_t us);
void publish_close(struct train *train);
