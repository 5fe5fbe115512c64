/* SPDX-License-Identifier: Apache-2.0 */
#include "model/attributes.h"

#include <inttypes.h>
#include <string.h>

#define VALUE_BYTES 160u

static void found_text(const struct config_attribute *found, char out[static VALUE_BYTES])
{
	switch (found->type) {
	case ATTRIBUTE_INT:
		(void)snprintf(out, VALUE_BYTES, "%" PRId64, found->i);
		return;
	case ATTRIBUTE_FLOAT:
		(void)snprintf(out, VALUE_BYTES, "%g", found->f);
		return;
	case ATTRIBUTE_BOOL:
		(void)snprintf(out, VALUE_BYTES, "%s", found->i ? "true" : "false");
		return;
	case ATTRIBUTE_STRING:
		(void)snprintf(out, VALUE_BYTES, "\"%.100s\"", found->s);
		return;
	}
}

static void allowed_text(const struct attribute_spec *spec, char out[static VALUE_BYTES])
{
	size_t used = 0;

	switch (spec->kind) {
	case ATTRIBUTE_IS_BOOL:
		(void)snprintf(out, VALUE_BYTES, "true or false");
		return;
	case ATTRIBUTE_IS_INT:
	case ATTRIBUTE_IS_FLOAT:
		(void)snprintf(out, VALUE_BYTES, "%s %.12g <= x %s %.12g",
			       spec->kind == ATTRIBUTE_IS_INT ? "an integer" : "a number", spec->min,
			       spec->max_open ? "<" : "<=", spec->max);
		return;
	case ATTRIBUTE_IS_NAME:
		for (uint32_t i = 0; spec->names[i] && used < VALUE_BYTES; i++)
			used += (size_t)snprintf(out + used, VALUE_BYTES - used, "%s\"%s\"", i ? ", " : "",
						 spec->names[i]);
		return;
	}
}

static bool within(const struct attribute_spec *spec, double x)
{
	return x >= spec->min && (spec->max_open ? x < spec->max : x <= spec->max);
}

static bool take(const struct attribute_spec *spec, const struct config_attribute *found,
		 struct attribute *value)
{
	*value = (struct attribute){ .i = found->i, .f = found->f, .b = found->i != 0, .s = found->s };
	switch (spec->kind) {
	case ATTRIBUTE_IS_BOOL:
		return found->type == ATTRIBUTE_BOOL;
	case ATTRIBUTE_IS_INT:
		return found->type == ATTRIBUTE_INT && within(spec, (double)found->i);
	case ATTRIBUTE_IS_FLOAT:
		return (found->type == ATTRIBUTE_INT || found->type == ATTRIBUTE_FLOAT) &&
		       within(spec, found->f);
	case ATTRIBUTE_IS_NAME:
		for (uint32_t i = 0; found->type == ATTRIBUTE_STRING && spec->names[i]; i++)
			if (!strcmp(spec->names[i], found->s))
				return true;
		return false;
	}
	return false;
}

static int unknown(const struct node *node, const struct config_attribute *found, struct error *err)
{
	char allowed[VALUE_BYTES] = "no attributes";
	size_t used = 0;

	for (uint32_t i = 0; i < node->op->attributes && used < sizeof(allowed); i++)
		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? ", " : "",
					 node->op->attribute[i].key);
	return error_set(err, -EINVAL, "layer '%s' (line %u): found attribute '%s', allowed of %s: %s",
			 node->name, found->line, found->key, node->op->name, allowed);
}

static int read_one(struct node *node, const struct config_attribute *found, bool *seen, struct error *err)
{
	for (uint32_t i = 0; i < node->op->attributes; i++) {
		const struct attribute_spec *spec = &node->op->attribute[i];
		char value[VALUE_BYTES], allowed[VALUE_BYTES];

		if (strcmp(spec->key, found->key) != 0)
			continue;
		seen[i] = true;
		if (take(spec, found, &node->attribute[i]))
			return 0;
		found_text(found, value);
		allowed_text(spec, allowed);
		return error_set(err, -EINVAL, "layer '%s' (line %u): %s: found %s, allowed: %s", node->name,
				 found->line, found->key, value, allowed);
	}
	return unknown(node, found, err);
}

int attributes_read(struct node *node, const struct config_layer *layer, struct error *err)
{
	bool seen[GRAPH_ATTRIBUTES_MAX] = { false };

	for (uint32_t i = 0; i < layer->attributes; i++) {
		int rc = read_one(node, &layer->attribute[i], seen, err);

		if (rc < 0)
			return rc;
	}
	for (uint32_t i = 0; i < node->op->attributes; i++) {
		const struct attribute_spec *spec = &node->op->attribute[i];
		char allowed[VALUE_BYTES];

		if (seen[i])
			continue;
		allowed_text(spec, allowed);
		if (spec->required)
			return error_set(err, -EINVAL, "layer '%s' (line %u): %s: found nothing, allowed: %s",
					 node->name, node->line, spec->key, allowed);
		node->attribute[i] = (struct attribute){ .i = (int64_t)spec->fallback,
							 .f = spec->fallback,
							 .b = spec->fallback != 0,
							 .s = spec->fallback_name };
	}
	return 0;
}
