/* SPDX-License-Identifier: Apache-2.0 */
/* Layers for pictures, and features of uint8: see ops.h. */
#include "tests/unit/ops.h"

#define RESCALING(scale, offset) \
	OP("rescaling", ATTRIBUTES(2, FLOAT_ATTRIBUTE("scale", scale), FLOAT_ATTRIBUTE("offset", offset)))
#define OF_PIXELS(op, name, ...) NAMED(op, name, INPUTS_OF(1, "pixels"), ##__VA_ARGS__)
#define CONV(n)                  ATTRIBUTES(2, INT_ATTRIBUTE("filters", n), INTS_ATTRIBUTE("kernel_size", 2, 3, 3))
#define END                      OP("flatten"), DENSE(5), SOFTMAX

static struct config_layer rescaled[] = { DENSE(3), RESCALING(-0.7, 0.3), END };
static struct config_layer rescaled_pixels[] = { OF_PIXELS("rescaling", "r",
							   ATTRIBUTES(2, FLOAT_ATTRIBUTE("scale", 1 / 255.0),
								      FLOAT_ATTRIBUTE("offset", -0.5))),
						 OP("conv2d", CONV(4)), RELU, END };
/* A layer that reads numbers reads pixels, too: small ones, so that softmax keeps its slope. */
static struct config_layer plain_pixels[] = { OF_PIXELS("conv2d", "c", CONV(2)), RESCALING(0.004, 0), END };
static struct config_layer shared_pixels[] = {
	OF_PIXELS("rescaling", "a", ATTRIBUTES(1, FLOAT_ATTRIBUTE("scale", 0.01))),
	OF_PIXELS("rescaling", "b", ATTRIBUTES(1, FLOAT_ATTRIBUTE("scale", -0.003))),
	OP("add", INPUTS_OF(2, "a", "b")), OP("conv2d", CONV(3)), END
};

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET(rescaled, 6, 5, 3),
	NET_WITHIN(2e-5, rescaled_pixels, 6, 5, 3),
	NET_WITHIN(2e-5, plain_pixels, 6, 5, 3),
	NET_WITHIN(2e-5, shared_pixels, 6, 5, 3),
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TESTS,
	};

	for (uint32_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(i * 2654435761u >> 24);
	ops_open("picture", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
