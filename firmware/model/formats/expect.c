/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/expect.h"

#include "model/formats/names.h"

#include <inttypes.h>
#include <string.h>

#define FORM_BYTES (SHAPE_TEXT_BYTES + 16u)

/* Writes type and shape of a tensor: "F32 [8, 16]". */
static const char *form_of(const struct model_tensor *tensor, char out[static FORM_BYTES])
{
	struct tensor of = { .rank = tensor->rank };
	char shape[SHAPE_TEXT_BYTES];

	memcpy(of.shape, tensor->shape, sizeof(of.shape));
	(void)snprintf(out, FORM_BYTES, "%.8s %s", tensor->dtype, shape_text(&of, shape));
	return out;
}

int expect_form(const char *what, const struct model_tensor *wanted, const struct model_tensor *found,
		struct error *err)
{
	char expected[FORM_BYTES], form[FORM_BYTES];

	if (found && strcmp(found->dtype, wanted->dtype) == 0 && found->rank == wanted->rank &&
	    memcmp(found->shape, wanted->shape, found->rank * sizeof(found->shape[0])) == 0)
		return 0;
	return error_set(err, -EBADMSG, "%s: %s: found %s, expected %s", what, wanted->name,
			 found ? form_of(found, form) : "nothing", form_of(wanted, expected));
}

/* Returns whether a tensor of the graph is one of those that are expected. */
static bool is_wanted(const struct tensor *tensor, enum expect expect)
{
	switch (tensor->arena == ARENA_STATE ? tensor->role : ROLE_WORK) {
	case ROLE_PARAMETER:
	case ROLE_STATE:
		return true;
	case ROLE_SLOT:
	case ROLE_STAT:
	case ROLE_SCALE:
	case ROLE_COUNTER:
		return expect == EXPECT_STATE;
	default:
		return false;
	}
}

static bool is_tensor(const struct graph *graph, enum expect expect, const char *name)
{
	for (uint32_t i = 0; i < graph->tensors; i++)
		if (is_wanted(graph_at(graph, i), expect) && strcmp(graph_at(graph, i)->name, name) == 0)
			return true;
	return false;
}

/* Checks that the graph has every tensor that was found. */
static int expect_no_other(const struct graph *graph, enum expect expect, const char *what,
			   const struct model_tensor *found, uint32_t count, struct error *err)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_tensor(graph, expect, found[i].name))
			return error_set(err, -EBADMSG,
					 "%s: %.200s: found a tensor that the network does not have", what,
					 found[i].name);
	return 0;
}

int expect_tensors(const struct graph *graph, enum expect expect, const char *what,
		   const struct model_tensor *found, uint32_t count, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);
		struct model_tensor form = { .name = tensor->name,
					     .dtype = dtype_name(tensor->dtype),
					     .rank = tensor->rank };
		const struct model_tensor *of_file = name_find(found, count, tensor->name);

		if (!is_wanted(tensor, expect) || (tensor->role == ROLE_SCALE && !of_file))
			continue;
		memcpy(form.shape, tensor->shape, sizeof(form.shape));
		r = expect_form(what, &form, of_file, err);
	}
	return r < 0 || expect != EXPECT_MODEL ? r : expect_no_other(graph, expect, what, found, count, err);
}
