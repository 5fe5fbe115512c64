/* SPDX-License-Identifier: Apache-2.0 */
/* The names of tensors in files: "optimizer/SLOT/LAYER/PARAMETER", "state/NAME", and else "LAYER/PARAMETER".
 */
#pragma once

#include <stdbool.h>

/* Returns whether the tensor is a layer's: neither the optimizer's nor "state/". */
bool name_is_parameter(const char *name);
