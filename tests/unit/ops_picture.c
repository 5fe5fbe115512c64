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

/* Pixels as numbers of 0 .. 1: an error of a coordinate counts less. */
#define UNIT_PIXELS OF_PIXELS("rescaling", "unit", ATTRIBUTES(1, FLOAT_ATTRIBUTE("scale", 1 / 255.0)))
#define UNIT        RESCALING(1 / 255.0, 0)
#define SAMPLED(fill, interpolation) \
	TEXT_ATTRIBUTE("fill_mode", fill), TEXT_ATTRIBUTE("interpolation", interpolation)
#define CENTRE(op, h, w) \
	OF_PIXELS(op, "crop", ATTRIBUTES(2, INT_ATTRIBUTE("height", h), INT_ATTRIBUTE("width", w)))
#define FACTOR(f)  FLOAT_ATTRIBUTE("factor", f)
#define BOTH(h, w) FLOAT_ATTRIBUTE("height_factor", h), FLOAT_ATTRIBUTE("width_factor", w)

static struct config_layer flip[] = { OF_PIXELS("random_flip", "f"), UNIT, END };
static struct config_layer flip_lines[] = {
	OF_PIXELS("random_flip", "f", ATTRIBUTES(1, TEXT_ATTRIBUTE("mode", "vertical"))), UNIT, END
};
static struct config_layer flip_columns[] = {
	OF_PIXELS("random_flip", "f", ATTRIBUTES(1, TEXT_ATTRIBUTE("mode", "horizontal"))), UNIT, END
};
static struct config_layer rotation[] = { UNIT_PIXELS,
					  NAMED("random_rotation", "r", ATTRIBUTES(1, FACTOR(0.3))), END };
static struct config_layer rotation_filled[] = { UNIT_PIXELS,
						 NAMED("random_rotation", "r",
						       ATTRIBUTES(4, FACTOR(-0.5),
								  SAMPLED("constant", "bilinear"),
								  FLOAT_ATTRIBUTE("fill_value", 0.4))),
						 END };
static struct config_layer rotation_whole[] = { UNIT_PIXELS,
						NAMED("random_rotation", "r",
						      ATTRIBUTES(3, FLOATS_ATTRIBUTE("factor", 2, 0.4, 0.1),
								 SAMPLED("wrap", "nearest"))),
						END };
static struct config_layer zoom[] = {
	UNIT_PIXELS, NAMED("random_zoom", "z", ATTRIBUTES(1, FLOAT_ATTRIBUTE("height_factor", 0.9))), END
};
static struct config_layer zoom_both[] = {
	UNIT_PIXELS, NAMED("random_zoom", "z", ATTRIBUTES(4, BOTH(0.5, 0.8), SAMPLED("nearest", "bilinear"))),
	END
};
static struct config_layer translation[] = {
	UNIT_PIXELS,
	NAMED("random_translation", "t", ATTRIBUTES(4, BOTH(1, 0.9), SAMPLED("wrap", "bilinear"))), END
};
static struct config_layer translation_filled[] = {
	UNIT_PIXELS,
	NAMED("random_translation", "t", ATTRIBUTES(4, BOTH(0.5, 0.4), SAMPLED("constant", "nearest"))), END
};
static struct config_layer shear[] = { UNIT_PIXELS,
				       NAMED("random_shear", "s",
					     ATTRIBUTES(2, FLOAT_ATTRIBUTE("x_factor", 0.7),
							FLOAT_ATTRIBUTE("y_factor", 0.4))),
				       END };
static struct config_layer one_map[] = { UNIT_PIXELS,
					 NAMED("random_flip", "f"),
					 OP("random_rotation", ATTRIBUTES(1, FACTOR(0.2))),
					 OP("random_zoom",
					    ATTRIBUTES(1, FLOAT_ATTRIBUTE("height_factor", 0.4))),
					 OP("random_flip"),
					 OP("random_shear", ATTRIBUTES(1, FLOAT_ATTRIBUTE("x_factor", 0.2))),
					 OP("random_translation", ATTRIBUTES(2, BOTH(0.2, 0.3))),
					 END };
/* The fills differ, and so do the readers. */
static struct config_layer two_maps[] = {
	UNIT_PIXELS,
	NAMED("random_rotation", "r", ATTRIBUTES(3, FACTOR(0.2), SAMPLED("constant", "bilinear"))),
	OP("random_flip"),
	OP("random_zoom",
	   ATTRIBUTES(3, FLOAT_ATTRIBUTE("height_factor", 0.4), SAMPLED("nearest", "bilinear"))),
	OP("random_flip", ATTRIBUTES(1, TEXT_ATTRIBUTE("mode", "vertical"))),
	END
};
static struct config_layer read_twice[] = { UNIT_PIXELS, NAMED("random_flip", "f"),
					    OP("random_rotation", ATTRIBUTES(1, FACTOR(0.2))),
					    OP("add", INPUTS_OF(2, "f", "random_rotation")), END };
static struct config_layer contrast[] = { OF_PIXELS("random_contrast", "c", ATTRIBUTES(1, FACTOR(0.9))), UNIT,
					  END };
