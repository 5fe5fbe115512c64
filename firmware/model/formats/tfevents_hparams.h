/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a run for TensorBoard's HParams page, as events of a folder that lies above the folders of
 * the run's scalars: the page takes every scalar below as a metric of this session. Sessions with one group
 * share a row, with the settings of the first one.
 *
 * Sources: tensorboard/plugins/hparams/{plugin_data.proto, metadata.py}, google/protobuf/struct.proto. A
 * reader keeps the first event of a kind, so to write one a second time does no harm.
 */
#pragma once

#include "core/base/json.h"
#include "model/formats/tfevents.h"

enum tfevents_status { TFEVENTS_UNKNOWN = 0, TFEVENTS_SUCCESS = 1, TFEVENTS_FAILURE = 2 };

/* Writes the beginning of a session. `hparams`: an object {name: number, bool or string}; another value is
 * written as its JSON. `start_s`: Unix time. Allocates. */
MUST_CHECK int tfevents_hparams_start(struct tfevents *events, const char *group, const cJSON *hparams,
				      double start_s, struct error *err);
/* Writes the end of a session, at this time. */
MUST_CHECK int tfevents_hparams_end(struct tfevents *events, enum tfevents_status status, struct error *err);
