/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/callbacks.h"

#include <assert.h>
#include <math.h>

static_assert(sizeof(struct callbacks) == CALLBACKS_NUMBERS * sizeof(double),
	      "the state is a tensor of doubles");

void callbacks_start(struct callbacks *state)
{
	*state = (struct callbacks){ .version = CALLBACKS_VERSION };
}

bool callbacks_save_best(const struct config *config)
{
	return config->keep_best.monitor != MONITOR_NONE ||
	       (config->early_stopping.monitor != MONITOR_NONE && config->early_stopping.restore_best);
}

static double figure(const struct callbacks_figures *figures, int monitor)
{
	switch (monitor) {
	case MONITOR_LOSS:
		return figures->loss;
	case MONITOR_ACCURACY:
		return figures->accuracy;
	case MONITOR_VAL_LOSS:
		return figures->validation_loss;
	case MONITOR_VAL_ACCURACY:
		return figures->validation_accuracy;
	default:
		return NAN;
	}
}

/* The rule of MonitorCallback._is_improvement() in Keras. */
bool callbacks_improves(int monitor, int mode, double min_delta, double value, double best)
{
	const bool is_loss = monitor == MONITOR_LOSS || monitor == MONITOR_VAL_LOSS;

	if (mode == MODE_MIN || (mode == MODE_AUTO && is_loss))
		return value + min_delta < best;
	return value - min_delta > best;
}

/* ---- EarlyStopping ---- */

static void stop_early(const struct config *config, struct callbacks *state, uint64_t epoch,
		       const struct callbacks_figures *figures, struct callbacks_verdict *verdict)
{
	const int monitor = config->early_stopping.monitor;
	const double value = figure(figures, monitor);

	if (isnan(value))
		return;
	state->stopping.wait++;
	if (state->stopping.known == 0 ||
	    callbacks_improves(monitor, config->early_stopping.mode, config->early_stopping.min_delta, value,
			       state->stopping.best)) {
		state->stopping.known = 1;
		state->stopping.best = value;
		state->stopping.best_epoch = (double)epoch;
		state->stopping.wait = 0;
		verdict->save = verdict->save || config->early_stopping.restore_best;
	} else if (state->stopping.wait >= (double)config->early_stopping.patience && epoch > 0) {
		state->stopped = 1;
		verdict->stop = true;
	}
}

/* ---- ModelCheckpoint, save_best_only ---- */

static void save(const struct config *config, struct callbacks *state, uint64_t epoch,
		 const struct callbacks_figures *figures, struct callbacks_verdict *verdict)
{
	const int monitor = config->keep_best.monitor;
	const double value = figure(figures, monitor);

	if (isnan(value) || (state->saving.known != 0 && !callbacks_improves(monitor, config->keep_best.mode,
									     0, value, state->saving.best)))
		return;
	state->saving.known = 1;
	state->saving.best = value;
	state->saving.best_epoch = (double)epoch;
	verdict->save = true;
}

/* ---- ReduceLROnPlateau ---- */

static void reduce(const struct config *config, struct callbacks *state, double rate,
		   struct callbacks_verdict *verdict)
{
	const float old = (float)rate;
	const double reduced = (double)old * config->reduce_on_plateau.factor,
		     least = config->reduce_on_plateau.min_lr;

	if (old <= (float)least)
		return;
	state->plateau.rate = (double)(float)(reduced > least ? reduced : least);
	state->plateau.cooldown = (double)config->reduce_on_plateau.cooldown;
	state->plateau.wait = 0;
	verdict->reduce = true;
}

static void watch_plateau(const struct config *config, struct callbacks *state,
			  const struct callbacks_figures *figures, double rate,
			  struct callbacks_verdict *verdict)
{
	const int monitor = config->reduce_on_plateau.monitor;
	const double value = figure(figures, monitor);

	if (isnan(value))
		return;
	if (state->plateau.cooldown > 0) {
		state->plateau.cooldown--;
		state->plateau.wait = 0;
	}
	if (state->plateau.known == 0 ||
	    callbacks_improves(monitor, config->reduce_on_plateau.mode, config->reduce_on_plateau.min_delta,
			       value, state->plateau.best)) {
		state->plateau.known = 1;
		state->plateau.best = value;
		state->plateau.wait = 0;
	} else if (state->plateau.cooldown == 0 &&
		   ++state->plateau.wait >= (double)config->reduce_on_plateau.patience) {
		reduce(config, state, rate, verdict);
	}
}

struct callbacks_verdict callbacks_epoch(const struct config *config, struct callbacks *state, uint64_t epoch,
					 const struct callbacks_figures *figures, double rate)
{
	struct callbacks_verdict verdict = { 0 };

	stop_early(config, state, epoch, figures, &verdict);
	save(config, state, epoch, figures, &verdict);
	watch_plateau(config, state, figures, rate, &verdict);
	return verdict;
}

bool callbacks_keeps(const struct config *config, const struct callbacks *state, uint64_t epoch,
		     const struct callbacks_figures *figures)
{
	struct callbacks after = *state;

	return !callbacks_save_best(config) || callbacks_epoch(config, &after, epoch, figures, 0).save;
}
