/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is decided at the end of an epoch: stop early, lower the learning rate, keep these weights as the
 * best. Semantics and names are those of Keras's EarlyStopping, ReduceLROnPlateau and ModelCheckpoint with
 * save_best_only (keras/src/callbacks). Pure functions on a state that a checkpoint holds, so that a run that
 * was killed decides the same again.
 */
#pragma once

#include "core/config/config.h"

/* Of one epoch; NAN: there is no such figure, and what monitors it does nothing. */
struct callbacks_figures {
	double loss, accuracy, validation_loss, validation_accuracy;
};

/* Doubles alone: it is a tensor of the checkpoint, F64 [CALLBACKS_NUMBERS]. All zero before the first epoch,
 * but for the version. */
#define CALLBACKS_VERSION 1
#define CALLBACKS_NUMBERS 16u
struct callbacks {
	double version;
	double stopped; /* 1: training is over; 0 */
	struct {
		double known, best, best_epoch, wait; /* known: 1 = there is a best, 0 */
	} stopping, keeping;
	struct {
		double known, best, wait, cooldown;
		double rate; /* 0 = never reduced; as float32 */
	} plateau;
	double reserved;
};

struct callbacks_verdict {
	bool keep;   /* these weights are the best so far: to be kept */
	bool stop;   /* no epoch follows */
	bool reduce; /* the learning rate is state->plateau.rate from here on */
};

/* Whether `value` of what is monitored is better than `best`, strictly and by more than min_delta. */
bool callbacks_improves(int monitor, int mode, double min_delta, double value, double best);

void callbacks_start(struct callbacks *state);

/* Whether weights are kept, and the best of them are what the finished model is made from. */
bool callbacks_keep_best(const struct config *config);

/* The end of `epoch` = 0, 1, ...; `rate`: the learning rate of its last step. */
struct callbacks_verdict callbacks_epoch(const struct config *config, struct callbacks *state, uint64_t epoch,
					 const struct callbacks_figures *figures, double rate);
