/* SPDX-License-Identifier: Apache-2.0 */
/* random_flip, random_rotation, random_zoom, random_translation and random_shear: see augment.h. */
#include "model/layers/warp.h"

#include <math.h>
#include <string.h>

/* ---- Forward ---- */

/* Appends the launch that makes or multiplies the map of each row. */
static void emit_map(struct plan *plan, const struct node *node, uint32_t map, bool multiply)
{
	const uint64_t *shape = output_of(plan, node)->shape;
	const struct warp warp = warp_of(node);

	plan_emit(plan, &(struct launch){
				.kernel = "warp_matrix",
				.groups = { { .per_row = 1, .tile = ROW_GROUP } },
				ARGUMENTS(INOUT(map), INT(multiply), AT(ROWS), INT(shape[0]), INT(shape[1]),
					  INT(warp.kind), AUGMENT_RANGE(warp.range[0]),
					  AUGMENT_RANGE(warp.range[1]), AUGMENT_DRAWS(plan, node)),
			});
}

static void warp_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor maps = { .rows = true, .rank = 1, .shape = { WARP_NUMBERS } },
			    *output = output_of(plan, node);
	const struct warp_group group = warp_group_of(plan->graph, node);
	const struct node *member = group.first;
	uint32_t map;

	if (!training || node != group.last) {
		plan_alias(plan, node->output, node->input[0]);
		return;
	}
	map = plan_work(plan, node, "map", &maps);
	for (emit_map(plan, member, map, false); member != group.last;) {
		member = warp_next(plan->graph, member);
		emit_map(plan, member, map, true);
	}
	plan_emit(plan, &(struct launch){
				.kernel = "warp",
				.groups = { { .per_row = tensor_outer(output), .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(node->input[0]), OUT(node->output), IN(map), AT(ROWS),
					  INT(output->shape[0]), INT(output->shape[1]), INT(output->shape[2]),
					  INT(group.sampling.bilinear), INT(group.sampling.fill),
					  FLOAT(group.sampling.value)),
			});
}

/* ---- The reference ---- */

struct map {
	double a[2][3];
};

static struct map product(const struct map *m, const struct map *n)
{
	struct map p;

	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++)
			p.a[i][j] =
				m->a[i][0] * n->a[0][j] + m->a[i][1] * n->a[1][j] + (j == 2 ? m->a[i][2] : 0);
	return p;
}

/* Returns the linear map around the middle of a picture. */
static struct map centred(double a0, double a1, double b0, double b1, double height, double width)
{
	const double x = (width - 1) / 2, y = (height - 1) / 2;

	return (struct map){ { { a0, a1, x - a0 * x - a1 * y }, { b0, b1, y - b0 * x - b1 * y } } };
}

static struct map map_of(const struct op_reference *r, uint64_t row)
{
	const uint64_t *shape = graph_at(r->graph, r->node->output)->shape;
	const double height = (double)shape[0], width = (double)shape[1];
	const struct warp warp = warp_of(r->node);
	const double u = augment_draw(r, row, 0), first = augment_value(r, row, 0, warp.range[0]),
		     second = augment_value(r, row, 1, warp.range[1]), turn = 2 * M_PI * first,
		     sign = u > 0.5 ? -1 : 1;
	const bool flips = u <= 0.5;

	switch (warp.kind) {
	case WARP_FLIP:
		return centred(flips && warp.range[0].low > 0 ? -1 : 1, 0, 0,
			       flips && warp.range[1].low > 0 ? -1 : 1, height, width);
	case WARP_ROTATION:
		return centred(cos(turn), -sin(turn), sin(turn), cos(turn), height, width);
	case WARP_ZOOM:
		return centred(1 + second, 0, 0, 1 + first, height, width);
	case WARP_ZOOM_EVENLY:
		return centred(1 + first, 0, 0, 1 + first, height, width);
	case WARP_TRANSLATION:
		return (struct map){ { { 1, 0, -second * width }, { 0, 1, -first * height } } };
	case WARP_SHEAR:
		break;
	}
	return (struct map){ { { 1, sign * augment_value(r, row, 2, warp.range[1]), 0 },
			       { sign * augment_value(r, row, 1, warp.range[0]), 1, 0 } } };
}

