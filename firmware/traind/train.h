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
 * The main thread repeats (loop.c): look at the operator's wish -> next slot of the ring -> write a
 * checkpoint if one is due -> enqueue the batch on the device -> set the model's cursor after the batch
 * -> give back the slots that the device has read. The device reads a slot in place, so a slot is given back
 * only when model_batch_done() returns it. Checkpoints lie between two batches: the weights and the cursor of
 * a snapshot always belong together.
 *
 * Each file uses only files of the lines below its own:
 *   main                     opens everything, runs the loop, ends
 *   loop rest restore        slot after slot; the end of the process; the weights to start with
 *   adapt epochs report      statistics before step 0; the callbacks after an epoch; figures and progress
 *   batches                  the ring: attach, next slot, give back
 *   obey                     pause, checkpoint or stop when the operator asks
 *   throttle                 pauses while processor or GPU are too hot
 *   save                     when a checkpoint is written
 *   want record              the operator's wish; run.json
 *   wait curves              naps that can be interrupted; event files
 *   publish figures          the status page; metrics from the device
 *   writer                   the writer thread
 *   best forms               the best weights; the finished model for other tools
 *   stages quarantine history   pure data: times by stage, records left out, figures of the epochs
 *
 * Owners: struct train belongs to the main thread. While the writer thread is busy it reads `run`, `ring`,
 * `best` and the model's snapshot, so the main thread calls writer_wait() before it changes or closes one of
 * them. The lock in struct writer guards what both threads write.
 *
 * A crash (kill -9, power cut) may fall anywhere. What survives: the checkpoints in the spool, each whole or
 * absent, run.json, the run's state, and event files. The next start loads the newest checkpoint that is
 * whole, drops from run.json the epochs after the checkpoint's cursor, and asks kiln-fetchd for the batch
 * after that cursor; the same steps then give the same bits. Figures are written before the checkpoint that
 * follows them, so a crash between the two writes the same figures again. A crash during adapt() starts the
 * run anew, as nothing is trained yet. At the end the model is written first and RUN_FINISHED last: a crash
 * in between repeats the end. The status page lies in memory and is made anew.
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
#include "traind/save.h"
#include "traind/stages.h"
#include "traind/throttle.h"
#include "traind/want.h"
#include "traind/writer.h"

struct train {
	struct run run;
	int lock; /* on the spool: only one traind writes there */
	struct gpu *gpu;
	struct model *model;
	struct ring *ring;           /* NULL while there is none */
	struct alive_worker *worker; /* the main thread, for the watchdog */
	struct adapt *adapt;         /* not NULL: layers still wait for statistics of the data */
	bool finished;               /* the model holds its final weights: the best epoch's, or the average */
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
};
