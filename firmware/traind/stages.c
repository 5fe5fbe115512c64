/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the trainer's time went to: at any moment its main thread is in one stage. run.json gets "time"
 * {starts, starting_s, waiting_s, training_s, evaluating_s, checkpoints_s, paused_s}, over all the processes
 * that have worked on the run; of one that is killed, what it noted last. And "device".
 */
#include "core/base/clock.h"
#include "drivers/gpu/gpu.h"
#include "traind/train.h"

static const char *const names[] = {
	[STAGE_STARTING] = "starting_s",       [STAGE_WAITING] = "waiting_s",
	[STAGE_TRAINING] = "training_s",       [STAGE_EVALUATING] = "evaluating_s",
	[STAGE_CHECKPOINTS] = "checkpoints_s", [STAGE_PAUSED] = "paused_s"
};
static_assert(sizeof(names) / sizeof(names[0]) == STAGE_MAX, "every stage has its name");

void stages_begin(struct train *train)
{
	train->stages = (struct stages){ .now = STAGE_STARTING, .since_us = clock_us(), .starts = 1 };
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) && item->valuedouble > 0 ? item->valuedouble : 0;
}

void stages_restore(struct train *train, const cJSON *record)
{
	const cJSON *time = cJSON_GetObjectItemCaseSensitive(record, "time");

	for (int i = 0; i < STAGE_MAX; i++)
		train->stages.before_s[i] = number(time, names[i]);
	train->stages.starts += (uint64_t)number(time, "starts");
}

enum stage stages_enter(struct train *train, enum stage stage)
{
	struct stages *stages = &train->stages;
	const uint64_t now_us = clock_us();
	const enum stage before = stages->now;

	stages->spent_us[before] += now_us - stages->since_us;
	stages->since_us = now_us;
	stages->now = stage;
	return before;
}

void stages_batch(struct train *train, enum split split)
{
	(void)stages_enter(train, train->stages.done[split] < WARM_BATCHES ? STAGE_STARTING
				  : split == SPLIT_TRAIN                   ? STAGE_TRAINING
									   : STAGE_EVALUATING);
}

void stages_batch_done(struct train *train, enum split split)
{
	struct stages *stages = &train->stages;

	if (stages->done[split] < WARM_BATCHES && ++stages->done[split] == WARM_BATCHES &&
	    stages->now == STAGE_STARTING)
		stages_batch(train, split);
}

bool stages_add(struct train *train, cJSON *object)
{
	struct stages *stages = &train->stages;
	cJSON *time = cJSON_AddObjectToObject(object, "time");
	bool done = json_add_u64(time, "starts", stages->starts);

	(void)stages_enter(train, stages->now);
	for (int i = 0; i < STAGE_MAX; i++)
		done = done &&
		       cJSON_AddNumberToObject(time, names[i],
					       stages->before_s[i] + (double)stages->spent_us[i] / 1e6);
	return done && cJSON_AddItemToObject(object, "device", json_string(gpu_description(train->gpu)));
}

int stages_note(struct train *train, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!stages_add(train, object))
		return error_set(err, -ENOMEM, "run.json: no memory");
	r = json_print(object, &text, err);
	return r < 0 ? r : run_note(text, err);
}
