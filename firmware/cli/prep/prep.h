/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of `kiln prep`: reads the inputs and writes a set of shards into a store.
 *
 *     input.c        reads files, folders and objects
 *     texts.c idx.c  read texts, and images in MNIST's format
 *     kinds          vectors.c, tokens.c, images.c: what records are made of (struct prep_kind)
 *     labelled.c     texts in their order, for the two kinds that are made of texts
 *     output.c       names of shards, and the set that is already in the store
 *     dataset.c      the files beside the shards
 *     write.c        shards and manifest.jsonl
 *
 * The main thread owns struct prep. While shards are made, the threads of parallel.h read it and write
 * nothing to it.
 *
 * A crash leaves the object prep.incomplete in the store: it is written before the first object changes and
 * removed after the last. The order of records depends on the seed and the inputs alone, so the next `kiln
 * prep` writes the same shards, and finds those that are there already.
 */
#pragma once

#include "cli/prep/idx.h"
#include "cli/prep/texts.h"
#include "core/base/json.h"
#include "core/config/config.h"
#include "data/example.h"
#include "data/text.h"
#include "data/vocabulary.h"

#define PREP_ENCODER_KEY    "encoder.bin"
#define PREP_DATASET_KEY    "dataset.json"
#define PREP_VOCABULARY_KEY "vocabulary.txt"
#define PREP_COLUMNS        2u
#define PREP_TOKENS_MAX     65536u

struct prep;

/* A kind of records. */
struct prep_kind {
	const char *what; /* for messages */
	/* Prepares all that record() needs; sets `rows` and `classes` of *prep. */
	int (*make)(struct prep *prep, struct error *err);
	/* Gives PREP_COLUMNS features, and the size of a record at most. */
	void (*schema)(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes);
	/* Gives a record's row of each column. The rows may point into `scratch`, of scratch_bytes(). */
	uint64_t (*scratch_bytes)(const struct prep *prep);
	int (*record)(const struct prep *prep, enum texts_split split, uint32_t row, void *scratch,
		      const void *ret_rows[static PREP_COLUMNS], struct error *err);
	void (*class_name)(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES]);
	/* Adds the members of dataset.json that only this kind has. */
	void (*describe)(const struct prep *prep, cJSON *json);
	/* The file of this kind beside dataset.json; NULL: the kind has none. */
	const char *file_key;
	const void *(*file)(const struct prep *prep, uint64_t *ret_bytes);
};

extern const struct prep_kind prep_vectors, prep_tokens, prep_images;

struct prep {
	char **input;
	int inputs;
	const char *config_file, *test_input, *encoder_name;
	struct config_store where;
	uint64_t test_percent, dims, records_per_shard, shard_bytes, seed, threads;
	uint64_t vocabulary_max, ngrams, tokens_max;
	bool tokens, json;

	const struct prep_kind *kind;
	uint32_t rows[TEXTS_SPLITS], classes;

	struct texts texts;
	struct vocabulary *vocabulary;               /* NULL without --tokens */
	uint64_t tokens_most;                        /* tokens of the longest text */
	struct idx_images images[TEXTS_SPLITS];      /* as read from the inputs */
	const struct idx_images *from[TEXTS_SPLITS]; /* the file of images that a split draws from */
	uint32_t *order[TEXTS_SPLITS];               /* indices of a split's images in that file */
	struct text_encoder *encoder;                /* NULL with --encoder exec:PROGRAM */
	float *vectors[TEXTS_SPLITS];                /* rows x dims; NULL: record() encodes */
};
