/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/window.h"

#include <inttypes.h>
#include <string.h>

const char *const window_paddings[] = { "valid", "same", NULL };

/* Returns whether no attribute has a mistake: an attribute with a mistake is 0 or NULL. */
static bool are_known(const struct window_keys *keys)
{
	for (uint32_t side = 0; side < 2; side++)
		if (!keys->size[side] || !keys->strides[side] || !keys->dilation[side])
			return false;
	return keys->padding != NULL;
}

/* Computes output size and padding on one side, height or width, by TensorFlow's rules (nn.convolution). */
static void lay(struct window *window, uint32_t side, bool same)
{
	const int32_t in = window->in[side], stride = window->stride[side];
	const int32_t covered = (window->size[side] - 1) * window->dilation[side] + 1;
	int32_t padding;

	if (!same) {
		window->out[side] = in < covered ? 0 : (in - covered) / stride + 1;
		return;
	}
	window->out[side] = in / stride + (in % stride != 0);
	padding = (window->out[side] - 1) * stride + covered - in;
	window->before[side] = padding > 0 ? padding / 2 : 0;
}

int window_make(const struct tensor *input, const struct window_keys *keys, struct window *ret_window,
		struct error *err)
{
	struct window window = { .apart = { 1, 1 } };
	char text[SHAPE_TEXT_BYTES];
	int r = tensor_check_image(input, err);

	*ret_window = (struct window){ 0 };
	if (r < 0 || !are_known(keys))
		return r;
	for (uint32_t side = 0; side < 2; side++) {
		window.in[side] = (int32_t)input->shape[side];
		window.size[side] = (int32_t)keys->size[side];
		window.stride[side] = (int32_t)keys->strides[side];
		window.dilation[side] = (int32_t)keys->dilation[side];
		lay(&window, side, !strcmp(keys->padding, "same"));
	}
	if ((window.stride[0] > 1 || window.stride[1] > 1) &&
	    (window.dilation[0] > 1 || window.dilation[1] > 1))
		return error_set(
			err, -EINVAL,
			"found strides [%d, %d] with dilation_rate [%d, %d], allowed: one of them above 1",
			window.stride[0], window.stride[1], window.dilation[0], window.dilation[1]);
	if (!window_positions(&window))
		return error_set(
			err, -EINVAL,
			"found a window of [%d, %d] over '%s' of shape %s, allowed: one that fits, or "
			"padding = \"same\"",
			window.size[0], window.size[1], input->name, shape_text(input, text));
	*ret_window = window;
	return 0;
}

struct window window_mirrored(const struct window *window)
{
	struct window mirrored = *window;

	for (uint32_t side = 0; side < 2; side++) {
		mirrored.in[side] = window->out[side];
		mirrored.out[side] = window->in[side];
		mirrored.stride[side] = window->apart[side];
		mirrored.apart[side] = window->stride[side];
		mirrored.before[side] =
			(window->size[side] - 1) * window->dilation[side] - window->before[side];
	}
	return mirrored;
}

int32_t window_source(const struct window *window, uint32_t side, int32_t out, int32_t k)
{
	const int32_t at = out * window->stride[side] + k * window->dilation[side] - window->before[side];

	if (at < 0 || at % window->apart[side] || at / window->apart[side] >= window->in[side])
		return -1;
	return at / window->apart[side];
}

bool window_pixel(const struct window *window, uint64_t position, uint64_t tap, uint64_t *ret_at)
{
	const int32_t y = window_source(window, 0, (int32_t)position / window->out[1],
					(int32_t)tap / window->size[1]),
		      x = window_source(window, 1, (int32_t)position % window->out[1],
					(int32_t)tap % window->size[1]);

	*ret_at = (uint64_t)y * (uint64_t)window->in[1] + (uint64_t)x;
	return y >= 0 && x >= 0;
}

uint32_t window_tensor(struct plan *plan, const struct node *node, const char *name,
		       const struct window *window)
{
	const struct tensor shape = { .dtype = DTYPE_U32,
				      .rank = 1,
				      .shape = { sizeof(*window) / sizeof(uint32_t) } };
	const uint32_t index = plan_work(plan, node, name, &shape);
	struct tensor *tensor = plan->graph->tensor[index];

	if (tensor->constant)
		return index;
	tensor->constant = malloc(sizeof(*window));
	if (!tensor->constant)
		abort(); /* no memory: end the program, like graph_tensor() */
	memcpy(tensor->constant, window, sizeof(*window));
	return index;
}
