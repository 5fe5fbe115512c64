/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relu: y = max_value where x >= max_value; x where threshold <= x < max_value; negative_slope * (x -
 * threshold) below. relu6 is relu with a max_value of 6, for the key `activation`. Without these attributes
 * relu launches the kernels that fuse with the product before it (plan/fuse.h).
 */
#include "model/layers/row.h"
#include "model/plan/fuse.h"

#include <math.h>

enum { RELU_MAX_VALUE, RELU_NEGATIVE_SLOPE, RELU_THRESHOLD, RELU_ATTRIBUTES };

#define RELU_NUMBER(name, usual)                                                                    \
	{                                                                                           \
		.key = (name), .kind = ATTRIBUTE_IS_FLOAT, .hashed = true, .hashed_if_given = true, \
		.fallback = (usual), .min = 0, .max = 1e30                                          \
	}
static const struct attribute_spec relu_attributes[] = {
	[RELU_MAX_VALUE] = RELU_NUMBER("max_value", INFINITY),
	[RELU_NEGATIVE_SLOPE] = RELU_NUMBER("negative_slope", 0),
	[RELU_THRESHOLD] = RELU_NUMBER("threshold", 0),
};

extern const struct op op_relu6;

/* The attributes as numbers of the kernels. */
struct relu {
	float most, slope, threshold;
};

static struct relu relu_of(const struct node *node)
{
	if (node->op == &op_relu6)
		return (struct relu){ .most = 6 };
	return (struct relu){ .most = (float)node->attribute[RELU_MAX_VALUE].f,
			      .slope = (float)node->attribute[RELU_NEGATIVE_SLOPE].f,
			      .threshold = (float)node->attribute[RELU_THRESHOLD].f };
}

static bool is_plain(const struct relu *relu)
{
	return isinf(relu->most) && relu->slope == 0 && relu->threshold == 0;
}

static int relu_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		      struct error *err)
{
	const struct relu relu = relu_of(node);

	if (relu.most < relu.threshold)
		return error_set(err, -EINVAL,
				 "found max_value %g with threshold %g, allowed: at least the threshold",
				 (double)relu.most, (double)relu.threshold);
	return same_shape(graph, node, output, err);
}

static void relu_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);
	const struct relu relu = relu_of(node);

	(void)training;
	if (is_plain(&relu))
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "relu",
				  .groups = { per_element(output) },
				  ARGUMENTS([RELU_X] = IN(node->input[0]), [RELU_Y] = OUT(node->output),
					    [RELU_ROWS] = AT(ROWS), [RELU_COLUMNS] = INT(output->elements)),
			  });
	else
		plan_emit(plan, &(struct launch){
					.kernel = "relu_limited",
					.groups = { per_element(output) },
					ARGUMENTS(IN(node->input[0]), OUT(node->output), FLOAT(relu.most),
						  FLOAT(relu.slope), FLOAT(relu.threshold), AT(ROWS),
						  INT(output->elements)),
				});
}

/* Returns the tensor from which the derivative is computed. The output is enough where every input of 0 or
 * less becomes 0 and every input of max_value or more becomes max_value: the derivative is 1 between the two.
 * The input then needs no memory until the backward pass. In 16 bits max_value may be rounded down, so the
 * input is read. */
static uint32_t derivative_of(const struct plan *plan, const struct node *node, const struct relu *relu)
{
	const bool is_known = relu->slope == 0 && relu->threshold == 0 && relu->most > 0;

	return is_known && plan->graph->storage == DTYPE_F32 ? node->output : node->input[0];
}

static void relu_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	const struct relu relu = relu_of(node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	if (is_plain(&relu))
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "relu_backward",
				  .groups = { per_element(output) },
				  ARGUMENTS([RELU_BACKWARD_DY] = IN(output->gradient),
					    [RELU_BACKWARD_Y] = IN(node->output),
					    [RELU_BACKWARD_DX] = OUT(dx), [RELU_BACKWARD_SCALE] = FLOAT(1),
					    [RELU_BACKWARD_ADD] = INT(add), [RELU_BACKWARD_ROWS] = AT(ROWS),
					    [RELU_BACKWARD_COLUMNS] = INT(output->elements)),
			  });
	else
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "relu_limited_backward",
				  .groups = { per_element(output) },
				  ARGUMENTS(IN(output->gradient), IN(derivative_of(plan, node, &relu)),
					    OUT(dx), FLOAT(relu.most), FLOAT(relu.slope),
					    FLOAT(relu.threshold), INT(add), AT(ROWS), INT(output->elements)),
			  });
}

static void relu_reference(const struct op_reference *r)
{
	const struct relu relu = relu_of(r->node);
	const double most = (double)relu.most, slope = (double)relu.slope, threshold = (double)relu.threshold;

	for (uint64_t i = 0; i < r->rows * r->inputs; i++) {
		const double x = r->x[0][i], below = slope != 0 ? slope * (x - threshold) : 0;

		r->y[i] = x >= most ? most : x < threshold ? below : x;
		if (r->dy && r->dx[0])
			r->dx[0][i] = r->dy[i] * (x >= most ? 0 : x > threshold ? 1 : slope);
	}
}

/* Exports the part from the threshold on: x where x > threshold, else 0; then at most max_value. */
static struct export_inner_name export_upper(struct export *out, const struct node *node,
					     const struct relu *relu)
{
	const char *x = export_input(out, node, 0);
	struct export_inner_name upper;

	if (relu->threshold != 0) {
		const struct export_inner_name above = export_with(out, node, EXPORT_SUBTRACT, x,
								   (double)relu->threshold, "above"),
					       sign = export_of(out, node, EXPORT_SIGN, above.text, "sign"),
					       gate = export_of(out, node, EXPORT_RELU, sign.text, "gate");

		upper = export_both(out, node, EXPORT_MULTIPLY, x, gate.text, "upper");
	} else {
		upper = export_of(out, node, EXPORT_RELU, x, "upper");
	}
	if (isinf(relu->most))
		return upper;
	return export_with(out, node, EXPORT_MINIMUM, upper.text, (double)relu->most, "limited");
}

/* Exports the part below the threshold: negative_slope * min(x - threshold, 0). */
static struct export_inner_name export_lower(struct export *out, const struct node *node,
					     const struct relu *relu)
{
	const struct export_inner_name moved = export_with(out, node, EXPORT_SUBTRACT,
							   export_input(out, node, 0),
							   (double)relu->threshold, "moved"),
				       below = export_with(out, node, EXPORT_MINIMUM, moved.text, 0, "below");

	return export_with(out, node, EXPORT_MULTIPLY, below.text, (double)relu->slope, "lower");
}

static void relu_export(struct export *out, const struct node *node)
{
	const struct relu relu = relu_of(node);
	struct export_inner_name upper, lower;

	if (is_plain(&relu)) {
		export_unary(out, node, EXPORT_RELU);
		return;
	}
	upper = export_upper(out, node, &relu);
	lower = export_lower(out, node, &relu);
	export_binary(out, EXPORT_ADD, upper.text, lower.text, export_output(out, node));
}

#define RELU_ROW(name_of, ...)                                                              \
	{                                                                                   \
		.name = #name_of, .function = true, .inputs = 1, .masking = MASKING_PASSES, \
		.shape = relu_shape, .forward = relu_forward, .backward = relu_backward,    \
		.reference = relu_reference, .export = relu_export, ##__VA_ARGS__           \
	}
const struct op op_relu = RELU_ROW(relu, .attributes = COUNT(relu_attributes), .attribute = relu_attributes);
const struct op op_relu6 = RELU_ROW(relu6);
