/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of other programs for a base: names, layouts, what is left out, what is refused. Numbers against
 * PyTorch's are compared by tests/interop. */
#include "model/convert.h"
#include "model/build.h"
#include "model/weights.h"
#include "tests/reference.h"
#include "tests/unit/convert_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

static char path[] = "/tmp/kiln-convert-XXXXXX";

static void refused(const char *base, const struct fixture *fixture, int code, const char *text)
{
	struct convert *convert = NULL;
	struct error err = { 0 };
	int r = convert_open(base, NULL, "f", fixture->tensor, fixture->count, &convert, &err);

	if (r == 0)
		r = convert_write(convert, path, &err);
	convert_close(convert);
	assert_int_equal(r, code);
	if (!strstr(err.text, text))
		fail_msg("found \"%s\", expected \"%s\"", err.text, text);
}

static struct model_tensor *named(struct fixture *fixture, const char *name)
{
	for (uint32_t i = 0; i < fixture->count; i++)
		if (!strcmp(fixture->tensor[i].name, name))
			return &fixture->tensor[i];
	fail_msg("no tensor %s", name);
	return NULL;
}

/* Number i of each tensor of the fixture is i. */
static float number(const struct safetensors *file, const char *name, uint64_t i)
{
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(file, &count);

	for (uint32_t t = 0; t < count; t++)
		if (!strcmp(tensors[t].name, name))
			return ((const float *)tensors[t].data)[i];
	fail_msg("no tensor %s", name);
	return 0;
}

static struct safetensors *converted(const char *base, const struct fixture *fixture, const char *scaling)
{
	struct convert *convert = NULL;
	struct safetensors *file = NULL;
	struct error err = { 0 };

