/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the rows of `preprocess` (struct config_preprocess): features that are made of the features of a
 * record. The results are those of Keras's layers StringLookup, IntegerLookup, Hashing, Discretization and
 * CategoryEncoding; an unknown value of a lookup without num_oov_indices, and a number that category_encoding
 * has no place for, are errors. kiln-fetchd's workers compute them for each record, behind the parser, and so
 * does every program that reads records for a trained model.
 *
 * A made feature is a column like any other: int64 of the shape of its input (ragged where the input is), or
 * float32 with a place for each number. Floats are compared with bin_boundaries as float32.
 *
 * Order: preprocess_open -> preprocess_skip* -> preprocess_row* -> preprocess_freep. The vocabularies' tables
 * are made once, and then only read: any number of threads may call preprocess_row().
 */
#pragma once

#include "core/config/config.h"

struct batch_slot;
struct preprocess;

/* *ret_preprocess is NULL where the configuration has no rows. The configuration must outlive it. Errors:
 * -EINVAL a vocabulary has a value twice; -ENOMEM. */
MUST_CHECK int preprocess_open(const struct config *config, struct preprocess **ret_preprocess,
			       struct error *err);
void preprocess_freep(struct preprocess **preprocess); /* for CLEANUP() */

/* Says that nobody reads a made feature, whose number in the configuration is `feature`: its rows are zeros,
 * or have no values. Called before the first preprocess_row(). */
void preprocess_skip(struct preprocess *preprocess, uint32_t feature);

/* Computes all made features of row `row`, whose other features are there. Errors: -EBADMSG with the made
 * feature, the value and what is allowed; the made features are then undefined. */
MUST_CHECK int preprocess_row(const struct preprocess *preprocess, const struct batch_slot *batch,
			      uint32_t row, struct error *err);
