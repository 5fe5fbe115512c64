/* SPDX-License-Identifier: Apache-2.0 */
/* Holds out the test split of pictures, where no input names it. */
#include "cli/prep/pictures.h"

#include "core/base/visible.h"

#include <inttypes.h>
#include <string.h>

/* Files with the same content. */
struct group {
	uint32_t first, files; /* in struct sorted */
	uint64_t hash;
};

/* The groups of a class: how many are held out, and those with the smallest and the largest hash. A group of
 * several classes belongs to that of its first file. */
struct class_of_groups {
	uint32_t groups, held, smallest, largest;
};

/* A picture. */
struct entry {
	struct picture_item *at;
};

struct sorted {
	struct entry *item; /* the pictures, equal files behind each other */
	uint32_t items;
	struct group *group;
	uint32_t groups;
};

static int compare(const void *a, const void *b)
{
	const struct picture_item *x = ((const struct entry *)a)->at, *y = ((const struct entry *)b)->at;
	const int order = strcmp(x->sha256, y->sha256);

	return order ? order : strcmp(x->name, y->name);
}

static uint64_t hash_of(uint64_t seed, const char *sha256)
{
	char text[DIGEST_HEX_BYTES + 24], hash[DIGEST_HEX_BYTES];

	(void)snprintf(text, sizeof(text), "%" PRIu64 " %s", seed, sha256);
	digest_sha256(text, strlen(text), hash);
	hash[16] = '\0';
	return strtoull(hash, NULL, 16);
}

static int sort(const struct pictures *pictures, uint64_t seed, struct sorted *sorted, struct error *err)
{
	sorted->item = calloc((size_t)pictures->items + 1, sizeof(*sorted->item));
	sorted->group = calloc((size_t)pictures->items + 1, sizeof(*sorted->group));
	if (!sorted->item || !sorted->group)
		return error_set(err, -ENOMEM, "no memory for %u pictures", pictures->items);
	for (uint32_t i = 0; i < pictures->items; i++)
		if (!pictures->item[i].wrong)
			sorted->item[sorted->items++].at = &pictures->item[i];
	if (sorted->items)
		qsort(sorted->item, sorted->items, sizeof(*sorted->item), compare);
	for (uint32_t i = 0; i < sorted->items; i++) {
		const char *sha256 = sorted->item[i].at->sha256;

		if (i == 0 || strcmp(sorted->item[i - 1].at->sha256, sha256) != 0)
			sorted->group[sorted->groups++] = (struct group){ i, 0, hash_of(seed, sha256) };
		sorted->group[sorted->groups - 1].files++;
	}
	return 0;
}

static void sorted_done(struct sorted *sorted)
{
	free(sorted->item);
	free(sorted->group);
}

static uint32_t label_of(const struct sorted *sorted, const struct group *group)
{
	return sorted->item[group->first].at->label;
}

static void hold_out(const struct sorted *sorted, const struct group *group, enum texts_split split)
{
	for (uint32_t i = 0; i < group->files; i++)
		sorted->item[group->first + i].at->split = split;
}

static void count(const struct sorted *sorted, uint64_t bound, struct class_of_groups *classes)
{
	for (uint32_t i = 0; i < sorted->groups; i++) {
		const struct group *group = &sorted->group[i];
		struct class_of_groups *class = &classes[label_of(sorted, group)];

		if (!class->groups++)
			class->smallest = class->largest = i;
		if (group->hash < sorted->group[class->smallest].hash)
			class->smallest = i;
		if (group->hash > sorted->group[class->largest].hash)
			class->largest = i;
		class->held += group->hash < bound;
	}
}

/* Gives both sides of a class a group, where the class has two groups, as data/hold_out.h does with shards.
 */
static int hold_out_classes(const struct sorted *sorted, uint64_t percent, struct error *err)
{
	CLEANUP(free_ptr)
	struct class_of_groups *classes = calloc(TEXTS_LABELS_MAX, sizeof(*classes));
	const uint64_t bound = UINT64_MAX / 100 * percent;

	if (!classes)
		return error_set(err, -ENOMEM, "no memory for the classes");
	count(sorted, bound, classes);
	for (uint32_t i = 0; i < sorted->groups; i++)
		if (sorted->group[i].hash < bound)
			hold_out(sorted, &sorted->group[i], TEXTS_TEST);
	for (uint32_t i = 0; i < TEXTS_LABELS_MAX; i++) {
		const struct class_of_groups *class = &classes[i];

		if (class->groups > 1 && class->held == 0)
			hold_out(sorted, &sorted->group[class->smallest], TEXTS_TEST);
		else if (class->groups && class->held == class->groups)
			hold_out(sorted, &sorted->group[class->largest], TEXTS_TRAIN);
	}
	return 0;
}

static void say_pair(const struct picture_item *a, const struct picture_item *b, const char *what)
{
	visible_print(a->path, stderr);
	fputs(" and ", stderr);
	visible_print(b->path, stderr);
	fprintf(stderr, ": equal files %s\n", what);
}

/* Says how many files are equal to others, and the first two of different classes or splits. */
static void say_equal(const struct sorted *sorted)
{
	uint32_t equal = 0;
	bool classes = false, splits = false;

	for (uint32_t i = 1; i < sorted->items; i++) {
		const struct picture_item *a = sorted->item[i - 1].at, *b = sorted->item[i].at;

		if (strcmp(a->sha256, b->sha256) != 0)
			continue;
		equal++;
		if (!classes && a->label != b->label)
			say_pair(a, b, "in two classes");
		if (!splits && a->split != b->split)
			say_pair(a, b, "in two splits");
		classes = classes || a->label != b->label;
		splits = splits || a->split != b->split;
	}
	if (equal)
		fprintf(stderr, "%u pictures are equal to another one: equal files come into one shard\n",
			equal);
}

int pictures_split(struct pictures *pictures, uint64_t seed, uint64_t percent, struct error *err)
{
	CLEANUP(sorted_done) struct sorted sorted = { 0 };
	bool given = false;
	int r;

	for (uint32_t i = 0; i < pictures->items; i++)
		given = given || pictures->item[i].split != TEXTS_TRAIN;
	if ((r = sort(pictures, seed, &sorted, err)) < 0 ||
	    (!given && percent > 0 && (r = hold_out_classes(&sorted, percent, err)) < 0))
		return r;
	say_equal(&sorted);
	return 0;
}
