/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of other programs for a base (model/convert.h). The first byte selects a base, the second PyTorch's
 * names or Keras's. Each four bytes after these change one tensor of a file that fits: which (two bytes),
 * what, and how. Either the tensors are refused with a sentence, or they are converted as they were.
 */
#include "model/convert.h"
#include "tests/unit/convert_fixture.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum change { DROP, RENAME, RESHAPE, RERANK, RETYPE, REPEAT, CHANGES };

static const char *const bases[] = { "resnet18", "efficientnet_lite0", "vgg16", "mobilenet_v2" };

static void change(struct fixture *fixture, const uint8_t *bytes)
{
	static const char *const types[] = { "F32", "F16", "BF16", "I32", "U8", "BOOL" };
	const uint32_t chosen = bytes[0] + 256u * bytes[1];
	struct model_tensor *tensor = &fixture->tensor[fixture->count ? chosen % fixture->count : 0];
	char *name = fixture->name[tensor - fixture->tensor];

	switch ((enum change)(bytes[2] % CHANGES)) {
	case DROP:
		*tensor = fixture->tensor[fixture->count - (fixture->count > 0)];
		fixture->count -= fixture->count > 0;
		break;
	case RENAME:
		if (*name && tensor->name == name)
			name[bytes[3] % strlen(name)] ^= 1;
		break;
	case RESHAPE:
		tensor->shape[bytes[3] % CONFIG_SHAPE_MAX] ^= 1;
		break;
	case RERANK:
		tensor->rank = bytes[3] % (CONFIG_SHAPE_MAX + 1);
		break;
	case RETYPE:
		tensor->dtype = types[bytes[3] % (sizeof(types) / sizeof(*types))];
		break;
	case REPEAT:
		if (fixture->count < FIXTURE_TENSORS)
			fixture->tensor[fixture->count++] = *tensor;
		break;
	case CHANGES:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fixture original[4][2];
	struct fixture fixture, *fits;
	struct convert *convert = NULL;
	struct error err = { 0 };
	uint32_t base, torch;

	if (size < 2)
		return 0;
	base = data[0] % 4;
	torch = data[1] % 2;
	fits = &original[base][torch];
	if (!fits->count)
		*fits = fixture_open(bases[base], torch);
	fixture = *fits;
	fixture.name = calloc(FIXTURE_TENSORS, sizeof(*fixture.name));
	if (!fixture.name)
		abort();
	memcpy(fixture.name, fits->name, FIXTURE_TENSORS * sizeof(*fixture.name));
	for (uint32_t i = 0; i < fixture.count; i++)
		fixture.tensor[i].name = fixture.name[i];
	for (size_t at = 2; at + 4 <= size && at < 64; at += 4)
		change(&fixture, data + at);
	if (convert_open(bases[base], NULL, "fuzz", fixture.tensor, fixture.count, &convert, &err) < 0 &&
	    !*err.text)
		abort();
	if (convert && convert_tensors(convert) != fits->count)
		abort();
	convert_close(convert);
	free(fixture.name);
	return 0;
}
