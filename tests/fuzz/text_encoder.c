/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As an encoder's file, and as a text for the encoder that it makes. */
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
