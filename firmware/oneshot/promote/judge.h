/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges two trained models on the same records: the shards of the test split in the new model's plan, each
 * in the version that the plan pins, in the plan's order. Each model reads them with its own schema, so that
 * a champion of pictures of another size sees them as it did in its training. Both predict each batch, and
 * the figures of each record are compared (paired.h). The loss of a record is that of its model's
 * configuration, computed in float64 from the predictions (model/learn/losses.h).
 *
 * Blocks: on the stores and on the device. One thread. Memory: 8 bytes for each record, both models.
 */
#pragma once

#include "oneshot/promote/paired.h"
#include "trained/trained.h"

struct judge_wish {
	bool accuracy; /* compare the accuracy; else the loss */
	bool maximize; /* a larger figure is better */
};

struct judge_figures {
	double loss, accuracy; /* accuracy NAN: the loss has none */
};

struct judgement {
	struct paired paired;
	struct judge_figures model, champion; /* means over the records */
	uint64_t left_out;                    /* bad records, as fetch.bad_record allows */
};

/* Both models are loaded (trained_load()), but not open; the caller calls trained_done(). The champion's
 * batches become as large as the model's. Errors: those of trained_open_model(), records_open() and
 * records_also();
 * -EINVAL the models do not do the same task, or have no accuracy to compare; -EDOM a prediction is NaN or
 * infinite; -ENODATA the split has no record; the text says of which model. */
MUST_CHECK int judge(struct trained *model, struct trained *champion, const struct judge_wish *wish,
		     struct judgement *ret_judgement, struct error *err);
