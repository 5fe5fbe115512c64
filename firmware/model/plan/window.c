/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/window.h"

#include <inttypes.h>
#include <string.h>

const char *const window_paddings[] = { "valid", "same", NULL };

/* Returns whether no attribute has a mistake: an attribute with a mistake is 0 or NULL. */
static bool are_known(const struct window_keys *keys)
{
	for (uint32_t side = 0; side < (keys->sequence ? 1 : 2); side++)
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

/* Sets one side of the window, height or width, from the keys. A sequence has a height of 1; its strides
 * count for the height, too, where they change nothing, because TensorFlow wants a depthwise convolution to
 * have equal ones. */
static void set_side(struct window *window, uint32_t side, const struct tensor *input,
		     const struct window_keys *keys)
{
	const bool is_line = keys->sequence && side == 0;
	const uint32_t key = keys->sequence ? 0 : side;

	window->in[side] = is_line ? 1 : (int32_t)input->shape[key];
	window->size[side] = is_line ? 1 : (int32_t)keys->size[key];
	window->stride[side] = (int32_t)keys->strides[key];
	window->dilation[side] = is_line ? 1 : (int32_t)keys->dilation[key];
	lay(window, side, !strcmp(keys->padding, "same"));
}

#define PAIR_BYTES 32u

/* Writes the numbers of both sides, "[2, 3]"; of a sequence that of the steps, "3". */
static const char *pair_text(const int32_t pair[static 2], const struct window_keys *keys,
			     char out[static PAIR_BYTES])
{
	if (keys->sequence)
		(void)snprintf(out, PAIR_BYTES, "%d", pair[1]);
	else
		(void)snprintf(out, PAIR_BYTES, "[%d, %d]", pair[0], pair[1]);
	return out;
}

int window_make(const struct tensor *input, const struct window_keys *keys, struct window *ret_window,
		struct error *err)
{
	struct window window = { .apart = { 1, 1 } };
	char text[SHAPE_TEXT_BYTES], one[PAIR_BYTES], other[PAIR_BYTES];
	int r = (keys->sequence ? tensor_check_sequence : tensor_check_image)(input, err);

	*ret_window = (struct window){ 0 };
	if (r < 0 || !are_known(keys))
		return r;
	for (uint32_t side = 0; side < 2; side++)
		set_side(&window, side, input, keys);
	if ((window.stride[0] > 1 || window.stride[1] > 1) &&
	    (window.dilation[0] > 1 || window.dilation[1] > 1))
		return error_set(
			err, -EINVAL, "found strides %s with dilation_rate %s, allowed: one of them above 1",
			pair_text(window.stride, keys, one), pair_text(window.dilation, keys, other));
	if (!window_positions(&window))
		return error_set(err, -EINVAL,
				 "found a window of %s over '%s' of shape %s, allowed: one that fits, or "
				 "padding = \"same\"",
				 pair_text(window.size, keys, one), input->name, shape_text(input, text));
	*ret_window = window;
	return 0;
}

void window_output(const struct window *window, const struct tensor *input, uint64_t channels,
		   struct tensor *output)
{
	output->rank = input->rank;
	output->shape[0] = (uint64_t)window->out[0];
	output->shape[input->rank - 2] = (uint64_t)window->out[1];
	output->shape[input->rank - 1] = channels;
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