static struct config_layer contrast_unit[] = {
	OF_PIXELS("rescaling", "r", ATTRIBUTES(1, FLOAT_ATTRIBUTE("scale", 1 / 255.0))),
	OP("random_contrast",
	   ATTRIBUTES(2, FLOATS_ATTRIBUTE("factor", 2, 0.9, 0.2), INTS_ATTRIBUTE("value_range", 2, 0, 1))),
	END
};
static struct config_layer brightness[] = { OF_PIXELS("random_brightness", "b", ATTRIBUTES(1, FACTOR(0.6))),
					    UNIT, END };
static struct config_layer brightness_range_of[] = {
	OF_PIXELS("random_brightness", "b",
		  ATTRIBUTES(2, FLOATS_ATTRIBUTE("factor", 2, 0.1, 0.8),
			     FLOATS_ATTRIBUTE("value_range", 2, 20, 220))),
	UNIT, END
};
static struct config_layer crop_random[] = {
	CENTRE("random_crop", 4, 2),
	OP("random_crop", ATTRIBUTES(2, INT_ATTRIBUTE("height", 1), INT_ATTRIBUTE("width", 2))), UNIT, END
};
static struct config_layer crop_centre[] = { CENTRE("center_crop", 3, 4), UNIT, END };
static struct config_layer then_normalization[] = { OF_PIXELS("random_flip", "f"),
						    OP("random_contrast", ATTRIBUTES(1, FACTOR(0.3))),
						    OP("normalization"), RESCALING(0.002, 0), END };
/* As before a frozen base: what is not trained reads pictures that change in training. */
static struct config_layer before_frozen[] = {
	OF_PIXELS("random_flip", "f"),
	UNIT,
	OP("conv2d", ATTRIBUTES(3, INT_ATTRIBUTE("filters", 4), INTS_ATTRIBUTE("kernel_size", 2, 3, 3),
				BOOL_ATTRIBUTE("trainable", 0))),
	OP("batch_norm", ATTRIBUTES(1, BOOL_ATTRIBUTE("trainable", 0))),
	RELU,
	END
};

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET(rescaled, 6, 5, 3),
	NET_WITHIN(2e-5, rescaled_pixels, 6, 5, 3),
	NET_WITHIN(2e-5, plain_pixels, 6, 5, 3),
	NET_WITHIN(2e-5, shared_pixels, 6, 5, 3),
	NET_WITHIN(2e-5, flip, 6, 5, 3),
	NET_WITHIN(2e-5, flip_lines, 6, 5, 3),
	NET_WITHIN(2e-5, flip_columns, 6, 5, 3),
	NET_WITHIN(2e-5, rotation, 6, 5, 3),
	NET_WITHIN(2e-5, rotation_filled, 6, 5, 3),
	NET_WITHIN(2e-5, rotation_whole, 6, 5, 3),
	NET_WITHIN(2e-5, zoom, 6, 5, 3),
	NET_WITHIN(2e-5, zoom_both, 6, 5, 3),
	NET_WITHIN(2e-5, translation, 6, 5, 3),
	NET_WITHIN(2e-5, translation_filled, 6, 5, 3),
	NET_WITHIN(2e-5, shear, 6, 5, 3),
	NET_WITHIN(2e-5, one_map, 6, 5, 3),
	NET_WITHIN(2e-5, two_maps, 6, 5, 3),
	NET_WITHIN(2e-5, read_twice, 6, 5, 3),
	/* Numbers up to 255 of both signs are added: each is rounded by up to 2^-17. */
	NET_WITHIN(4e-5, contrast, 6, 5, 3),
	NET_WITHIN(2e-5, contrast_unit, 6, 5, 3),
	NET_WITHIN(2e-5, brightness, 6, 5, 3),
	NET_WITHIN(2e-5, brightness_range_of, 6, 5, 3),
	NET_WITHIN(2e-5, crop_random, 6, 5, 3),
	NET_WITHIN(2e-5, crop_centre, 6, 5, 3),
	NET_WITHIN(2e-5, then_normalization, 6, 5, 3),
	NET_WITHIN(2e-5, before_frozen, 6, 5, 3),
};

/* ---- Maps become one, and nothing remains outside training ---- */

static uint32_t launches_of(const struct config_layer *layers, bool training, const char *kernel)
{
	uint32_t count = 0;
	struct config config;
	struct harness h;
	size_t n = 0;

	while (nets[n].layers != layers)
		n++;
	config = net_config(n);
	harness_open(&h, gpu, &config, true);
	for (uint32_t i = 0; i + 1 < h.graph.nodes; i++)
		op_emit_forward(&h.plan, &h.graph.node[i], training);
	for (uint32_t i = 0; i < h.plan.launches; i++)
		count += !strcmp(h.plan.launch[i].kernel, kernel);
	harness_close(&h);
	return count;
}

static void test_neighbouring_maps_are_one(void **state)
{
	(void)state;
	assert_int_equal(launches_of(one_map, true, "warp"), 1);
	assert_int_equal(launches_of(one_map, true, "warp_matrix"), 6);
	assert_int_equal(launches_of(two_maps, true, "warp"), 2);
	assert_int_equal(launches_of(two_maps, true, "warp_matrix"), 4);
	assert_int_equal(launches_of(read_twice, true, "warp"), 2);
}

