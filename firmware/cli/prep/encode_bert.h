/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes texts with a pretrained BERT, on a device: --encoder bert:DIR. DIR is a folder of Hugging Face or
 * of sentence-transformers:
 *
 *     config.json                        the size of the network (model/bert_files.h)
 *     model.safetensors                  its weights
 *     tokenizer.json or vocab.txt        its tokenizer; id 0 is [PAD] or <pad>
 *     sentence_bert_config.json          max_seq_length, the most tokens of a text
 *     tokenizer_config.json              model_max_length, where max_seq_length is missing
 *     modules.json, 1_Pooling/           whether vectors get the length 1
 *     config_sentence_transformers.json  may ask for no prompt
 *
 * The last four files may be missing: then a text has at most as many tokens as the network has positions,
 * and vectors keep their length.
 *
 * A text's vector is the mean of the vectors of its tokens. A longer text is cut. Texts are computed in
 * batches of about the same number of tokens, fewer where the device has too little memory: a text belongs to
 * a width by its own number of tokens, so its vector does not depend on the other texts. Order and bits are
 * the same in each call on a device.
 *
 *     encode_bert_folder.c   reads the folder
 *     encode_bert.c          computes
 *
 * Order: bert_encoder_open -> (bert_encoder_run)* -> bert_encoder_closep. One thread.
 */
#pragma once

#include "cli/prep/encode.h"
#include "core/base/json.h"

#include <stdbool.h>

#define ENCODE_BERT "bert:"

struct bert_encoder;
struct gpu;

/* Returns whether an encoder's name is "bert:DIR"; NULL is none. */
bool bert_encoder_is(const char *name);
/* Opens the encoder "bert:DIR". Errors: those of the files; -EINVAL what the folder asks for and Kiln cannot
 * do, by file and name. */
MUST_CHECK int bert_encoder_open(const char *name, struct bert_encoder **ret_encoder, struct error *err);
void bert_encoder_closep(struct bert_encoder **encoder); /* for CLEANUP() */

/* Returns the numbers of a vector. */
uint32_t bert_encoder_dims(const struct bert_encoder *encoder);
/* Adds what tells this encoder from others to the member "encoder" of dataset.json. */
void bert_encoder_describe(const struct bert_encoder *encoder, cJSON *json);
/* Checks that dataset.json was made with this encoder. Errors: -EINVAL it was not. */
MUST_CHECK int bert_encoder_check(const struct bert_encoder *encoder, const cJSON *dataset,
				  struct error *err);
/* Returns the name of the BERT that dataset.json was made with; NULL: it was not made with one. */
const char *bert_encoder_of(const cJSON *dataset);

/* Computes the vectors of texts: `vectors` is memory for rows x dims numbers. Prints progress where there is
 * more than one batch, and how many texts were cut. Blocks. Errors: -ENOMEM; those of the device; -EINVAL a
 * vector with a number that is not finite, by the text's number. */
MUST_CHECK int bert_encoder_run(struct bert_encoder *encoder, struct gpu *gpu,
				const struct encode_text *texts, uint32_t rows, float *vectors,
				struct error *err);
