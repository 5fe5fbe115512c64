/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions at the end of an epoch: stop early, lower the learning rate, save these weights as the best.
 * Semantics and names are those of Keras's EarlyStopping, ReduceLROnPlateau and ModelCheckpoint with
 * save_best_only (keras/src/callbacks). Pure functions on a state that a checkpoint holds, so a run that was
 * killed decides the same way again.
 */
#pragma once

#include "core/config/config.h"

/* Metrics of one epoch. NAN: the epoch does not have that metric, and a callback that monitors it does
 * nothing. */
struct callbacks_figures {
	double loss, accuracy, validation_loss, validation_accuracy;
};

/* Only doubles, because the state is a tensor of the checkpoint, F64 [CALLBACKS_NUMBERS]. Before the first
 * epoch everything but the version is zero. */
#define CALLBACKS_VERSION 1
#define CALLBACKS_NUMBERS 16u
struct callbacks {
	double version;
	double stopped; /* 1 = training is over, else 0 */
	struct {
		double known, best, best_epoch, wait; /* known: 1 = `best` has a value, else 0 */
	} stopping, saving;
	struct {
		double known, best, wait, cooldown;
		double rate; /* the reduced learning rate, rounded to float32; 0 = never reduced */
	} plateau;
	double reserved;
};

struct callbacks_verdict {
	bool save;   /* save the weights, which are the best so far */
	bool stop;   /* training ends */
	bool reduce; /* the learning rate is state->plateau.rate from now on */
};

/* Returns whether `value` is better than `best` by more than min_delta; `monitor` and `mode` say which way is
 * better. */
bool callbacks_improves(int monitor, int mode, double min_delta, double value, double best);

/* Sets the state before the first epoch. */
void callbacks_start(struct callbacks *state);

/* Returns whether the configuration asks to save the best weights. Then they become the finished model. */
bool callbacks_save_best(const struct config *config);

/* Returns whether the weights of an epoch that has not ended are those of the finished model if no later
 * epoch is better; without callbacks_save_best() always. */
bool callbacks_keeps(const struct config *config, const struct callbacks *state, uint64_t epoch,
		     const struct callbacks_figures *figures);

/* Ends `epoch` = 0, 1, ... and returns what to do; `rate` is the learning rate of the epoch's last step. */
struct callbacks_verdict callbacks_epoch(const struct config *config, struct callbacks *state, uint64_t epoch,
					 const struct callbacks_figures *figures, double rate);
