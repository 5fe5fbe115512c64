/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/stages.h"
#include "core/base/clock.h"

#include <assert.h>
#include <math.h>

static const char *const names[] = {
	[STAGE_STARTING] = "starting_s",       [STAGE_WAITING] = "waiting_s",
	[STAGE_TRAINING] = "training_s",       [STAGE_EVALUATING] = "evaluating_s",
	[STAGE_CHECKPOINTS] = "checkpoints_s", [STAGE_PAUSED] = "paused_s"
};
static_assert(sizeof(names) / sizeof(names[0]) == STAGE_MAX, "every stage has its name");

void stages_begin(struct stages *stages)
{
	*stages = (struct stages){ .now = STAGE_STARTING, .since_us = clock_us(), .starts = 1 };
}

void stages_restore(struct stages *stages, const cJSON *record)
{
	const cJSON *time = cJSON_GetObjectItemCaseSensitive(record, "time");

	for (int i = 0; i < STAGE_MAX; i++)
		stages->before_s[i] = fmax(json_number(time, names[i], 0), 0);
	stages->starts += (uint64_t)fmax(json_number(time, "starts", 0), 0);
}

enum stage stages_enter(struct stages *stages, enum stage stage)
{
	const uint64_t now_us = clock_us();
	const enum stage before = stages->now;

	stages->spent_us[before] += now_us - stages->since_us;
	stages->since_us = now_us;
	stages->now = stage;
	return before;
}

void stages_batch(struct stages *stages, enum split split)
{
	(void)stages_enter(stages, stages->done[split] < WARM_BATCHES ? STAGE_STARTING
				   : split == SPLIT_TRAIN             ? STAGE_TRAINING
								      : STAGE_EVALUATING);
}

void stages_batch_done(struct stages *stages, enum split split)
{
	if (stages->done[split] < WARM_BATCHES && ++stages->done[split] == WARM_BATCHES &&
	    stages->now == STAGE_STARTING)
		stages_batch(stages, split);
}

bool stages_add(struct stages *stages, cJSON *object)
{
	cJSON *time = cJSON_AddObjectToObject(object, "time");
	bool done = json_add_u64(time, "starts", stages->starts);

	(void)stages_enter(stages, stages->now);
	for (int i = 0; i < STAGE_MAX; i++)
		done = done &&
		       cJSON_AddNumberToObject(time, names[i],
					       stages->before_s[i] + (double)stages->spent_us[i] / 1e6);
	return done;
}
