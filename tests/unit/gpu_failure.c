/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of OpenCL without a device: the errno, the names, what the driver said, and what to do. */
#include "drivers/gpu/failure.c" // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdlib.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

static struct gpu *gpu;

static const struct {
	const char *label;
	cl_int code;
	bool allocates;
	int expected;
	const char *words;
} cases[] = {
	{ "no memory", CL_MEM_OBJECT_ALLOCATION_FAILURE, false, -ENOMEM, "lower run.batch_rows" },
	{ "out of resources in an allocation", CL_OUT_OF_RESOURCES, true, -ENOMEM, "lower run.batch_rows" },
	{ "out of resources elsewhere", CL_OUT_OF_RESOURCES, false, -EIO,
	  "(-5); a command failed on the device" },
	{ "a failed command", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, false, -EIO,
	  "(-14); a command failed" },
	{ "NVIDIA's fault", -9999, false, -EIO,
	  "outside its buffers, as NVIDIA's driver says (-9999); a command" },
	{ "a lost device", CL_DEVICE_NOT_AVAILABLE, false, -ENODEV, "CL_DEVICE_NOT_AVAILABLE (-2)" },
	{ "no program", CL_BUILD_PROGRAM_FAILURE, false, -ENOEXEC, "CL_BUILD_PROGRAM_FAILURE (-11)" },
	{ "a mistake", CL_INVALID_KERNEL_ARGS, false, -EIO, "CL_INVALID_KERNEL_ARGS (-52)" },
	{ "an unknown code", -12345, false, -EIO, "an unnamed OpenCL error (-12345)" },
};

static void test_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct error err = { 0 };
		int r = cases[i].allocates ? cl_allocation_error(gpu, &err, cases[i].code, "%s", "clFinish")
					   : cl_error(gpu, &err, cases[i].code, "%s", "clFinish");

		if (r != cases[i].expected || err.code != r || !strstr(err.text, cases[i].words) ||
		    strncmp(err.text, "a device: clFinish: ", 20) != 0)
			fail_msg("%s: %d, %s", cases[i].label, r, err.text);
	}
}

/* The text of the driver belongs to the next error only. */
static void test_what_the_driver_says(void **state)
{
	struct error err = { 0 };

	(void)state;
	gpu_said("a message for nobody", NULL, 0, NULL);
	gpu_said("an earlier message", NULL, 0, gpu->said);
	gpu_said("Unspecified launch failure", NULL, 0, gpu->said);
	assert_int_equal(cl_error(gpu, &err, CL_OUT_OF_RESOURCES, "clFinish"), -EIO);
	assert_string_equal(
		err.text,
		"a device: clFinish: CL_OUT_OF_RESOURCES (-5); the driver says: Unspecified launch "
		"failure; a command failed on the device: `journalctl -k` shows what its driver wrote");
	assert_int_equal(cl_error(gpu, &err, CL_OUT_OF_RESOURCES, "clFinish"), -EIO);
	assert_null(strstr(err.text, "the driver says"));
}

static int make(void **state)
{
	(void)state;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu || !(gpu->said = said_new()))
		return -1;
	(void)snprintf(gpu->description, sizeof(gpu->description), "a device");
	return 0;
}

static int destroy(void **state)
{
	(void)state;
	free(gpu->said);
	free(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_what_the_driver_says),
	};

	return cmocka_run_group_tests(tests, make, destroy);
}
