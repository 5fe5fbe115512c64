/* SPDX-License-Identifier: Apache-2.0 */
/* The tokenizer that lies beside the shards of a set, and beside a model that was trained on them. */
#pragma once

#include "core/base/json.h"
#include "data/tokenizer/tokenizer.h"

/* Makes the tokenizer of a file's bytes, whose SHA-256 has to be the one in dataset.json. Errors: -EBADMSG it
 * is another one; those of dataset.json and of tokenizer_parse(). */
MUST_CHECK int set_tokenizer_parse(const cJSON *dataset, const char *file, uint64_t bytes,
				   struct tokenizer **ret_tokenizer, struct error *err);
