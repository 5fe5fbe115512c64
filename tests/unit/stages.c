/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer's stages. Includes traind's .c file, which is in no archive. */
#include "traind/stages.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_enter_adds_up(void **state)
{
	struct stages stages;
	uint64_t begin_us, spent_us = 0;

	(void)state;
	stages_begin(&stages);
	begin_us = stages.since_us;
	assert_int_equal(stages_enter(&stages, STAGE_WAITING), STAGE_STARTING);
	assert_int_equal(stages_enter(&stages, STAGE_PAUSED), STAGE_WAITING);
	assert_int_equal(stages_enter(&stages, STAGE_PAUSED), STAGE_PAUSED);
	for (int i = 0; i < STAGE_MAX; i++)
		spent_us += stages.spent_us[i];
	assert_int_equal(spent_us, stages.since_us - begin_us);
	assert_int_equal(stages.spent_us[STAGE_TRAINING], 0);
}

/* The first batches of each split count as starting until the device has finished WARM_BATCHES of them. */
static void test_first_batches_are_starting(void **state)
{
	struct stages stages;

	(void)state;
	stages_begin(&stages);
	/* the main thread enqueues more batches than the device has finished */
	for (unsigned i = 0; i < WARM_BATCHES + 3; i++) {
		stages_batch(&stages, SPLIT_TRAIN);
		assert_int_equal(stages.now, STAGE_STARTING);
	}
	for (unsigned i = 0; i < WARM_BATCHES; i++) {
		assert_int_equal(stages.now, STAGE_STARTING);
		stages_batch_done(&stages, SPLIT_TRAIN);
	}
	assert_int_equal(stages.now, STAGE_TRAINING);
	stages_batch(&stages, SPLIT_VALIDATION);
	assert_int_equal(stages.now, STAGE_STARTING);
	for (unsigned i = 0; i < WARM_BATCHES; i++)
		stages_batch_done(&stages, SPLIT_VALIDATION);
	assert_int_equal(stages.now, STAGE_EVALUATING);
	stages_batch(&stages, SPLIT_TRAIN);
	assert_int_equal(stages.now, STAGE_TRAINING);
}

/* A batch that the device finishes while the main thread waits does not change the stage. */
static void test_done_in_another_stage(void **state)
{
	struct stages stages;

	(void)state;
	stages_begin(&stages);
	(void)stages_enter(&stages, STAGE_WAITING);
	for (unsigned i = 0; i < WARM_BATCHES; i++)
		stages_batch_done(&stages, SPLIT_TRAIN);
	assert_int_equal(stages.now, STAGE_WAITING);
}

static double time_member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItem(cJSON_GetObjectItem(object, "time"), key)->valuedouble;
}

static void test_adds_earlier_processes(void **state)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(json_free)
	cJSON *record = cJSON_Parse("{\"time\": {\"starts\": 3, \"training_s\": 7.5, \"paused_s\": -1}}");
	struct stages stages;

	(void)state;
	stages_begin(&stages);
	stages_restore(&stages, record);
	stages.spent_us[STAGE_TRAINING] = 2500000;
	assert_true(stages_add(&stages, object));
	assert_int_equal((int)time_member(object, "starts"), 4);
	assert_true(time_member(object, "training_s") == 10);
	assert_true(time_member(object, "paused_s") == 0);
	assert_true(time_member(object, "starting_s") >= 0);
}

static void test_without_a_record(void **state)
{
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	struct stages stages;

	(void)state;
	stages_begin(&stages);
	stages_restore(&stages, record);
	assert_int_equal(stages.starts, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enter_adds_up),
		cmocka_unit_test(test_first_batches_are_starting),
		cmocka_unit_test(test_done_in_another_stage),
		cmocka_unit_test(test_adds_earlier_processes),
		cmocka_unit_test(test_without_a_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
