/* SPDX-License-Identifier: Apache-2.0 */
/* The depthwise convolutions of conv.h. */
#include "model/plan/conv.h"
#include "model/plan/partials.h"
#include "model/plan/round.h"

/* Channels of a work-group of depthwise_kernel_lines. */
#define LINES_SPAN 128u
/* The partial sums of depthwise_kernel_lines have a multiple of this number of columns. */
#define COLUMN_UNIT 32u

/* Returns whether the kernels that work on whole lines are used; these give the same bits as the others. */
static bool has_lines(const struct plan *plan, const struct conv *conv)
{
	return plan->cpu && conv->filters == conv->channels;
}

/* Appends a convolution from `in` to `out` through a window; `flipped`: with the taps of the kernel in
 * reverse order. */
static void emit_lines(struct plan *plan, const struct conv *conv, const struct window *window,
		       uint32_t window_index, const struct argument tensors[static 3], bool flipped, bool add)
{
	plan_emit(plan, &(struct launch){
				.kernel = "depthwise_lines",
				.groups = { { .per_row = (uint64_t)window->out[0] } },
				ARGUMENTS(tensors[0], tensors[1], tensors[2], INT(add), INT(conv->filters),
					  INT(flipped), IN(window_index)),
			});
}

/* Appends the launch of a depthwise kernel, with one work-item for each number of its output. */
static void emit_numbers(struct plan *plan, const struct conv *conv, const char *name, uint64_t numbers,
			 uint32_t window, const struct argument tensors[static 3], bool add)
{
	plan_emit(plan,
		  &(struct launch){
			  .kernel = name,
			  .groups = { { .per_row = numbers, .tile = ELEMENT_GROUP } },
			  ARGUMENTS(tensors[0], tensors[1], tensors[2], INT(add), AT(ROWS),
				    INT(conv->channels), INT(conv->filters / conv->channels), IN(window)),
		  });
}

void conv_emit_depthwise(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t kernel, uint32_t y)
{
	const struct argument tensors[] = { IN(x), IN(kernel), OUT(y) };
	const uint32_t window = window_tensor(plan, conv->node, "window", &conv->window);

	if (has_lines(plan, conv))
		emit_lines(plan, conv, &conv->window, window, tensors, false, false);
	else
		emit_numbers(plan, conv, "depthwise", window_positions(&conv->window) * conv->filters, window,
			     tensors, false);
}

void conv_emit_depthwise_input_gradient(struct plan *plan, const struct conv *conv, uint32_t dy,
					uint32_t kernel, uint32_t dx, bool add)
{
	const struct window mirrored = window_mirrored(&conv->window);
	const struct argument tensors[] = { IN(dy),
					    IN(kernel),
					    { .kind = add ? ARGUMENT_INOUT : ARGUMENT_OUT, .tensor = dx } };
	const uint32_t window = window_tensor(plan, conv->node, "mirrored", &mirrored);

	if (has_lines(plan, conv))
		emit_lines(plan, conv, &mirrored, window, tensors, true, add);
	else
		emit_numbers(plan, conv, "depthwise_input", window_positions(&mirrored) * conv->channels,
			     window, tensors, add);
}

static void emit_partials(struct plan *plan, const struct conv *conv, const struct partials *partials,
			  uint32_t x, uint32_t dy, bool bias)
{
	const uint32_t window = window_tensor(plan, conv->node, "window", &conv->window);

	if (has_lines(plan, conv))
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "depthwise_kernel_lines",
				  .groups = { { .fixed = partials->chunks },
					      { .fixed = partials->columns, .tile = LINES_SPAN } },
				  ARGUMENTS(IN(x), IN(dy), OUT(partials->tensor), AT(ROWS),
					    INT(partials->length), INT(conv->filters), INT(partials->columns),
					    INT(LINES_SPAN), INT(bias), IN(window)),
			  });
	else
		plan_emit(plan, &(struct launch){
					.kernel = "depthwise_kernel",
					.groups = { { .fixed = (partials->taps + 1) * conv->filters,
						      .tile = ELEMENT_GROUP },
						    { .fixed = partials->chunks } },
					ARGUMENTS(IN(x), IN(dy), OUT(partials->tensor), AT(ROWS),
						  INT(partials->length), INT(conv->channels),
						  INT(conv->filters / conv->channels), IN(window)),
				});
}

/* Each filter reads only one channel, so the partial sums are those of a kernel with one channel and all
 * filters. */
void conv_emit_depthwise_kernel_gradient(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy,
					 uint32_t dkernel, uint32_t dbias)
{
	struct partials partials = {
		.taps = window_taps(&conv->window),
		.channels = 1,
		.filters = conv->filters,
		.tap_rows = 1,
		.columns = has_lines(plan, conv) ? round_up(conv->filters, COLUMN_UNIT) : conv->filters,
	};

	partials_make(plan, conv->node, &partials);
	emit_partials(plan, conv, &partials, x, dy, dbias != GRAPH_NO_TENSOR);
	partials_emit_sum(plan, &partials, dkernel, dbias);
}
