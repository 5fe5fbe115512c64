/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/objects.h"

#include "core/base/visible.h"
#include "preflight/numbers.h"

#include <inttypes.h>

#define PART       "classes"
#define NAME_BYTES 512u

void objects_note(struct objects *objects, enum split split, const char *key)
{
	char name[NAME_BYTES];
	struct error err = { 0 };
	uint64_t number;

	if (split == SPLIT_TRAIN) {
		if (plan_classes_add(&objects->classes, key, &err) < 0 && !objects->homeless.code)
			objects->homeless = err;
	} else if (!plan_classes_number(&objects->classes, key, &number) && !objects->stray.code) {
		(void)error_set(&objects->stray, -EINVAL,
				"%s object \"%s\": found no object of its folder to train on",
				split_name(split), visible(key, name, sizeof(name)));
	}
}

/* Returns the number of classes that the network and the label have; 0 = any. */
static uint64_t classes_taken(const struct config *config)
{
	const struct config_feature *label = config_feature_named(config, config->model.label);
	struct numbers numbers;

	if (label->rank == 1 && label->shape[0] > 1)
		return label->shape[0];
	numbers_of(config, &numbers);
	return numbers.limit[label - config->feature];
}

/* A label of one value may leave outputs of the network unused; a one-hot label has a value for each class.
 */
static bool fits(const struct config *config, uint64_t classes, uint64_t taken)
{
	const struct config_feature *label = config_feature_named(config, config->model.label);
	const bool one_hot = label->rank == 1 && label->shape[0] > 1;

	return taken == 0 || (one_hot ? classes == taken : classes <= taken);
}

static void say_classes(struct preflight *preflight, const char *url, const struct objects *objects)
{
	const uint64_t classes = objects->classes.count, taken = classes_taken(preflight->config);

	if (classes < 2 && !objects->cut)
		preflight_add_misfit(
			preflight, true, PART,
			"write the pattern so that it matches the folders of all classes",
			"%s: all objects to train on lie in one folder, which is one class; expected two "
			"classes or more",
			url);
	else if (fits(preflight->config, classes, taken) || (objects->cut && classes < taken))
		preflight_add(preflight, PART, PREFLIGHT_OK, "", "%s: %" PRIu64 "%s classes", url, classes,
			      objects->cut ? " or more" : "");
	else
		preflight_add_misfit(
			preflight, true, PART,
			"make the label's shape and the last layer as large as there are classes",
			"%s: found %" PRIu64 " classes, expected %" PRIu64
			", as the label or the network has",
			url, classes, taken);
}

void objects_say(struct preflight *preflight, const char *url, const struct objects *objects)
{
	if (objects->classes.count == 0 && !objects->homeless.code)
		return;
	if (objects->homeless.code)
		preflight_add_misfit(preflight, true, PART,
				     "write a pattern that matches objects in folders alone", "%s: %s", url,
				     objects->homeless.text);
	/* At the begin of a run the first keys are listed alone, which are of one class. */
	else if (!preflight->brief)
		say_classes(preflight, url, objects);
	if (objects->stray.code && !preflight->brief && !objects->cut)
		preflight_add_misfit(
			preflight, true, PART,
			"add objects of this class to train on, or leave them out of the pattern", "%s: %s",
			url, objects->stray.text);
}

void objects_done(struct objects *objects)
{
	plan_classes_done(&objects->classes);
}
