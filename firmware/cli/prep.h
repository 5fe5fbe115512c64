/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One `kiln prep`: prep.c reads and encodes, prep_write.c writes shards, manifest.jsonl, dataset.json and
 * encoder.bin, prep_output.c knows what lies there already.
 */
#pragma once

#include "cli/texts.h"
#include "core/config.h"
#include "core/manifest.h"
#include "data/text.h"
#include "drivers/store/store.h"

#define PREP_ENCODER_KEY "encoder.bin"
#define PREP_DATASET_KEY "dataset.json"
#define PREP_KEY_BYTES   64u /* of a shard */

struct prep {
	char **input;
	int inputs;
	const char *config_file, *test_input, *encoder_name;
	struct config_store where;
	uint64_t test_percent, dims, records_per_shard, shard_bytes, seed, threads;
	bool json;

	struct texts texts;
	struct text_encoder *encoder; /* NULL with exec: */
	float *vectors[TEXTS_SPLITS]; /* rows x dims; NULL: encoded when its shard is written */
};

MUST_CHECK int prep_write(struct prep *prep, struct error *err);

/* ---- prep_output.c ---- */

extern const char *const prep_split_names[TEXTS_SPLITS];

/* "train-00003-of-00012.tfrecord.gz" */
void prep_shard_key(enum texts_split split, uint64_t number, uint64_t shards,
		    char key[static PREP_KEY_BYTES]);

/* A look at the place before any work: a listing, so that a wrong URL, credential or bucket is told at once.
 * Errors: those of a store; -EEXIST shards lie there that kiln prep has not written, one is named. */
MUST_CHECK int prep_check_output(const struct config_store *where, struct error *err);

/* Remove the shards of an earlier, different set, which would be trained on too. `shards` is what the new one
 * has. Other objects stay. */
MUST_CHECK int prep_remove_old(struct store *store, const uint32_t shards[static TEXTS_SPLITS],
			       struct error *err);

/* Mark the set as not whole before the first of its objects changes, and as whole after the last. begin
 * clears what a kiln prep that was killed left. */
MUST_CHECK int prep_begin_set(struct store *store, struct error *err);
MUST_CHECK int prep_end_set(struct store *store, struct error *err);
