/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/plan/classes.h"

#include "core/base/json.h"
#include "core/base/visible.h"
#include "core/run/run.h"

#include <inttypes.h>

#define NAME_BYTES 512u

/* Counts the objects of each class in a split. */
static void count(const struct plan *plan, enum split split, uint64_t *objects)
{
	for (uint64_t i = 0; i < plan_source_shards(plan, 0, split); i++)
		objects[plan_shard(plan, 0, split, i).label]++;
}

/* Finds an object of a class in a split. */
static const char *object_of(const struct plan *plan, enum split split, uint64_t class)
{
	for (uint64_t i = 0; i < plan_source_shards(plan, 0, split); i++) {
		const struct plan_shard shard = plan_shard(plan, 0, split, i);

		if (shard.label == class)
			return shard.key;
	}
	return NULL;
}

static int refuse_untrained(const struct config *config, const struct plan *plan, uint64_t class,
			    struct error *err)
{
	const char *validated = object_of(plan, SPLIT_VALIDATION, class),
		   *key = validated ? validated : object_of(plan, SPLIT_TEST, class);
	const bool held = validated && config->split.by == SPLIT_BY_HASH;
	char name[NAME_BYTES];

	return error_set(err, -EINVAL, "%s: class \"%s\": found no object to train on, but \"%s\" to %s; %s",
			 config->source[0].store.url, visible(plan_class(plan, class), name, sizeof(name)),
			 key ? key : "", validated ? "validate" : "test",
			 held ? "all of its few objects are held out: add objects, or set "
				"split.validation_percent = 0"
			      : "add objects of this class for split.train_glob, or leave them out of the "
				"other patterns");
}

static int check_trained(const struct config *config, const struct plan *plan, struct error *err)
{
	const uint64_t classes = plan_class_count(plan);
	CLEANUP(free_ptr) uint64_t *objects = calloc(classes, sizeof(*objects));

	if (!objects)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " classes", classes);
	count(plan, SPLIT_TRAIN, objects);
	for (uint64_t class = 0; class < classes; class ++)
		if (objects[class] == 0)
			return refuse_untrained(config, plan, class, err);
	return 0;
}

int classes_check(const struct config *config, const struct plan *plan, struct error *err)
{
	const struct config_feature *label = config_feature_named(config, config->model.label);
	const uint64_t classes = plan_class_count(plan);
	char name[NAME_BYTES];

	if (!plan_is_of_objects(plan))
		return 0;
	if (classes < 2)
		return error_set(
			err, -EINVAL,
			"%s: all objects of split.train_glob \"%s\" lie in folders named \"%s\", which "
			"is one class; expected two classes or more",
			config->source[0].store.url, config->source[0].train_glob,
			classes ? visible(plan_class(plan, 0), name, sizeof(name)) : "");
	if (label->rank == 1 && label->shape[0] > 1 && label->shape[0] != classes)
		return error_set(err, -EINVAL,
				 "schema: \"%s\" has %" PRIu64 " values, %s has %" PRIu64
				 " classes: expected shape = [ %" PRIu64
				 " ], or [ 1 ] for the number of a class",
				 label->name, label->shape[0], config->source[0].store.url, classes, classes);
	return check_trained(config, plan, err);
}

int classes_note(const struct plan *plan, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	cJSON *names = cJSON_AddArrayToObject(object, "classes");

	if (!plan_is_of_objects(plan))
		return 0;
	for (uint64_t i = 0; i < plan_class_count(plan); i++)
		if (!cJSON_AddItemToArray(names, json_string(plan_class(plan, i))))
			return error_set(err, -ENOMEM, "run.json: no memory");
	return run_note_members(object, err);
}
