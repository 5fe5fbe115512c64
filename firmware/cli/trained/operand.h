/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operand MODEL of a verb that opens a trained model (trained/trained.h), and the options that say where
 * the model is.
 *
 * The other files of this folder read the options for its records (records_options.h) and print the answers
 * (answer.h, confusion.h, worst.h, predict.h).
 *
 * Order: operand_read -> trained_load -> operand_open_model -> trained_done.
 */
#pragma once

#include "cli/base/arguments.h"
#include "trained/trained.h"

/* How a verb's page describes MODEL. */
#define OPERAND_MODEL                                                                                      \
	"MODEL is a run id, the folder of a run, the model.safetensors or the folder with it, or a "       \
	"checkpoint; a folder and a file are a path or an s3:// or file:/// URL. A run id stands for the " \
	"run's folder below sink.url. A checkpoint ckpt-STEP.safetensors must lie in its run's folder, "   \
	"because run.json there has its configuration."

/* The operand MODEL, for verbs that have no other operand. */
extern const struct verb_operand operand_model[];
/* The option --config. The row of every verb that opens a trained model has this list and where_options. */
extern const struct verb_option operand_options[];

/* Sets name, where, options and given of a zeroed model from the arguments of a verb whose row has MODEL as
 * its first operand, operand_options and where_options. Reads the configuration that says where requests may
 * go: --config, or the box's own. Its sink holds the model with --config, and where MODEL is a run id; else
 * it need not exist. Errors: those of config_load(). */
MUST_CHECK int operand_read(const struct arguments *arguments, struct trained *trained, struct error *err);

/* Does what trained_open_model() does, with a folder of compiled kernels where this user may write, and tells
 * a user who waits what takes time. */
MUST_CHECK int operand_open_model(struct trained *trained, bool training, struct error *err);
