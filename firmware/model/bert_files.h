/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in which Hugging Face keeps an encoder of the kind BERT: config.json, whose size becomes the keys
 * model.bert_*, and the names of the tensors in model.safetensors. Names begin with "bert." in files of
 * networks that have a head; old files call the parameters of LayerNorm gamma and beta.
 *
 * No threads, no state.
 */
#pragma once

#include "core/config/config.h"
#include "model/formats/model_tensor.h"

#define BERT_CONFIG_NAME      "config.json"
#define BERT_CONFIG_BYTES_MAX (1u << 20)
#define BERT_WEIGHTS_NAME     "model.safetensors"
/* The vectors of the types of tokens; a text has type 0. */
#define BERT_TYPES "embeddings.token_type_embeddings.weight"

/* Reads the text of a config.json; `what` is its name in errors. Errors: -EBADMSG it is no JSON, or a member
 * is missing or of another type; -EINVAL what the base bert cannot do: model_type other than bert, hidden_act
 * other than gelu, position_embedding_type other than absolute, pad_token_id other than 0, a decoder, numbers
 * outside the bounds of the keys model.bert_*. */
MUST_CHECK int bert_config_parse(const char *what, const char *text, uint64_t bytes,
				 struct config_bert *ret_bert, struct error *err);
/* Reads config.json in a folder. Errors: those of file_read() and of bert_config_parse(). */
MUST_CHECK int bert_config_read(const char *folder, struct config_bert *ret_bert, struct error *err);
/* Writes the keys for kiln.conf, in one line: "bert_hidden_size = 384; ...". */
#define BERT_KEYS_BYTES 512u
const char *bert_keys(const struct config_bert *bert, char out[static BERT_KEYS_BYTES]);

/* Makes a configuration of bert and the mean of its tokens' vectors, for model_open_base(): of texts of
 * `tokens` ids and of batches of `rows` texts. Errors: those of config_text_load(). */
MUST_CHECK int bert_config_load(const struct config_bert *bert, uint64_t tokens, uint64_t rows,
				struct config *ret_config, struct error *err);

/* Returns the tensor of a file that has this name, or one of the other names for the same; NULL: none. */
const struct model_tensor *bert_tensor(const struct model_tensor *tensors, uint32_t count, const char *name);
/* Returns whether a tensor belongs to no layer of the encoder, but to a pooler or another head. */
bool bert_is_of_head(const char *name);
