/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/attributes.h"

#include "core/base/nearest.h"
#include "model/layers/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define VALUE_BYTES     320u
#define ACTIVATIONS_MAX 32u

static void found_text(const struct config_attribute *found, char out[static VALUE_BYTES])
{
	size_t used = 0;

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
	case ATTRIBUTE_INTS:
		for (uint32_t i = 0; i < found->items && used < VALUE_BYTES; i++)
			used += (size_t)snprintf(out + used, VALUE_BYTES - used, "%s%" PRId64,
						 i ? ", " : "[ ", found->item[i]);
		if (used < VALUE_BYTES)
			(void)snprintf(out + used, VALUE_BYTES - used, " ]");
		return;
	case ATTRIBUTE_FLOATS:
		for (uint32_t i = 0; i < found->items && used < VALUE_BYTES; i++)
			used += (size_t)snprintf(out + used, VALUE_BYTES - used, "%s%g", i ? ", " : "[ ",
						 found->number[i]);
		if (used < VALUE_BYTES)
			(void)snprintf(out + used, VALUE_BYTES - used, " ]");
		return;
	case ATTRIBUTE_UNREAD:
		return;
	}
}

static bool takes_one(const struct attribute_spec *spec)
{
	return spec->one_for_all || spec->items_min == spec->items_max;
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
	case ATTRIBUTE_IS_INTS:
		(void)snprintf(out, VALUE_BYTES, "%s[ ] of %u .. %u integers, each %.12g <= x <= %.12g",
			       takes_one(spec) ? "one integer for all, or " : "", spec->items_min,
			       spec->items_max, spec->min, spec->max);
		return;
	case ATTRIBUTE_IS_FLOATS:
		(void)snprintf(out, VALUE_BYTES, "%s[ ] of %u numbers, each %.12g <= x %s %.12g",
			       spec->items_min == 1 ? "a number, or " : "", spec->items_max, spec->min,
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

/* Reads a list of integers. A single integer stands for every item of a list of fixed length; with
 * one_for_all it is a list of one. */
static bool parse_integers(const struct attribute_spec *spec, const struct config_attribute *found,
			   struct attribute *value)
{
	const bool one = found->type == ATTRIBUTE_INT && takes_one(spec);

	if (!one && (found->type != ATTRIBUTE_INTS || found->items < spec->items_min ||
		     found->items > spec->items_max))
		return false;
	value->items = one ? spec->items_min : found->items;
	for (uint32_t i = 0; i < value->items; i++) {
		value->item[i] = one ? found->i : found->item[i];
		if (!within(spec, (double)value->item[i]))
			return false;
	}
	return true;
}

/* Reads a list of numbers; its numbers are integers or not. */
static bool parse_numbers(const struct attribute_spec *spec, const struct config_attribute *found,
			  struct attribute *value)
{
	const bool one = found->type == ATTRIBUTE_INT || found->type == ATTRIBUTE_FLOAT;

	if (!one && found->type != ATTRIBUTE_INTS && found->type != ATTRIBUTE_FLOATS)
		return false;
	value->items = one ? 1 : found->items;
	if (value->items != spec->items_min && value->items != spec->items_max)
		return false;
	for (uint32_t i = 0; i < value->items; i++) {
		value->number[i] = one                             ? found->f
				   : found->type == ATTRIBUTE_INTS ? (double)found->item[i]
								   : found->number[i];
		if (!within(spec, value->number[i]))
			return false;
	}
	return true;
}

static bool parse(const struct attribute_spec *spec, const struct config_attribute *found,
		  struct attribute *value)
{
	*value = (struct attribute){ .i = found->i,
				     .f = found->f,
				     .b = found->i != 0,
				     .s = found->s,
				     .items = 1,
				     .item = { found->i } };
	switch (spec->kind) {
	case ATTRIBUTE_IS_BOOL:
		return found->type == ATTRIBUTE_BOOL;
	case ATTRIBUTE_IS_INT:
		return found->type == ATTRIBUTE_INT && within(spec, (double)found->i);
	case ATTRIBUTE_IS_FLOAT:
		return (found->type == ATTRIBUTE_INT || found->type == ATTRIBUTE_FLOAT) &&
		       within(spec, found->f);
	case ATTRIBUTE_IS_INTS:
		return parse_integers(spec, found, value);
	case ATTRIBUTE_IS_FLOATS:
		return parse_numbers(spec, found, value);
	case ATTRIBUTE_IS_NAME:
		for (uint32_t i = 0; found->type == ATTRIBUTE_STRING && spec->names[i]; i++)
			if (!strcmp(spec->names[i], found->s))
				return true;
		return false;
	}
	return false;
}

/* The attribute `trainable`, which every layer with parameters to learn has. */
static const struct attribute_spec trainable = { .key = "trainable",
						 .kind = ATTRIBUTE_IS_BOOL,
						 .fallback = 1 };

bool attributes_learns(const struct op *op)
{
	for (uint32_t i = 0; i < op->parameters; i++)
		if (!op->parameter[i].state)
			return true;
	return false;
}

/* Returns the spec of the attribute `activation`; "linear" means no activation. */
static const struct attribute_spec *activation_spec(void)
{
	static const char *names[ACTIVATIONS_MAX + 1] = { "linear" };
	static const struct attribute_spec spec = {
		.key = "activation", .kind = ATTRIBUTE_IS_NAME, .fallback_name = "linear", .names = names
	};
	uint32_t count = 1;

	for (uint32_t i = 0; op_at(i) && count < ACTIVATIONS_MAX; i++)
		if (op_at(i)->function)
			names[count++] = op_at(i)->name;
	return &spec;
}

/* Adds one more allowed key to the list, and compares it with the key that was found. */
static void allow(char allowed[static VALUE_BYTES], struct nearest *nearest, const char *key)
{
	const size_t used = strlen(allowed);

	nearest_try(nearest, key);
	(void)snprintf(allowed + used, VALUE_BYTES - used, "%s%s", used ? ", " : "", key);
}

static void note_unknown(const struct node *node, const struct config_attribute *found,
			 struct mistakes *mistakes)
{
	struct nearest nearest = { .typed = found->key };
	char allowed[VALUE_BYTES] = "", meant[NEAREST_TEXT_BYTES], key[NEAREST_WORD_BYTES];
	const struct op *op = node->op;

	allow(allowed, &nearest, "op");
	allow(allowed, &nearest, "name");
	allow(allowed, &nearest, "inputs");
	for (uint32_t i = 0; i < op->attributes; i++)
		allow(allowed, &nearest, op->attribute[i].key);
	if (attributes_learns(op))
		allow(allowed, &nearest, trainable.key);
	if (op->activates)
		allow(allowed, &nearest, activation_spec()->key);
	for (uint32_t i = 0; i < op->parameters; i++)
		for (const char *kind = "12"; *kind && !op->parameter[i].state; kind++) {
			(void)snprintf(key, sizeof(key), "%s_l%c", op->parameter[i].name, *kind);
			allow(allowed, &nearest, key);
		}
	mistakes_add(mistakes, found->line, "model.layers.%s: found an unknown key, allowed for %s: %s%s",
		     found->key, op->name, allowed, nearest_text(&nearest, meant));
}

/* Reads a value. After a mistake the value is all zeros. */
static void read_value(const struct attribute_spec *spec, const struct config_attribute *found,
		       struct attribute *value, struct mistakes *mistakes)
{
	char text[VALUE_BYTES], allowed[VALUE_BYTES];

	if (found->type == ATTRIBUTE_UNREAD || parse(spec, found, value))
		return;
	*value = (struct attribute){ 0 };
	found_text(found, text);
	allowed_text(spec, allowed);
	mistakes_add(mistakes, found->line, "model.layers.%s: found %s, allowed: %s", found->key, text,
		     allowed);
}

static struct attribute_spec penalty_spec(const char *key)
{
	return (struct attribute_spec){ .key = key, .kind = ATTRIBUTE_IS_FLOAT, .min = 0, .max = 1e6 };
}

/* Reads a penalty such as "kernel_l2", Keras's kernel_regularizer=L2(x). Every op with parameters has these
 * keys. Returns false if the key is not the key of a penalty. */
static bool read_penalty(struct node *node, const struct config_attribute *found, struct mistakes *mistakes)
{
	const struct attribute_spec spec = penalty_spec(NULL);

	for (uint32_t i = 0; i < node->op->parameters; i++) {
		const char *name = node->op->parameter[i].name;
		const char *kind = found->key + strlen(name);
		struct attribute factor = { 0 };

		if (node->op->parameter[i].state || strncmp(found->key, name, strlen(name)) != 0 ||
		    (strcmp(kind, "_l1") != 0 && strcmp(kind, "_l2") != 0))
			continue;
		read_value(&spec, found, &factor, mistakes);
		(kind[2] == '1' ? node->l1 : node->l2)[i] = factor.f;
		return true;
	}
	return false;
}

/* Reads a key that is common to many ops: trainable, activation or a penalty. Returns false if it is another
 * key. */
static bool read_common(struct node *node, const struct config_attribute *found, struct mistakes *mistakes)
{
	struct attribute value = { 0 };

	if (attributes_learns(node->op) && !strcmp(found->key, trainable.key)) {
		read_value(&trainable, found, &value, mistakes);
		node->trainable = value.b;
		return true;
	}
	if (node->op->activates && !strcmp(found->key, activation_spec()->key)) {
		read_value(activation_spec(), found, &value, mistakes);
		node->activation = value.s && strcmp(value.s, "linear") != 0 ? value.s : NULL;
		return true;
	}
	return read_penalty(node, found, mistakes);
}

static void read_one(struct node *node, const struct config_attribute *found, bool *seen,
		     struct mistakes *mistakes)
{
	for (uint32_t i = 0; i < node->op->attributes; i++) {
		if (strcmp(node->op->attribute[i].key, found->key) != 0)
			continue;
		seen[i] = true;
		read_value(&node->op->attribute[i], found, &node->attribute[i], mistakes);
		return;
	}
	if (!read_common(node, found, mistakes) && found->type != ATTRIBUTE_UNREAD)
		note_unknown(node, found, mistakes);
}

static struct attribute fallback_of(const struct attribute_spec *spec, bool is_activation)
{
	const double fallback =
		is_activation && spec->activation_fallback != 0 ? spec->activation_fallback : spec->fallback;
	struct attribute value = { .i = isfinite(fallback) ? (int64_t)fallback : 0,
				   .f = fallback,
				   .b = fallback != 0,
				   .s = spec->fallback_name,
				   .items = spec->items_min ? spec->items_min : 1 };

	if (spec->kind == ATTRIBUTE_IS_FLOATS)
		value.items = spec->fallback_list ? spec->items_max : 0;
	for (uint32_t i = 0; i < value.items; i++) {
		value.item[i] = value.i;
		value.number[i] = spec->fallback_list ? spec->fallback_list[i] : 0;
	}
	return value;
}

void attributes_read(struct node *node, const struct config_layer *layer, struct mistakes *mistakes)
{
	bool seen[GRAPH_ATTRIBUTES_MAX] = { false };

	for (uint32_t i = 0; i < layer->attributes; i++)
		read_one(node, &layer->attribute[i], seen, mistakes);
	for (uint32_t i = 0; i < node->op->attributes; i++) {
		const struct attribute_spec *spec = &node->op->attribute[i];
		char allowed[VALUE_BYTES];

		if (seen[i])
			continue;
		allowed_text(spec, allowed);
		if (spec->required)
			mistakes_add(mistakes, node->line, "model.layers.%s: found nothing, allowed: %s",
				     spec->key, allowed);
		else
			node->attribute[i] = fallback_of(spec, node->is_activation);
	}
}

/* ---- For people ---- */

static void describe_list(const struct attribute_spec *spec, FILE *out)
{
	if (!spec->fallback_list) {
		(void)fprintf(out, "default none\n");
		return;
	}
	for (uint32_t i = 0; i < spec->items_max; i++)
		(void)fprintf(out, "%s%.12g", i ? ", " : "default [ ", spec->fallback_list[i]);
	(void)fprintf(out, " ]\n");
}

static void describe(const struct attribute_spec *spec, FILE *out)
{
	char allowed[VALUE_BYTES];

	allowed_text(spec, allowed);
	(void)fprintf(out, "  %-28s %s; ", spec->key, allowed);
	if (spec->required)
		(void)fprintf(out, "must be given\n");
	else if (spec->kind == ATTRIBUTE_IS_FLOATS)
		describe_list(spec, out);
	else if (spec->kind == ATTRIBUTE_IS_NAME)
		(void)fprintf(out, "default \"%s\"\n", spec->fallback_name);
	else if (spec->kind == ATTRIBUTE_IS_BOOL)
		(void)fprintf(out, "default %s\n", spec->fallback != 0 ? "true" : "false");
	else
		(void)fprintf(out, "default %.12g\n", spec->fallback);
}

void attributes_describe(const struct op *op, FILE *out)
{
	for (uint32_t i = 0; i < op->attributes; i++)
		describe(&op->attribute[i], out);
	if (op->activates)
		describe(activation_spec(), out);
	if (attributes_learns(op))
		describe(&trainable, out);
	for (uint32_t i = 0; i < op->parameters; i++) {
		char key[64];

		for (const char *kind = "12"; *kind && !op->parameter[i].state; kind++) {
			const struct attribute_spec spec = penalty_spec(key);

			(void)snprintf(key, sizeof(key), "%s_l%c", op->parameter[i].name, *kind);
			describe(&spec, out);
		}
	}
}
