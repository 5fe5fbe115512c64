/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the folder of a BERT (encode_bert.h). */
#pragma once

#include "core/base/paths.h"
#include "data/tokenizer/tokenizer.h"
#include "drivers/digest/digest.h"
#include "model/convert.h"
#include "model/formats/safetensors.h"

struct bert_folder {
	const char *path; /* borrowed */
	struct config_bert size;
	struct safetensors *file;
	struct convert *convert;
	struct tokenizer *tokenizer;
	uint64_t longest;         /* most tokens of a text */
	bool normalizes;          /* vectors get the length 1 */
	char weights[PATH_BYTES]; /* the file's path */
	char weights_sha256[DIGEST_HEX_BYTES], tokenizer_sha256[DIGEST_HEX_BYTES];
};

/* Reads the folder `path`, which must outlive `ret_folder`. Errors: those of bert_encoder_open(). Give a
 * folder back after an error, too. */
MUST_CHECK int bert_folder_read(const char *path, struct bert_folder *ret_folder, struct error *err);
void bert_folder_done(struct bert_folder *folder);
