/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/labelled.h"
#include "core/base/visible.h"

#include <string.h>

/* Fails where a class has no training text: a model could not learn this class. */
static int check_classes(const struct prep *prep, struct error *err)
{
	CLEANUP(free_ptr) bool *seen = calloc(prep->classes, sizeof(*seen));

	if (!seen)
		return error_set(err, -ENOMEM, "no memory for %u classes", prep->classes);
	for (uint32_t i = 0; i < prep->rows[TEXTS_TRAIN]; i++)
		seen[prep->texts.row[TEXTS_TRAIN][i].label] = true;
	for (uint32_t class = 0; class < prep->classes; class ++)
		if (!seen[class])
			return error_set(err, -EBADMSG,
					 "%s: class \"%s\" has 0 training %s, at least 1 is needed",
					 prep->input[0], prep->texts.label[class],
					 prep->pictures.items > 0 ? "pictures" : "texts");
	return 0;
}

/* Says how many reviews of an archive have a film, and a film that its authors put on both sides. */
static void say_films(struct texts *texts)
{
	const struct text_row *shared = texts->films ? texts_shared_group(texts) : NULL;

	if (texts->films)
		fprintf(stderr, "%ju of %ju texts have a film: the texts of a film come into one shard\n",
			(uintmax_t)texts->films,
			(uintmax_t)texts->rows[TEXTS_TRAIN] + texts->rows[TEXTS_TEST]);
	if (shared) {
		visible_print(shared->group, stderr);
		fputs(": texts of this film are in the training split and in the test split\n", stderr);
	}
}

static int order(struct prep *prep, struct error *err)
{
	/* The test pictures were held out before, see pictures_split(). */
	const bool held_out = prep->texts.rows[TEXTS_TEST] || prep->pictures.items > 0;
	int r;

	say_films(&prep->texts);
	r = texts_shuffle(&prep->texts, prep->seed, held_out ? 0 : (uint32_t)prep->test_percent, err);

	memcpy(prep->rows, prep->texts.rows, sizeof(prep->rows));
	return r;
}

int prep_order_texts(struct prep *prep, struct error *err)
{
	int r;

	/* The labels of records that are added are those of the set: see set_follow(). */
	if (prep->mode == PREP_APPEND)
		return order(prep, err);
	if (prep->texts.labels < 2)
		return error_set(err, -EBADMSG,
				 "%s: found only the label \"%s\", at least 2 labels are needed",
				 prep->input[0], prep->texts.label[0]);
	texts_sort_labels(&prep->texts);
	prep->classes = prep->texts.labels;
	r = order(prep, err);
	return r < 0 ? r : check_classes(prep, err);
}

void prep_label_name(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES])
{
	memcpy(ret_name, prep->texts.label[class], TEXTS_LABEL_BYTES);
}

const int64_t *prep_one_hot(const struct prep *prep, uint32_t label, int64_t *scratch)
{
	memset(scratch, 0, prep->classes * sizeof(*scratch));
	scratch[label] = 1;
	return scratch;
}