	if (convert_open(base, NULL, "f", fixture->tensor, fixture->count, &convert, &err) < 0 ||
	    convert_write(convert, path, &err) < 0 || safetensors_open(path, &file, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(safetensors_value(file, "format"), CONVERT_FORMAT);
	assert_string_equal(safetensors_value(file, "base"), base);
	assert_string_equal(safetensors_value(file, "base_scaling"), scaling);
	convert_close(convert);
	return file;
}

/* PyTorch's [out, in, h, w] becomes [h, w, in, out]; depthwise, [in, 1, h, w] becomes [h, w, in, 1]. */
static void test_layouts(void **state)
{
	struct fixture fixture = fixture_open("efficientnet_lite0", true);
	struct safetensors *file = converted("efficientnet_lite0", &fixture, "lite");

	(void)state;
	/* stem_conv is [3, 3, 3, 32]: y 1, x 2, in 2, out 5 */
	assert_true(number(file, "stem_conv/kernel", ((1 * 3 + 2) * 3 + 2) * 32 + 5) ==
		    ((5 * 3 + 2) * 3 + 1) * 3 + 2);
	/* block1a_dwconv is [3, 3, 32, 1]: y 2, x 1, in 7 */
	assert_true(number(file, "block1a_dwconv/kernel", (2 * 3 + 1) * 32 + 7) == (7 * 3 + 2) * 3 + 1);
	assert_true(number(file, "block1a_bn/moving_variance", 9) == 9);
	safetensors_close(file);
	fixture_close(&fixture);
}

static void test_keras(void **state)
{
	struct fixture fixture = fixture_open("efficientnet_lite0", false);
	struct safetensors *file = converted("efficientnet_lite0", &fixture, "lite");

	(void)state;
	assert_true(number(file, "stem_conv/kernel", 100) == 100);
	safetensors_close(file);
	fixture_close(&fixture);
}

/* A classifier and PyTorch's counters are left out; torchvision's ResNets have torch's scaling. */
static void test_left_out(void **state)
{
	struct fixture fixture = fixture_open("resnet18", true);
	struct convert *convert = NULL;
	struct error err = { 0 };

	(void)state;
	fixture_add(&fixture, "fc.weight", "F32", 2, 1000, 512);
	fixture_add(&fixture, "fc.bias", "F32", 1, 1000, 1);
	fixture_add(&fixture, "bn1.num_batches_tracked", "I64", 1, 1, 1);
	assert_int_equal(convert_open("resnet18", NULL, "f", fixture.tensor, fixture.count, &convert, &err),
			 0);
	assert_int_equal(convert_left_out(convert), 2);
	assert_int_equal(convert_tensors(convert), fixture.count - 3);
	assert_true(convert_is_torch(convert));
	convert_close(convert);
	fixture_close(&fixture);
}

static void test_refused(void **state)
{
	struct fixture fixture = fixture_open("resnet18", true);
	struct model_tensor *tensor = named(&fixture, "layer3.0.downsample.0.weight"), kept = *tensor;
	float *numbers = (float *)(uintptr_t)fixture.tensor[0].data;

	(void)state;
	refused("resnet81", &fixture, -EINVAL, "found the base \"resnet81\", allowed: vgg16, ");
	refused("resnet34", &fixture, -EINVAL,
		"f: found no tensor 'layer1.2.conv1.weight', which 'layer1.2.conv1/kernel' of resnet34 "
		"needs");
	tensor->name = "layer3.0.downsample.2.weight";
	refused("resnet18", &fixture, -EINVAL,
		"f: found no tensor 'layer3.0.downsample.0.weight', which 'layer3.0.downsample.0/kernel' of "
		"resnet18 "
		"needs");
	*tensor = kept;
	tensor->shape[0] = 128;
	tensor->shape[1] = 256;
	refused("resnet18", &fixture, -EINVAL,
		"f: layer3.0.downsample.0.weight: found the shape [128, 256, 1, 1], allowed for "
		"'layer3.0.downsample.0/kernel' of resnet18: [256, 128, 1, 1]");
	*tensor = kept;
	tensor->dtype = "I32";
	refused("resnet18", &fixture, -EBADMSG,
		"f: layer3.0.downsample.0.weight: found I32, allowed: F16, BF16, F32, F64");
	*tensor = kept;
	numbers[0] = INFINITY;
	refused("resnet18", &fixture, -EBADMSG, "found inf in element 0, allowed: finite numbers of float32");
	numbers[0] = 0;
	fixture_add(&fixture, "layer5.0.conv1.weight", "F32", 1, 4, 1);
	refused("resnet18", &fixture, -EINVAL,
		"f: found the tensor 'layer5.0.conv1.weight', which no layer of resnet18 has");
	refused("resnet50", &fixture, -EINVAL,
		"f: found names of PyTorch, allowed for resnet50: those of Keras, because the resnet50 of "
		"torchvision "
		"is another network");
	fixture.count = 0;
	refused("vgg16", &fixture, -EINVAL, "f: found no tensor 'features.0.weight'");
	fixture_close(&fixture);
}

/* A run with another scaling than that of the weights is refused. */
static void test_scaling(void **state)
{
	static struct config_layer head[] = { DENSE(5), SOFTMAX };
	struct config config = model_config(head, 2, 1, 5, 1);
	struct fixture fixture = fixture_open("efficientnet_lite0", true);
	struct safetensors *file = converted("efficientnet_lite0", &fixture, "lite");
	struct weights weights = { 0 };
	struct error err = { 0 };
	struct graph graph;

	(void)state;
	config.feature[0].rank = 3;
	config.feature[0].shape[0] = config.feature[0].shape[1] = 32;
	config.feature[0].shape[2] = 3;
	config.model.base = "efficientnet_lite0";
	config.model.base_trainable = true;
	config.model.base_pooling = POOLING_AVG;
	config.model.base_scaling = SCALING_TF;
	assert_int_equal(graph_build(&config, true, &graph, &err), 0);
	assert_int_equal(weights_match(&graph, "f", file, &weights, &err), -EINVAL);
	assert_non_null(
		strstr(err.text, "f: its weights expect model.base_scaling = \"lite\", found \"tf\""));
	config.model.base_scaling = SCALING_NONE;
	assert_int_equal(weights_match(&graph, "f", file, &weights, &err), 0);
	assert_int_equal(weights.matched, 245);
	assert_string_equal(weights.initial, "dense");
	assert_string_equal(weights.unused, "");
	weights_done(&weights);
	graph_done(&graph);
	safetensors_close(file);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),  cmocka_unit_test(test_keras),
		cmocka_unit_test(test_left_out), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_scaling),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	(void)close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return failed;
}
