/* SPDX-License-Identifier: Apache-2.0 */
#include "model/view.h"

#include "model/build.h"
#include "model/graph/op.h"
#include "model/layers/emit.h"
#include "model/layout.h"
#include "model/plan/kernels.h"
#include "model/plan/lifetime.h"
#include "model/plan/plan.h"

#include <math.h>
#include <string.h>

struct view {
	struct config
		config;  /* a copy, with run.batch_rows as the view has them; the members are not its own */
	struct gpu *gpu; /* NULL before view_start() */
	struct graph graph;
	struct plan plan;
	struct gpu_program *program;
	struct gpu_buffer *arena, *pictures, **buffer;
	const struct node **node; /* the layers, in their order */
	uint32_t nodes, input;    /* input: index in graph.input */
	struct view_shape from, to;
	double scale, offset; /* value behind the last layer = pixel * scale + offset */
	float *values;        /* of a batch behind the last layer */
};

/* ---- The layers ---- */

static bool is_picture(const struct config_feature *feature)
{
	return feature->dtype == CONFIG_PICTURE || (feature->dtype == CONFIG_UINT8 && feature->rank == 3 &&
						    (feature->shape[2] == 1 || feature->shape[2] == 3));
}

uint32_t view_feature(const struct config *config)
{
	for (uint32_t i = 0; i < config->features; i++)
		if (is_picture(&config->feature[i]))
			return i;
	return UINT32_MAX;
}

static bool is(const struct node *node, const char *op)
{
	return strcmp(node->op->name, op) == 0;
}

static bool gives_picture(const struct node *node)
{
	return node->op->training_only || is(node, "rescaling") || is(node, "center_crop") ||
	       is(node, "random_crop");
}

static double number_of(const struct node *node, const char *key)
{
	for (uint32_t i = 0; i < node->op->attributes; i++)
		if (strcmp(node->op->attribute[i].key, key) == 0)
			return node->attribute[i].f;
	return 0;
}

static struct view_shape shape_of(const struct tensor *tensor)
{
	return (struct view_shape){ (uint32_t)tensor->shape[0], (uint32_t)tensor->shape[1],
				    (uint32_t)tensor->shape[2] };
}

/* A scale of 0 makes all pixels equal; it cannot be undone. */
static bool add_layer(struct view *view, const struct node *node)
{
	if (is(node, "rescaling")) {
		const double scale = number_of(node, "scale");

		if (scale == 0)
			return false;
		view->scale *= scale;
		view->offset = view->offset * scale + number_of(node, "offset");
	}
	view->node[view->nodes++] = node;
	view->to = shape_of(graph_at(&view->graph, node->output));
	return true;
}

static void find_layers(struct view *view, const char *feature)
{
	const struct graph *graph = &view->graph;
	const struct node *next = NULL;

	for (uint32_t i = 0; i < graph->inputs; i++)
		if (strcmp(graph_at(graph, graph->input[i])->name, feature) == 0) {
			view->input = i;
			next = graph_only_reader(graph, graph->input[i]);
		}
	while (next && gives_picture(next) && add_layer(view, next))
		next = graph_only_reader(graph, next->output);
}

int view_new(const struct config *config, uint32_t feature, uint32_t rows, struct view **ret_view,
	     struct error *err)
{
	CLEANUP(view_freep) struct view *view = calloc(1, sizeof(*view));
	const uint64_t *shape = config->feature[feature].shape;
	int r;

	if (!view)
		return error_set(err, -ENOMEM, "no memory for a view of pictures");
	view->config = *config;
	view->config.run.batch_rows = rows;
	view->scale = 1;
	view->from = (struct view_shape){ (uint32_t)shape[0], (uint32_t)shape[1], (uint32_t)shape[2] };
	view->to = view->from;
	if ((r = graph_build(&view->config, false, &view->graph, err)) < 0)
		return r;
	view->node = calloc(view->graph.nodes, sizeof(void *));
	if (!view->node)
		return error_set(err, -ENOMEM, "no memory for a view of pictures");
	find_layers(view, config->feature[feature].name);
	*ret_view = TAKE(view);
	return 0;
}

uint32_t view_layers(const struct view *view)
{
	return view->nodes;
}