static void test_nothing_outside_training(void **state)
{
	(void)state;
	assert_int_equal(launches_of(one_map, false, "warp"), 0);
	assert_int_equal(launches_of(one_map, false, "warp_matrix"), 0);
	assert_int_equal(launches_of(contrast, true, "adjust"), 1);
	assert_int_equal(launches_of(contrast, false, "adjust"), 0);
	assert_int_equal(launches_of(brightness, false, "adjust"), 0);
	assert_int_equal(launches_of(crop_random, true, "crop_places"), 1);
	assert_int_equal(launches_of(crop_random, false, "crop_places"), 0);
	assert_int_equal(launches_of(crop_random, false, "crop"), 2);
	assert_int_equal(launches_of(before_frozen, true, "warp"), 1);
	assert_int_equal(launches_of(before_frozen, false, "warp"), 0);
}

/* ---- Mistakes ---- */

static struct config_layer learnt_before[] = { OF_PIXELS("conv2d", "c", CONV(3)), OP("random_flip"), END };
static struct config_layer no_picture[] = {
	OP("flatten", INPUTS_OF(1, "pixels")),
	OP("random_zoom", ATTRIBUTES(1, FLOAT_ATTRIBUTE("height_factor", 0.2))), DENSE(5), SOFTMAX
};
static struct config_layer large_crop[] = { CENTRE("center_crop", 6, 8), END };
static struct config_layer three_factors[] = {
	OF_PIXELS("random_rotation", "r", ATTRIBUTES(1, FLOATS_ATTRIBUTE("factor", 3, 0.1, 0.2, 0.3))), END
};
static struct config_layer large_factor[] = { OF_PIXELS("random_contrast", "c", ATTRIBUTES(1, FACTOR(1.5))),
					      END };
static struct config_layer one_value[] = {
	OF_PIXELS("random_brightness", "b", ATTRIBUTES(2, FACTOR(0.5), FLOAT_ATTRIBUTE("value_range", 255))),
	END
};
static struct config_layer no_range[] = { OF_PIXELS("random_brightness", "b",
						    ATTRIBUTES(2, FACTOR(0.5),
							       INTS_ATTRIBUTE("value_range", 2, 7, 7))),
					  END };
static struct config_layer factor_missing[] = { OF_PIXELS("random_rotation", "r"), END };

#define REFUSAL(of, text)                                                                   \
	{                                                                                   \
		.layers = (of), .count = sizeof(of) / sizeof(*(of)), .said = "k.conf:" text \
	}

static void test_mistakes(void **state)
{
	static const struct {
		struct config_layer *layers;
		uint32_t count;
		const char *said;
	} cases[] = {
		REFUSAL(learnt_before,
			"6: model.layers.inputs: layer 'random_flip' (random_flip): found the input 'c', "
			"which depends on weights that training changes, allowed: a feature or a layer "
			"that depends on none, because this layer passes no gradient"),
		REFUSAL(no_picture,
			"6: model.layers.inputs: layer 'random_zoom' (random_zoom): found an input of shape "
			"[126], allowed: [height, width, channels]"),
		REFUSAL(large_crop,
			"6: model.layers.inputs: layer 'crop' (center_crop): found height 6 and width 8, "
			"allowed: at most 6 and 7 of the input"),
		REFUSAL(three_factors,
			"7: model.layers.factor: found [ 0.1, 0.2, 0.3 ], allowed: a number, or [ ] of 2 "
			"numbers, each -1 <= x <= 1"),
		REFUSAL(large_factor,
			"7: model.layers.factor: found 1.5, allowed: a number, or [ ] of 2 numbers, each "
			"0 <= x <= 1"),
		REFUSAL(one_value,
			"7: model.layers.value_range: found 255, allowed: [ ] of 2 numbers, each -1e+30 <= x "
			"<= 1e+30"),
		REFUSAL(no_range,
			"6: model.layers.inputs: layer 'b' (random_brightness): found value_range [ 7, 7 ], "
			"allowed: two different numbers"),
		REFUSAL(factor_missing,
			"6: model.layers.factor: found nothing, allowed: a number, or [ ] of 2 numbers, "
			"each -1 <= x <= 1"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct config config = net_config(0);
		struct graph graph;
		struct error err = { 0 };

		config.model.layers = cases[i].count;
		config.model.layer = cases[i].layers;
		assert_int_equal(graph_build(&config, true, &graph, &err), -EINVAL);
		if (strncmp(err.text, cases[i].said, strlen(cases[i].said)) != 0)
			fail_msg("found \"%s\", not \"%s\"", err.text, cases[i].said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TESTS,
		cmocka_unit_test(test_neighbouring_maps_are_one),
		cmocka_unit_test(test_nothing_outside_training),
		cmocka_unit_test(test_mistakes),
	};

	for (uint32_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(i * 2654435761u >> 24);
	ops_open("picture", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
