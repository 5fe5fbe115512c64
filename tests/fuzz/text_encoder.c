/* SPDX-License-Identifier: Apache-2.0 */
#include "data/crc32c.h"
#include "data/text_file.h"

#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_load(const uint8_t *data, size_t size)
{
	struct text_encoder *encoder;
	struct error err = { 0 };
	float *vector;

	if (text_encoder_load(data, size, &encoder, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	for (uint32_t i = 0; i < text_encoder_classes(encoder); i++)
		if (strlen(text_encoder_class(encoder, i)) >= TEXT_CLASS_BYTES)
			abort();
	vector = malloc(text_encoder_dims(encoder) * sizeof(*vector));
	if (!vector || text_encode(encoder, (const char *)data, size, vector, &err) < 0)
		abort();
	free(vector);
	text_encoder_free(encoder);
}

/* Uses the input as the file of an encoder, and as a text for this encoder; then the same with the CRC that
 * the input has, because no change of the input would pass the check of the CRC. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_header header;
	uint8_t *file;

	try_load(data, size);
	if (size < sizeof(header))
		return 0;
	file = malloc(size);
	if (!file)
		abort();
	memcpy(file, data, size);
	memcpy(&header, file, sizeof(header));
	header.crc = crc32c(0, file + 16, size - 16);
	memcpy(file, &header, sizeof(header));
	try_load(file, size);
	free(file);
	return 0;
}