const char *view_layer(const struct view *view, uint32_t index)
{
	return view->node[index]->name;
}

struct view_shape view_shape(const struct view *view)
{
	return view->to;
}

/* ---- The device ---- */

static uint64_t pixels_of(struct view_shape shape)
{
	return (uint64_t)shape.height * shape.width * shape.channels;
}

static int make_buffers(struct view *view, struct error *err)
{
	struct graph *graph = &view->graph;
	const uint64_t rows = view->config.run.batch_rows, bytes = graph->arena_bytes[ARENA_WORK];
	int r;

	view->buffer = calloc(graph->tensors, sizeof(void *));
	view->values = calloc(rows * pixels_of(view->to), sizeof(*view->values));
	if (!view->buffer || !view->values)
		return error_set(err, -ENOMEM, "no memory for a view of pictures");
	if ((r = gpu_buffer_create(view->gpu, rows * pixels_of(view->from), &view->pictures, err)) < 0 ||
	    (r = gpu_buffer_create(view->gpu, bytes, &view->arena, err)) < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);

		if (tensor->arena == ARENA_WORK && tensor->offset != LIFETIME_NO_PLACE)
			r = gpu_buffer_sub(view->arena, tensor->offset, layout_buffer_bytes(tensor),
					   &view->buffer[i], err);
	}
	return r;
}

int view_start(struct view *view, struct gpu *gpu, struct error *err)
{
	const struct plan *plans[] = { &view->plan };
	int r;

	if (view->nodes == 0)
		return 0;
	view->gpu = gpu;
	plan_init(&view->plan, &view->graph, gpu_is_cpu(gpu));
	for (uint32_t i = 0; i < view->nodes; i++)
		op_emit_forward(&view->plan, view->node[i], true);
	/* The output of the graph lives until the plan ends. */
	view->graph.output = plan_source(&view->plan, view->node[view->nodes - 1]->output);
	layout_work(&view->graph, plans, 1);
	if ((r = make_buffers(view, err)) < 0 ||
	    (r = kernels_build(gpu, view->graph.storage, plans, 1, &view->program, err)) < 0)
		return r;
	return plan_bind(&view->plan, view->program, view->buffer, err);
}

static uint8_t pixel_of(const struct view *view, float value)
{
	const double pixel = round(((double)value - view->offset) / view->scale);

	return (uint8_t)(pixel > 0 ? fmin(pixel, 255) : 0);
}

int view_draw(struct view *view, const uint8_t *pictures, uint32_t rows, uint64_t step, uint64_t first_row,
	      uint8_t *ret_pictures, struct error *err)
{
	const uint64_t count = rows * pixels_of(view->to);
	struct plan_values values = { .rows = (int32_t)rows,
				      .valid_rows = (int32_t)rows,
				      .first_row = (uint32_t)first_row,
				      .step = (uint32_t)step };
	struct error ignored;
	int r;

	if (view->nodes == 0) {
		memcpy(ret_pictures, pictures, count);
		return 0;
	}
	values.input[view->input] = view->pictures;
	if ((r = gpu_write(view->gpu, view->pictures, 0, pictures, rows * pixels_of(view->from), true, err)) <
		    0 ||
	    (r = plan_run(&view->plan, view->gpu, &values, err)) < 0 ||
	    (r = gpu_read(view->gpu, view->buffer[view->graph.output], 0, view->values,
			  count * sizeof(*view->values), NULL, err)) < 0)
		return r;
	/* The queue is empty. A cache that cannot be written makes the next start slower, no more. */
	(void)(gpu_program_save(view->program, &ignored) < 0);
	for (uint64_t i = 0; i < count; i++)
		ret_pictures[i] = pixel_of(view, view->values[i]);
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	if (view->gpu)
		plan_done(&view->plan);
	for (uint32_t i = 0; view->buffer && i < view->graph.tensors; i++)
		gpu_buffer_free(view->buffer[i]);
	gpu_buffer_free(view->arena);
	gpu_buffer_free(view->pictures);
	gpu_program_free(view->program);
	graph_done(&view->graph);
	free(view->buffer);
	free(view->node);
	free(view->values);
	free(view);
}

void view_freep(struct view **view)
{
	view_free(*view);
}
