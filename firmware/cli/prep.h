/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One `kiln prep`: prep.c reads and encodes, prep_write.c writes shards, manifest.jsonl, dataset.json and
 * encoder.bin.
 */
#pragma once

#include "cli/texts.h"
#include "core/config.h"
#include "data/text.h"
#include "drivers/store/store.h"

#define PREP_ENCODER_KEY  "encoder.bin"
#define PREP_DATASET_KEY  "dataset.json"
#define PREP_MANIFEST_KEY "manifest.jsonl"

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
