/* SPDX-License-Identifier: Apache-2.0 */
/* What kiln-oneshot begin does for a series. */
#pragma once

#include "core/run/run.h"

enum series_begun {
	SERIES_BEGUN_NONE,  /* there is no series */
	SERIES_BEGUN_TRIAL, /* the run of a trial has begun or goes on */
	SERIES_BEGUN_OVER,  /* a series has ended, and with it the night: nothing more is trained */
	SERIES_BEGUN_WAIT,  /* nothing to do in this slot, until a trial of another one ends */
	SERIES_BEGUN_REST,  /* the series waits for another night, or a person */
};

/* For slot 0. Goes on with the unfinished series: with the trial that runs, or with the next one. Says how
 * many slots work on it: series.parallel, or fewer where the box has fewer devices (core/box/usable.h).
 * Without one, ends where the series of this night has ended; else makes a new series where `file` has
 * trials, no other run is unfinished, and nobody asked for values of a single run. A series none of whose
 * trials has begun ends where `file` has changed since, and makes way for a new one. `since`: when the night
 * was asked for (Unix time). `slots_max`: how many slots may work on it. Returns an enum series_begun.
 * Errors: those of kiln-oneshot begin. A trial that cannot begin or go on because of its configuration, its
 * data or its files has failed, with its run, and the next one is tried. */
MUST_CHECK int series_begin(const char *file, int64_t since, unsigned slots_max, struct error *err);

/* Goes on with the unfinished series in this slot, and begins nothing else. `id`: the series that is meant;
 * "" = whichever is unfinished. Returns an enum series_begun, SERIES_BEGUN_OVER where it is not unfinished
 * any more. Errors: as series_begin(). */
MUST_CHECK int series_go_on(const char *file, const char *id, struct error *err);

/* Lets a current run that rests after a rung train to its end, because its series is lost. */
MUST_CHECK int series_let_go(struct run *run, struct error *err);
