/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One `kiln prep`: prep.c reads, prep_{vectors,tokens,images}.c say what records are made of, prep_write.c
 * writes shards, manifest.jsonl, dataset.json and what stands beside it, prep_output.c knows what lies there
 * already.
 */
#pragma once

#include "cli/prep/idx.h"
#include "cli/prep/texts.h"
#include "core/base/json.h"
#include "core/config/config.h"
#include "core/run/manifest.h"
#include "data/example.h"
#include "data/text.h"
#include "data/vocabulary.h"
#include "drivers/store/store.h"

#define PREP_ENCODER_KEY    "encoder.bin"
#define PREP_DATASET_KEY    "dataset.json"
#define PREP_VOCABULARY_KEY "vocabulary.txt"
#define PREP_KEY_BYTES      64u /* of a shard */
#define PREP_COLUMNS        2u
#define PREP_TOKENS_MAX     65536u

struct prep;

/* What records are made of. */
struct prep_kind {
	const char *what; /* for people */
	/* Everything that records need, and rows and classes of *prep. */
	int (*make)(struct prep *prep, struct error *err);
	/* PREP_COLUMNS features; ret_bytes: what a record takes at most. */
	void (*schema)(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes);
	/* One record's row of each column; `scratch` may hold what they point to. */
	uint64_t (*scratch_bytes)(const struct prep *prep);
	int (*record)(const struct prep *prep, enum texts_split split, uint32_t row, void *scratch,
		      const void *ret_rows[static PREP_COLUMNS], struct error *err);
	void (*class_name)(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES]);
	/* Members of dataset.json that only this kind has. */
	void (*describe)(const struct prep *prep, cJSON *json);
	/* The file beside dataset.json, or NULL: it needs none. */
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
	uint32_t given; /* options, a bit each */

	const struct prep_kind *kind;
	uint32_t rows[TEXTS_SPLITS], classes;

	struct texts texts;
	struct vocabulary *vocabulary;               /* --tokens */
	uint64_t tokens_most;                        /* of a text */
	struct idx_images images[TEXTS_SPLITS];      /* as read */
	const struct idx_images *from[TEXTS_SPLITS]; /* where a split's images are, */
	uint32_t *order[TEXTS_SPLITS];               /* and which */
	struct text_encoder *encoder;                /* NULL with exec: */
	float *vectors[TEXTS_SPLITS]; /* rows x dims; NULL: encoded when its shard is written */
};

MUST_CHECK int prep_write(struct prep *prep, struct error *err);

/* ---- labelled.c ---- */

/* Texts in their order, the test split held out: for the make() of kinds of texts. */
MUST_CHECK int prep_order_texts(struct prep *prep, struct error *err);
/* Their class names, and a label as a row of one column, one-hot, in `scratch`. */
void prep_label_name(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES]);
const int64_t *prep_one_hot(const struct prep *prep, uint32_t label, int64_t *scratch);

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
