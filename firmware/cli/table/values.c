/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/values.h"

#include "core/base/mix.h"

#include <stdbool.h>
#include <string.h>

#define SLOTS_FIRST 64u

struct value {
	uint64_t hash, rows;
	uint64_t at; /* in `text` */
	uint32_t bytes;
};

/* A hash table with open addressing; a slot has a number plus 1, and 0 is empty. */
struct values {
	uint32_t *slot;
	uint32_t slots, count, capacity;
	struct value *value;
	char *text;
	uint64_t used, text_capacity;
};

struct values *values_new(void)
{
	struct values *values = calloc(1, sizeof(*values));

	if (!values)
		return NULL;
	values->slots = SLOTS_FIRST;
	values->slot = calloc(values->slots, sizeof(*values->slot));
	if (!values->slot) {
		free(values);
		return NULL;
	}
	return values;
}

void values_free(struct values *values)
{
	if (!values)
		return;
	free(values->slot);
	free(values->value);
	free(values->text);
	free(values);
}

void values_clear(struct values *values)
{
	memset(values->slot, 0, values->slots * sizeof(*values->slot));
	values->count = 0;
	values->used = 0;
}

/* Returns the slot of a value, or the empty slot where it belongs. */
static uint32_t *slot_of(const struct values *values, uint64_t hash, const char *text, uint64_t bytes)
{
	uint32_t at = (uint32_t)hash & (values->slots - 1);

	for (;; at = (at + 1) & (values->slots - 1)) {
		const struct value *value;

		if (!values->slot[at])
			return &values->slot[at];
		value = &values->value[values->slot[at] - 1];
		if (value->hash == hash && value->bytes == bytes &&
		    memcmp(values->text + value->at, text, bytes) == 0)
			return &values->slot[at];
	}
}

static bool grow_slots(struct values *values)
{
	uint32_t *slot = calloc((size_t)values->slots * 2, sizeof(*slot));

	if (!slot)
		return false;
	free(values->slot);
	values->slot = slot;
	values->slots *= 2;
	for (uint32_t i = 0; i < values->count; i++) {
		const struct value *value = &values->value[i];

		*slot_of(values, value->hash, values->text + value->at, value->bytes) = i + 1;
	}
	return true;
}

/* Makes room for one more value of `bytes` bytes. */
static bool reserve(struct values *values, uint64_t bytes)
{
	if (values->count == values->capacity) {
		const uint32_t capacity = values->capacity ? values->capacity * 2 : SLOTS_FIRST;
		void *value = realloc(values->value, capacity * sizeof(*values->value));

		if (!value)
			return false;
		values->value = value;
		values->capacity = capacity;
	}
	if (values->used + bytes > values->text_capacity) {
		const uint64_t capacity = (values->used + bytes) * 2;
		char *text = realloc(values->text, capacity);

		if (!text)
			return false;
		values->text = text;
		values->text_capacity = capacity;
	}
	return values->count < values->slots / 2 || grow_slots(values);
}

uint32_t values_add(struct values *values, const char *text, uint64_t bytes, uint64_t count)
{
	const uint64_t hash = mix_bytes(text, bytes);
	uint32_t *slot = slot_of(values, hash, text, bytes);

	if (!*slot) {
		struct value *value;

		if (!reserve(values, bytes + 1))
			return VALUES_NONE;
		slot = slot_of(values, hash, text, bytes);
		value = &values->value[values->count];
		*value = (struct value){ .hash = hash, .at = values->used, .bytes = (uint32_t)bytes };
		memcpy(values->text + values->used, text, bytes);
		values->text[values->used + bytes] = '\0';
		values->used += bytes + 1;
		*slot = ++values->count;
	}
	values->value[*slot - 1].rows += count;
	return *slot - 1;
}

uint32_t values_find(const struct values *values, const char *text, uint64_t bytes)
{
	const uint32_t slot = *slot_of(values, mix_bytes(text, bytes), text, bytes);

	return slot ? slot - 1 : VALUES_NONE;
}

uint32_t values_count(const struct values *values)
{
	return values->count;
}

const char *values_text(const struct values *values, uint32_t number, uint64_t *ret_bytes)
{
	if (ret_bytes)
		*ret_bytes = values->value[number].bytes;
	return values->text + values->value[number].at;
}

uint64_t values_rows(const struct values *values, uint32_t number)
{
	return values->value[number].rows;
}

uint64_t values_bytes(const struct values *values)
{
	return values->used;
}
