/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/safetensors.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Input is a checkpoint on a disk or in a bucket: it is refused with a sentence, or every byte that it
 * names is readable. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct safetensors *file;
	const struct model_tensor *tensors;
	struct error err = { 0 };
	uint64_t sum = 0;
	uint32_t count;

	if (safetensors_parse("fuzz", data, size, &file, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	tensors = safetensors_tensors(file, &count);
	for (uint32_t i = 0; i < count; i++)
		for (uint64_t j = 0; j < tensors[i].bytes; j++)
			sum += ((const uint8_t *)tensors[i].data)[j];
	if (sum > 255 * (uint64_t)size)
		abort();
	safetensors_close(file);
	return 0;
}
