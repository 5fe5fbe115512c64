/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/names.h"

#include <inttypes.h>
#include <string.h>

#define LEAST_ENTRIES 256u

uint64_t names_hash_of(const char *text, uint64_t bytes)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < bytes; i++)
		sum = names_sum(sum, text[i]);
	return names_hash(sum);
}

/* Returns the piece's entry, or the empty entry where it belongs. */
static struct name *place(const struct names *names, uint64_t hash, const char *text, uint64_t bytes)
{
	uint64_t at = hash & (names->capacity - 1);

	for (;; at = (at + 1) & (names->capacity - 1)) {
		struct name *name = &names->name[at];

		if (!name->hash ||
		    (name->hash == hash && name->bytes == bytes && memcmp(name->text, text, bytes) == 0))
			return name;
	}
}

static int grow(struct names *names, struct error *err)
{
	struct names larger = *names;

	larger.capacity = names->capacity ? 2 * names->capacity : LEAST_ENTRIES;
	larger.name = calloc(larger.capacity, sizeof(*larger.name));
	if (!larger.name)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " pieces", names->used);
	for (uint64_t i = 0; i < names->capacity; i++) {
		const struct name *name = &names->name[i];

		if (name->hash)
			*place(&larger, name->hash, name->text, name->bytes) = *name;
	}
	free(names->name);
	*names = larger;
	return 0;
}

int names_add(struct names *names, const char *text, uint32_t bytes, uint32_t id, struct error *err)
{
	const uint64_t hash = names_hash_of(text, bytes);
	struct name *name;

	if (2 * (names->used + 1) > names->capacity && grow(names, err) < 0)
		return -ENOMEM;
	name = place(names, hash, text, bytes);
	if (name->hash)
		return 0;
	*name = (struct name){ .hash = hash, .text = text, .bytes = bytes, .id = id };
	names->used++;
	if (bytes > names->longest)
		names->longest = bytes;
	return 1;
}

const struct name *names_find(const struct names *names, uint64_t hash, const char *text, uint64_t bytes)
{
	const struct name *name = names->capacity ? place(names, hash, text, bytes) : NULL;

	return name && name->hash ? name : NULL;
}

void names_done(struct names *names)
{
	free(names->name);
}
