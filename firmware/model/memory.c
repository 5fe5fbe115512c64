/* SPDX-License-Identifier: Apache-2.0 */
#include "model/memory.h"
#include "model/feed.h"

#include <inttypes.h>
#include <string.h>

#define LISTED_MAX 4u
#define MIB        1048576.0

static const struct {
	const char *name;
	uint64_t copies;
} arenas[ARENA_MAX] = {
	[ARENA_BATCH] = { "the batch", FEED_SETS },
	[ARENA_STATE] = { "weights and optimizer state", 2 },
	[ARENA_GRADIENT] = { "gradients", 1 },
	[ARENA_WORK] = { "activations and scratch", 1 },
};

/* Returns how many times an arena needs its bytes. Sums of 1, 2, 4 ... micro-batches wait for their
 * neighbours. */
static uint64_t copies_of(const struct graph *graph, enum arena arena)
{
	const uint32_t in_turn = graph->config->ranks.exact ? graph->parts : 1; /* else each rank has one */
	uint64_t copies = arenas[arena].copies;

	for (uint32_t left = in_turn - 1; arena == ARENA_GRADIENT && left; left /= 2)
		copies++;
	return copies;
}

/* Returns the bytes that an arena needs, with all its copies. The tensors of the batch are not in one buffer,
 * so their bytes are added up. */
static uint64_t arena_bytes(const struct graph *graph, bool cpu, enum arena arena)
{
	uint64_t bytes = 0;

	if (arena != ARENA_BATCH)
		return graph->arena_bytes[arena] * copies_of(graph, arena);
	for (uint32_t i = 0; i < graph->tensors && !cpu; i++)
		bytes += graph_at(graph, i)->arena == ARENA_BATCH ? graph_at(graph, i)->bytes : 0;
	return bytes * arenas[arena].copies;
}

uint64_t memory_needed(const struct graph *graph, bool cpu)
{
	uint64_t bytes = 0;

	for (enum arena arena = 0; arena < ARENA_MAX; arena++)
		bytes += arena_bytes(graph, cpu, arena);
	return bytes;
}

/* ---- Which layers need most ---- */

/* Returns whether a tensor belongs to a layer. "dense/kernel" and "optimizer/m/dense/kernel" belong to
 * "dense"; so does its output, which has the layer's name. */
static bool is_of(const struct tensor *tensor, const char *layer)
{
	const size_t bytes = strlen(layer);
	const char *name = tensor->name;

	if (tensor->role == ROLE_SLOT) {
		name = strchr(name, '/');
		name = name ? strchr(name + 1, '/') : NULL;
		name = name ? name + 1 : tensor->name;
	}
	return strncmp(name, layer, bytes) == 0 && (name[bytes] == '/' || name[bytes] == '\0');
}

static uint64_t layer_bytes(const struct graph *graph, const struct node *node)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);

		if (tensor->arena != ARENA_BATCH && is_of(tensor, node->name))
			bytes += tensor->bytes * copies_of(graph, tensor->arena);
	}
	return bytes;
}

/* Returns the next layer in the order of memory: the one that needs most among the layers that need less than
 * `below` bytes, or just as many and come later than `after`; NULL after the last. */
static const struct node *next_largest(const struct graph *graph, const struct node *after, uint64_t below)
{
	const struct node *largest = NULL;

	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct node *node = &graph->node[i];
		const uint64_t bytes = layer_bytes(graph, node);

		if ((bytes < below || (bytes == below && node > after)) && bytes > 0 &&
		    (!largest || bytes > layer_bytes(graph, largest)))
			largest = node;
	}
	return largest;
}

static void list_layers(const struct graph *graph, char *out, size_t size)
{
	const struct node *node = NULL;
	uint64_t below = UINT64_MAX;
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < LISTED_MAX && used < size; i++) {
		node = next_largest(graph, node, below);
		if (!node)
			return;
		below = layer_bytes(graph, node);
		used += (size_t)snprintf(out + used, size - used, "%slayer '%s' %.1f MiB", i ? ", " : "",
					 node->name, (double)below / MIB);
	}
}

static int too_little(const struct graph *graph, bool cpu, const struct gpu_memory *have, struct error *err)
{
	char layers[LISTED_MAX * (GRAPH_LAYER_NAME_MAX + 40)];

	list_layers(graph, layers, sizeof(layers));
	return error_set(
		err, -EINVAL,
		"the device has too little memory: the model needs %.1f MiB (%s, a copy for checkpoints "
		"among "
		"them, %.1f; %s %.1f; %s for run.batch_rows = %" PRIu64
		" %.1f), found %.1f MiB; most is for %s",
		(double)memory_needed(graph, cpu) / MIB, arenas[ARENA_STATE].name,
		(double)arena_bytes(graph, cpu, ARENA_STATE) / MIB, arenas[ARENA_GRADIENT].name,
		(double)arena_bytes(graph, cpu, ARENA_GRADIENT) / MIB, arenas[ARENA_WORK].name,
		graph->batch_rows,
		(double)(arena_bytes(graph, cpu, ARENA_WORK) + arena_bytes(graph, cpu, ARENA_BATCH)) / MIB,
		(double)have->bytes / MIB, layers);
}

int memory_check(const struct graph *graph, bool cpu, const struct gpu_memory *have, struct error *err)
{
	return memory_needed(graph, cpu) > have->bytes ? too_little(graph, cpu, have, err) : 0;
}

int memory_refused(const struct graph *graph, enum arena arena, const struct gpu_memory *have, int code,
		   struct error *err)
{
	char layers[LISTED_MAX * (GRAPH_LAYER_NAME_MAX + 40)];

	if (graph->arena_bytes[arena] <= have->buffer_bytes)
		return code;
	list_layers(graph, layers, sizeof(layers));
	return error_set(
		err, -EINVAL,
		"the device has too little memory in one piece: %s need %.1f MiB, the device promises "
		"%.1f MiB and gave no more; lower run.batch_rows; most is for %s",
		arenas[arena].name, (double)graph->arena_bytes[arena] / MIB, (double)have->buffer_bytes / MIB,
		layers);
}
