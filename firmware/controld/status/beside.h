/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/json.h"

#include <stdbool.h>

/* Adds beside: the trials of `series` that train in slots other than 0 (core/base/slot.h): an array of {slot,
 * trial, run, alive, phase, text, epoch, epochs, step, percent, loss, validation_loss}; null = not known.
 * alive: the trainer works. */
void beside_add(cJSON *object, const cJSON *series);

/* Tells whether a series goes on in other slots: slot 0 may have no trial then. */
bool beside_goes_on(void);
/* Writes which daemon of another slot does not work as it should, and why. Returns out; NULL = all do. */
const char *beside_trouble(char *out, size_t size);
