/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Uses the input as the file of an encoder, and as a text for this encoder. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_encoder *encoder;
	struct error err = { 0 };
	float *vector;

	if (text_encoder_load(data, size, &encoder, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	vector = malloc(text_encoder_dims(encoder) * sizeof(*vector));
	if (!vector || text_encode(encoder, (const char *)data, size, vector, &err) < 0)
		abort();
	free(vector);
	text_encoder_free(encoder);
	return 0;
}
