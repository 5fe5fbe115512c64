/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device does what it is there for: a kernel is built for it, launched, and its result verified. */
#pragma once

#include "drivers/gpu/gpu.h"

/* Errors: gpu.h's; -EIO a result is wrong, the text names the first. */
MUST_CHECK int self_test(struct gpu *gpu, struct error *err);
