/* SPDX-License-Identifier: Apache-2.0 */
/* VGG (Simonyan and Zisserman, 2014): five blocks of 3x3 convolutions, each with a pool at its end. In
 * PyTorch all layers are numbered, activations and pools too: "features.0". */
#include "model/base/writer.h"

#include <stdio.h>
#include <string.h>

static const struct {
	uint32_t filters, convs16, convs19; /* the number of convolutions in VGG16 and VGG19 */
} blocks[] = { { 64, 2, 2 }, { 128, 2, 2 }, { 256, 3, 4 }, { 512, 3, 4 }, { 512, 3, 4 } };

void base_write_vgg(struct base_writer *writer, const char *name)
{
	const bool is16 = !strcmp(name, "vgg16");
	char layer[BASE_NAME_BYTES], module[BASE_NAME_BYTES];
	uint32_t at = 0;

	for (uint32_t b = 0; b < sizeof(blocks) / sizeof(*blocks); b++) {
		const uint32_t convs = is16 ? blocks[b].convs16 : blocks[b].convs19;

		for (uint32_t c = 1; c <= convs; c++, at += 2) {
			(void)snprintf(layer, sizeof(layer), "block%u_conv%u", b + 1, c);
			(void)snprintf(module, sizeof(module), "features.%u", at);
			base_conv(writer, layer,
				  &(struct base_conv){ .filters = blocks[b].filters,
						       .kernel = 3,
						       .stride = 1,
						       .padding = "same",
						       .bias = true,
						       .activation = "relu",
						       .module = module });
		}
		(void)snprintf(layer, sizeof(layer), "block%u_pool", b + 1);
		base_max_pool(writer, layer, 2, 2);
		at++;
	}
}