/* Returns the place within 0 .. size - 1 that stands for `at`; "constant": `at` itself. */
static double inside(double at, double size, enum warp_fill fill)
{
	const double period = 2 * size, phase = at - period * floor(at / period);

	switch (fill) {
	case WARP_CONSTANT:
		return at;
	case WARP_NEAREST:
		break;
	case WARP_REFLECT:
		at = phase < size ? phase : period - phase - 1;
		break;
	case WARP_WRAP:
		if (size > 1 && at < 0)
			at += size * (trunc(-at / (size - 1)) + 1);
		else if (size > 1 && at > size - 1)
			at -= size * trunc(at / (size - 1));
		break;
	}
	return fmin(fmax(at, 0), size - 1);
}

/* Returns one channel of a pixel, or the value beyond the edges. */
static double pixel_of(const struct op_reference *r, const double *picture, double x, double y, double value)
{
	const uint64_t *shape = graph_at(r->graph, r->node->output)->shape;

	if (x < 0 || y < 0 || x >= (double)shape[1] || y >= (double)shape[0])
		return value;
	return picture[((uint64_t)y * shape[1] + (uint64_t)x) * shape[2]];
}

static double sample(const struct op_reference *r, const double *picture, double x, double y,
		     const struct warp_sampling *how)
{
	const uint64_t *shape = graph_at(r->graph, r->node->output)->shape;
	double left, top;

	x = inside(x, (double)shape[1], how->fill);
	y = inside(y, (double)shape[0], how->fill);
	if (!how->bilinear)
		return pixel_of(r, picture, round(x), round(y), how->value);
	left = floor(x);
	top = floor(y);
	return (top + 1 - y) * ((left + 1 - x) * pixel_of(r, picture, left, top, how->value) +
				(x - left) * pixel_of(r, picture, left + 1, top, how->value)) +
	       (y - top) * ((left + 1 - x) * pixel_of(r, picture, left, top + 1, how->value) +
			    (x - left) * pixel_of(r, picture, left + 1, top + 1, how->value));
}

static void sample_row(const struct op_reference *r, uint64_t row, const struct map *map,
		       const struct warp_sampling *how)
{
	const uint64_t *shape = graph_at(r->graph, r->node->output)->shape;

	for (uint64_t i = 0; i < r->outputs; i++) {
		const uint64_t pixel = i / shape[2], line = pixel / shape[1];
		const double x = (double)(pixel % shape[1]), y = (double)line;

		r->y[row * r->outputs + i] = sample(r, r->x[0] + row * r->inputs + i % shape[2],
						    map->a[0][0] * x + map->a[0][1] * y + map->a[0][2],
						    map->a[1][0] * x + map->a[1][1] * y + map->a[1][2], how);
	}
}

static void warp_reference(const struct op_reference *r)
{
	const struct warp_group group = warp_group_of(r->graph, r->node);
	struct op_reference of_member = *r;

	if (!r->training || r->node != group.last) {
		memcpy(r->y, r->x[0], r->rows * r->inputs * sizeof(double));
		return;
	}
	for (uint64_t row = 0; row < r->rows; row++) {
		struct map map;

		of_member.node = group.first;
		for (map = map_of(&of_member, row); of_member.node != group.last;) {
			struct map next;

			of_member.node = warp_next(r->graph, of_member.node);
			next = map_of(&of_member, row);
			map = product(&map, &next);
		}
		sample_row(r, row, &map, &group.sampling);
	}
}

/* ---- Rows of the table ---- */

#define WARP(kind)                                             \
	const struct op op_random_##kind = {                   \
		.name = "random_" #kind,                       \
		.inputs = 1,                                   \
		.training_only = true,                         \
		.attributes = COUNT(warp_##kind##_attributes), \
		.attribute = warp_##kind##_attributes,         \
		.shape = augment_shape,                        \
		.forward = warp_forward,                       \
		.reference = warp_reference,                   \
		.export = augment_export,                      \
	}
WARP(flip);
WARP(rotation);
WARP(zoom);
WARP(translation);
WARP(shear);
