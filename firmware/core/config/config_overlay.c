/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_overlay.h"
#include "core/base/nearest.h"
#include "core/config/config_tree.h"

#include <string.h>

#define LAYERS       "model.layers"
#define LAYERS_BYTES (sizeof(LAYERS) - 1)
#define NAME_BYTES   160u /* bytes of one part of a dotted key, with the NUL */

/* ---- The name of a layer ---- */

static const char *member_text(const config_setting_t *group, const char *name)
{
	const char *text = "";

	return config_setting_lookup_string(group, name, &text) ? text : "";
}

/* Writes the name of a layer: the given one, or the op with the number of layers of this op before it, as
 * Keras makes it: dense, dense_1, ... */
static void layer_name(const config_setting_t *layers, unsigned index, char out[static NAME_BYTES])
{
	const config_setting_t *layer = config_setting_get_elem(layers, index);
	const char *op = member_text(layer, "op"), *given = member_text(layer, "name");
	unsigned same = 0;

	for (unsigned i = 0; i < index; i++)
		same += strcmp(member_text(config_setting_get_elem(layers, i), "op"), op) == 0;
	if (*given || same == 0)
		(void)snprintf(out, NAME_BYTES, "%s", *given ? given : op);
	else
		(void)snprintf(out, NAME_BYTES, "%.100s_%u", op, same);
}

static config_setting_t *layer_named(const config_setting_t *layers, const char *name,
				     struct nearest *nearest)
{
	char own[NAME_BYTES];

	for (int i = 0; i < config_setting_length(layers); i++) {
		layer_name(layers, (unsigned)i, own);
		if (strcmp(own, name) == 0)
			return config_setting_get_elem(layers, (unsigned)i);
		nearest_try(nearest, own);
	}
	return NULL;
}

/* ---- One value ---- */

static config_setting_t *group_named(config_setting_t *root, const char *name, unsigned line)
{
	config_setting_t *group = config_setting_get_member(root, name);

	if (group)
		return config_setting_is_group(group) ? group : NULL;
	group = config_setting_add(root, name, CONFIG_TYPE_GROUP);
	if (group)
		group->line = line;
	return group;
}

/* Replaces a member of a group. False: no memory, or a name that libconfig does not allow. */
static bool replace(config_setting_t *group, const char *name, const config_setting_t *value)
{
	const config_setting_t *old = config_setting_get_member(group, name);
	const unsigned line = config_setting_source_line(old ? old : group);
	config_setting_t *copy;

	if (old)
		(void)config_setting_remove(group, name);
	copy = config_tree_copy(group, name, value);
	if (copy && copy->line == 0)
		copy->line = line ? line : 1;
	return copy != NULL;
}

/* Puts the default layers into a file that has none, so that a layer of them can be changed. */
static config_setting_t *layers_of(struct config_memory *memory, unsigned line)
{
	config_setting_t *layers = config_lookup(&memory->file, LAYERS), *model;

	if (layers)
		return layers;
	model = group_named(config_root_setting(&memory->file), "model", line);
	layers = model ? config_tree_copy(model, "layers", config_lookup(&memory->lists, LAYERS)) : NULL;
	for (int i = 0; layers && i < config_setting_length(layers); i++)
		config_setting_get_elem(layers, (unsigned)i)->line = line;
	return layers;
}

static bool change_layer(struct config_memory *memory, const struct config_override *override,
			 struct mistakes *mistakes)
{
	const char *name = override->key + LAYERS_BYTES + 1, *attribute = strchr(name, '.');
	const unsigned line = config_setting_source_line(override->value);
	config_setting_t *layers = layers_of(memory, line ? line : 1), *layer = NULL;
	char own[NAME_BYTES], meant[NEAREST_TEXT_BYTES];
	struct nearest nearest = { .typed = own };

	assert(attribute);
	(void)snprintf(own, sizeof(own), "%.*s", (int)(attribute - name), name);
	if (layers && config_setting_is_list(layers))
		layer = layer_named(layers, own, &nearest);
	if (layer)
		return replace(layer, attribute + 1, override->value);
	mistakes_add(mistakes, line ? line : 1,
		     "%s: found no layer \"%.100s\", allowed: a layer of model.layers by its name, such as "
		     "dense or dense_1%s",
		     override->key, own, nearest_text(&nearest, meant));
	return true;
}

static bool lay_over(struct config_memory *memory, const struct config_override *override,
		     struct mistakes *mistakes)
{
	config_setting_t *root = config_root_setting(&memory->file), *group;
	const char *dot = strchr(override->key, '.');
	const unsigned line = config_setting_source_line(override->value);
	char name[NAME_BYTES];

	if (strncmp(override->key, LAYERS ".", LAYERS_BYTES + 1) == 0)
		return change_layer(memory, override, mistakes);
	if (!dot)
		return replace(root, override->key, override->value);
	(void)snprintf(name, sizeof(name), "%.*s", (int)(dot - override->key), override->key);
	group = group_named(root, name, line ? line : 1);
	return group && replace(group, dot + 1, override->value);
}

int config_lay_over(struct config_memory *memory, const struct config_overlay *overlay,
		    struct mistakes *mistakes)
{
	static const char *const of_series[] = { "experiments", "vary", "series" };

	memory->is_trial = true;
	for (size_t i = 0; i < sizeof(of_series) / sizeof(*of_series); i++)
		(void)config_setting_remove(config_root_setting(&memory->file), of_series[i]);
	for (uint32_t i = 0; i < overlay->count; i++)
		if (!lay_over(memory, &overlay->override[i], mistakes))
			return error_set(mistakes->err, -EINVAL, "%s: %.100s: cannot be set in a trial",
					 mistakes->file, overlay->override[i].key);
	return 0;
}
