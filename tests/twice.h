/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of drivers/gpu: a kernel that computes y = 2 x + add in groups of 4. Include it after
 * cmocka.h. */
#pragma once

#include "core/base/error.h"

static const char twice_text[] = "__kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
				 "void twice(__global const float *x, __global float *y, float add)\n"
				 "{\n"
				 "	y[get_global_id(0)] = 2 * x[get_global_id(0)] + add;\n"
				 "}\n";

static void must(int rc, const struct error *err)
{
	if (rc < 0)
		fail_msg("%s", err->text);
}
