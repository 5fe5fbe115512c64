/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a device: builds a kernel, launches it and verifies its result. */
#pragma once

#include "drivers/gpu/gpu.h"

/* Runs the test. Errors: those of gpu.h; -EIO a result is wrong; the text names the first wrong result. */
MUST_CHECK int self_test(struct gpu *gpu, struct error *err);
