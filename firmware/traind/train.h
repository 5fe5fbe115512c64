/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-traind trains one run. It reads batches from the ring that kiln-fetchd fills, trains on the device,
 * and writes checkpoints, event files and the finished model into the spool, where kiln-uploadd finds them.
 * It writes run.json and the run's state. It never touches the network.
 *
 * Threads:
 *   main thread      everything except the two below
 *   writer thread    writes one snapshot at a time to the disk while training goes on (writer.h)
 *   alive thread     pings systemd's watchdog while the main thread moves (drivers/notify/alive.h)
 *
 * The main thread repeats (loop.c): look at the operator's request -> next slot of the ring -> write a
 * checkpoint if one is due -> enqueue the batch on the device -> set the model's cursor after the batch
 * -> give back the slots that the device has read. The device reads a slot in place, so a slot is given back
 * only when model_batch_done() returns it. A snapshot for a checkpoint is made between two batches, so that
 * its weights and its cursor always belong together.
 *
 * Each file uses only files of the lines below its own:
 *   main                     opens everything, runs the loop, ends the process
 *   loop rest restore        trains slot after slot; ends the run; loads the first weights
 *   adapt epochs report      statistics before step 0; the callbacks after an epoch; metrics and progress
 *   rounds same              what comes next for all ranks of a run; whether their weights are the same
 *   batches                  the ring: attach, next slot, give back
 *   obey                     pause, checkpoint or stop when the operator asks
 *   throttle                 pauses while the processor or the GPU is too hot
 *   save                     decides when a checkpoint is written
 *   want record              the operator's request; run.json
 *   world                    the ranks of a run: join, sums of all, the state of the model
 *   wait curves              naps that can be interrupted; event files
 *   publish figures          the status page; metrics from the device
 *   writer                   the writer thread
 *   best forms               the best weights; the finished model for other tools
 *   gpu_memory           errors in the memory of GPUs, as events
 *   devices              the note of the devices for `kiln node`
 *   stages quarantine history   pure data: times by stage, records left out, metrics of the epochs
 *
 * Owners: struct train belongs to the main thread. While the writer thread is busy it reads `run`, `ring`,
 * `best` and the model's snapshot, so the main thread calls writer_wait() before it changes or closes one of
 * them. The lock in struct writer guards the members that both threads write.
 *
 * A crash (kill -9, power cut) may fall anywhere. What survives: the checkpoints in the spool, each whole or
 * absent, run.json, the run's state, and event files. The next start loads the newest checkpoint that is
 * whole, drops from run.json the epochs after the checkpoint's cursor, and asks kiln-fetchd for the batch
 * after that cursor; the same steps then give the same bits. The metrics of an epoch are written before its
 * checkpoint, so after a crash between the two the next start writes the same metrics again. After a crash
 * during adapt() the run starts anew, because nothing is trained yet. At the end the model is written first
 * and RUN_FINISHED last: after a crash in between the next start repeats the end. The status page is in
 * memory, and each start makes a new page.
 */
#pragma once

#include "core/run/run.h"
#include "traind/batches.h"
#include "traind/best.h"
#include "traind/curves.h"
#include "traind/publish.h"
#include "traind/quarantine.h"
#include "traind/record.h"
#include "traind/report.h"
#include "traind/rounds.h"
#include "traind/save.h"
#include "traind/stages.h"
#include "traind/throttle.h"
#include "traind/want.h"
#include "traind/world.h"
#include "traind/writer.h"

struct train {
	struct run run;
	int lock, run_lock; /* of the slot's place in the spool, and of the run's: only one traind writes
			       there */
	struct gpu *gpu;
	struct model *model;
	struct ring *ring;           /* NULL while no ring is open */
	bool told_unpinned;          /* the log says that the driver does not pin the ring */
	struct alive_worker *worker; /* the main thread, which the watchdog observes */
	struct adapt *adapt;         /* not NULL: layers still wait for statistics of the data */
	bool finished; /* the model holds its final weights: those of the best epoch, or the moving average */
	struct error test_fault;  /* with a code: a record of the test makes no number, pass over the rest */
	bool compiling;           /* the device compiles kernels now, and the status page says so */
	unsigned warm[SPLIT_MAX]; /* batches of each split that were enqueued, counted up to WARM_BATCHES */
	struct stages stages;
	struct quarantine quarantine;
	struct best best;
	struct writer writer;
	struct publish publish;
	struct curves curves;
	struct record record;
	struct want want;
	struct save save;
	struct throttle throttle;
	struct batches batches;
	struct report report;
	struct world world;
	struct rounds rounds;
};
