/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/warp.h"

#include <string.h>

/* Indices of the attributes; those of the sampling come first in all layers but random_flip. */
enum { FLIP_MODE };
enum { SAMPLING_FILL_MODE, SAMPLING_INTERPOLATION, SAMPLING_FILL_VALUE, FIRST_FACTOR, SECOND_FACTOR };

static const char *const flip_modes[] = { "horizontal", "vertical", "horizontal_and_vertical", NULL };
static const char *const fill_modes[] = { [WARP_CONSTANT] = "constant",
					  [WARP_NEAREST] = "nearest",
					  [WARP_REFLECT] = "reflect",
					  [WARP_WRAP] = "wrap",
					  NULL };
static const char *const interpolations[] = { "bilinear", "nearest", NULL };

#define SAMPLING                                                                                  \
	[SAMPLING_FILL_MODE] = { "fill_mode", ATTRIBUTE_IS_NAME, .names = fill_modes,             \
				 .fallback_name = "reflect" },                                    \
	[SAMPLING_INTERPOLATION] = { "interpolation", ATTRIBUTE_IS_NAME, .names = interpolations, \
				     .fallback_name = "bilinear" },                               \
	[SAMPLING_FILL_VALUE] = { "fill_value", ATTRIBUTE_IS_FLOAT, .min = -1e30, .max = 1e30 }
#define FACTOR(key, need, least)                                                                        \
	{                                                                                               \
		key, ATTRIBUTE_IS_FLOATS, .required = (need), .min = (least), .max = 1, .items_min = 1, \
					  .items_max = 2                                                \
	}

/* A zoom by 1 - 1 = 0 would make every pixel the same. */
#define LEAST_ZOOM (-0.999)

const struct attribute_spec warp_flip_attributes[] = {
	[FLIP_MODE] = { "mode", ATTRIBUTE_IS_NAME, .names = flip_modes,
			.fallback_name = "horizontal_and_vertical" },
};
const struct attribute_spec warp_rotation_attributes[] = { SAMPLING, [FIRST_FACTOR] =
									     FACTOR("factor", true, -1) };
const struct attribute_spec warp_zoom_attributes[] = {
	SAMPLING,
	[FIRST_FACTOR] = FACTOR("height_factor", true, LEAST_ZOOM),
	[SECOND_FACTOR] = FACTOR("width_factor", false, LEAST_ZOOM),
};
const struct attribute_spec warp_translation_attributes[] = {
	SAMPLING,
	[FIRST_FACTOR] = FACTOR("height_factor", true, -1),
	[SECOND_FACTOR] = FACTOR("width_factor", true, -1),
};
/* In the order of their draws. */
const struct attribute_spec warp_shear_attributes[] = {
	SAMPLING,
	[FIRST_FACTOR] = FACTOR("y_factor", false, 0),
	[SECOND_FACTOR] = FACTOR("x_factor", false, 0),
};

/* ---- What a layer does ---- */

static bool has(const struct node *node, const struct attribute_spec *attributes)
{
	return node->op && node->op->attribute == attributes;
}

static bool is_warp(const struct node *node)
{
	return has(node, warp_flip_attributes) || has(node, warp_rotation_attributes) ||
	       has(node, warp_zoom_attributes) || has(node, warp_translation_attributes) ||
	       has(node, warp_shear_attributes);
}

static struct warp flip_of(const struct node *node)
{
	const char *mode = node->attribute[FLIP_MODE].s;

	return (struct warp){ WARP_FLIP,
			      { { .low = strcmp(mode, "vertical") != 0 },
				{ .low = strcmp(mode, "horizontal") != 0 } } };
}

struct warp warp_of(const struct node *node)
{
	struct warp warp = { 0 };

	if (has(node, warp_flip_attributes))
		return flip_of(node);
	for (uint32_t i = 0; FIRST_FACTOR + i < node->op->attributes; i++)
		warp.range[i] = augment_range(&node->attribute[FIRST_FACTOR + i]);
	if (has(node, warp_rotation_attributes))
		warp.kind = WARP_ROTATION;
	else if (has(node, warp_translation_attributes))
		warp.kind = WARP_TRANSLATION;
	else if (has(node, warp_shear_attributes))
		warp.kind = WARP_SHEAR;
	else
		warp.kind = node->attribute[SECOND_FACTOR].items ? WARP_ZOOM : WARP_ZOOM_EVENLY;
	return warp;
}

/* ---- Groups ---- */

static uint32_t index_of(const char *const *names, const char *name)
{
	uint32_t i = 0;

	while (strcmp(names[i], name) != 0)
		i++;
	return i;
}

/* A flip alone takes the sample at the middle of a pixel, so "nearest" is exact. */
static struct warp_sampling sampling_of(const struct node *node)
{
	if (has(node, warp_flip_attributes))
		return (struct warp_sampling){ .any = true, .fill = WARP_NEAREST };
	return (struct warp_sampling){
		.bilinear = !strcmp(node->attribute[SAMPLING_INTERPOLATION].s, "bilinear"),
		.fill = index_of(fill_modes, node->attribute[SAMPLING_FILL_MODE].s),
		.value = node->attribute[SAMPLING_FILL_VALUE].f,
	};
}

/* Returns whether two samplings are one, which is then in *sampling. */
static bool merge(struct warp_sampling *sampling, const struct warp_sampling *next)
{
	const bool equal = sampling->bilinear == next->bilinear && sampling->fill == next->fill &&
			   (sampling->fill != WARP_CONSTANT || sampling->value == next->value);

	if (sampling->any)
		*sampling = *next;
	else if (!next->any && !equal)
		return false;
	return true;
}

/* Returns the map that alone reads the output of a map, or NULL. */
static const struct node *follower(const struct graph *graph, const struct node *node)
{
	const struct node *reader = graph_only_reader(graph, node->output);

	return reader && is_warp(reader) ? reader : NULL;
}

/* Returns the map whose output this map alone reads, or NULL. */
static const struct node *leader(const struct graph *graph, const struct node *node)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (graph->node[i].output == node->input[0] && is_warp(&graph->node[i]) &&
		    follower(graph, &graph->node[i]) == node)
			return &graph->node[i];
	return NULL;
}

/* Groups are made from the first map on: a map joins while its sampling agrees. */
struct warp_group warp_group_of(const struct graph *graph, const struct node *node)
{
	struct warp_group group;
	const struct node *next = node;
	bool found = false;

	while (leader(graph, next))
		next = leader(graph, next);
	group = (struct warp_group){ next, next, sampling_of(next) };
	for (;;) {
		struct warp_sampling sampling;

		found |= group.last == node;
		next = follower(graph, group.last);
		if (!next)
			return group;
		sampling = sampling_of(next);
		if (merge(&group.sampling, &sampling))
			group.last = next;
		else if (found)
			return group;
		else
			group = (struct warp_group){ next, next, sampling };
	}
}

const struct node *warp_next(const struct graph *graph, const struct node *node)
{
	return graph_only_reader(graph, node->output);
}
