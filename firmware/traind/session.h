/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TensorBoard's HParams page needs to show the trials of a series side by side: event files in logs/,
 * the folder above those of the scalars (curves.h), with the overrides of the trial as its settings
 * (model/formats/tfevents_hparams.h). The group of a trial is SERIES/TRIAL, because the page shows a group as
 * one row. A run that is no trial has none.
 *
 * Event files cannot make a run fail: a file that cannot be written is missing, which the log says. Main
 * thread only.
 */
#pragma once

#include "model/formats/tfevents_hparams.h"

struct train;

/* Writes the beginning, where the run has not done a step yet. */
void session_begin(const struct train *train);
/* Writes the end, before the run gets its state. After the end of a rung the same trial may go on. */
void session_end(const struct train *train, enum tfevents_status status);
