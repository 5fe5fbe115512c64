/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many devices the trials of a series may use side by side: the file PATH_USABLE/count, a number as
 * text. kiln-traind --count-devices writes it, because that program alone may open the devices; kiln-oneshot
 * begin reads it when the night of a series begins. No state.
 */
#pragma once

#include "core/base/error.h"

MUST_CHECK int usable_note(unsigned devices, struct error *err);
/* Returns 1 where nobody has noted a number, or the file has none. */
unsigned usable_noted(void);
