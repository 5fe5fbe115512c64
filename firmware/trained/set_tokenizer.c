/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/set_tokenizer.h"

#include "core/run/dataset.h"
#include "drivers/digest/digest.h"

#include <errno.h>
#include <string.h>

int set_tokenizer_parse(const cJSON *dataset, const char *file, uint64_t bytes,
			struct tokenizer **ret_tokenizer, struct error *err)
{
	const char *expected;
	char id[DIGEST_HEX_BYTES];
	int r = json_get_string(DATASET_NAME, json_member(dataset, "tokenizer"), "id", &expected, err);

	if (r < 0)
		return r;
	digest_sha256(file, bytes, id);
	if (strcmp(id, expected) != 0)
		return error_set(err, -EBADMSG, "found SHA-256 %.12s..., expected %.12s... of " DATASET_NAME,
				 id, expected);
	return tokenizer_parse(file, bytes, ret_tokenizer, err);
}
