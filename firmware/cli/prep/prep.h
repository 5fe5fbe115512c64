/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of `kiln prep`: reads the inputs, and writes a set of shards to a store.
 *
 *     input.c        reads files, folders and objects
 *     texts.h idx.c  read texts, and images in the format of MNIST
 *     pictures.h     finds, checks and reads pictures in class folders
 *     kinds          vectors.c, tokens.c, images.c, pictures.c, ../table/kind.c: what a record contains
 *                    (struct prep_kind)
 *     encode.h encode_bert.h   vectors by a program, and by a pretrained network
 *     labelled.c     orders texts, for the kinds that are made from texts
 *     output.c       names of shards, and removal of those of an earlier set
 *     set.c          the set that is already in the store: refuse it, replace it, add to it
 *     dataset.c      writes the files beside the shards
 *     write.c        writes the shards and manifest.jsonl
 *
 * The main thread owns struct prep. While shards are made, the threads of parallel.h only read struct prep.
 *
 * A crash leaves the object prep.incomplete in the store: it is written before the first object changes, and
 * removed after the last object is written. The order of records depends only on the seed and the inputs. So
 * the next `kiln prep` makes the same shards, and skips those that are already in the store.
 */
#pragma once

#include "cli/prep/idx.h"
#include "cli/prep/pictures.h"
#include "cli/prep/texts.h"
#include "core/base/json.h"
#include "core/config/config.h"
#include "data/example.h"
#include "data/text.h"
#include "data/tokenizer/tokenizer.h"
#include "data/vocabulary.h"

#define PREP_ENCODER_KEY    "encoder.bin"
#define PREP_VOCABULARY_KEY "vocabulary.txt"
#define PREP_TOKENIZER_KEY  "tokenizer.json"
#define PREP_COLUMNS_MAX    EXAMPLE_FEATURES_MAX
#define PREP_TOKENS_MAX     65536u
#define PREP_SEED           44u /* seed of the shuffle where --seed is not given */

#define PREP_SET_BYTES 9u /* size of the id of a set, with the NUL */

/* What `kiln prep` does with a set that is in the output already: set.h. */
enum prep_mode { PREP_NEW, PREP_REPLACE, PREP_APPEND };

/* The set in the output, before this kiln prep. */
struct prep_there {
	bool marked;     /* there is a file that kiln prep writes */
	bool incomplete; /* a kiln prep did not end ... */
	bool appending;  /* ... and was adding a set */
	uint64_t manifest_bytes;
	cJSON *dataset; /* dataset.json; NULL = none that can be read */
};

struct bert_encoder;
struct gpu;
struct prep;
struct table;

/* A kind of records, such as images. */
struct prep_kind {
	const char *what;    /* name of the kind for messages */
	const char *feature; /* name of its first feature */
	/* Prepares everything that record() needs; sets prep->rows and prep->classes. */
	int (*make)(struct prep *prep, struct error *err);
	/* Sets the schema, which has at most PREP_COLUMNS_MAX features, and the usual size of a record in
	 * bytes. */
	void (*schema)(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes);
	/* NULL: all records have about the same size. Returns the size of a record in bytes, nearly. */
	uint64_t (*row_bytes)(const struct prep *prep, enum texts_split split, uint32_t row);
	/* record() sets ret_rows to one row for each column. The rows may point into `scratch`, which has
	 * scratch_bytes() bytes, zeroed before the first record of a thread. scratch_done(), or NULL, frees
	 * what `scratch` points to. */
	uint64_t (*scratch_bytes)(const struct prep *prep);
	int (*record)(const struct prep *prep, enum texts_split split, uint32_t row, void *scratch,
		      const void *ret_rows[static PREP_COLUMNS_MAX], struct error *err);
	void (*scratch_done)(void *scratch);
	void (*class_name)(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES]);
	/* Adds the members of dataset.json that only this kind has. */
	void (*describe)(const struct prep *prep, cJSON *json);
	/* Key of the extra file that this kind writes beside dataset.json; NULL: no extra file. */
	const char *file_key;
	const void *(*file)(const struct prep *prep, uint64_t *ret_bytes);
	/* Adds to the summary what only this kind has: to `json`, or prints it where `json` is NULL. NULL:
	 * nothing. */
	void (*summary)(const struct prep *prep, cJSON *json);
	bool plain;     /* shards are not compressed */
	bool ungrouped; /* the rows are no texts and have no groups, so a shard may begin with each of them */
	/* Where the size of a shard is not given: a shard ends before it has more bytes, and the training
	 * split gets at least so many shards; 0 = no such rule. */
	uint64_t shard_bytes, shards_least;
};

extern const struct prep_kind prep_vectors, prep_tokens, prep_ids, prep_images, prep_pictures;

struct prep {
	char **input;
	int inputs;
	const char *config_file, *test_input, *encoder_name, *tokenizer_name;
	const struct config_source *configured; /* the source of --config; NULL = not given */
	struct config_store where;
	uint64_t test_percent, dims, shard_bytes, seed, threads;
	uint64_t records_per_shard; /* 0 = not given */
	uint64_t vocabulary_max, ngrams, tokens_max, group;
	bool tokens, encoder_given, dims_given, json;
	enum prep_mode mode;
	struct prep_there there;
	char id[PREP_SET_BYTES]; /* id of the set that the records belong to, see set.h */
	int lock;                /* lock of the output folder; -1 = the output is in a store */

	const struct prep_kind *kind;
	uint32_t rows[TEXTS_SPLITS], classes;

	struct texts texts;
	struct vocabulary *vocabulary;               /* for prep_tokens; otherwise NULL */
	struct tokenizer *tokenizer;                 /* for prep_ids; otherwise NULL */
	uint64_t tokens_most;                        /* tokens of the longest text */
	struct idx_images images[TEXTS_SPLITS];      /* as read from the inputs */
	const struct idx_images *from[TEXTS_SPLITS]; /* the element of images[] that a split uses */
	uint32_t *order[TEXTS_SPLITS];               /* indices of the split's images in from[split] */
	struct pictures pictures;
	uint64_t size;                /* shorter side of new pictures in pixels; 0: none are made */
	bool raw;                     /* write their pixels */
	bool skip_bad;                /* leave out files that are no pictures */
	const char *fit;              /* of --raw, as in the schema: "stretch", "crop", "pad" */
	struct table *table;          /* of --label and so on; NULL: the input is no table */
	struct text_encoder *encoder; /* NULL with --encoder exec:PROGRAM or bert:DIR */
	struct bert_encoder *bert;    /* with --encoder bert:DIR; otherwise NULL */
	struct gpu *gpu;              /* the device, while vectors are computed */
	float *vectors[TEXTS_SPLITS]; /* rows x dims numbers; NULL: record() encodes each text */
};
