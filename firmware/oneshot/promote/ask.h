/* SPDX-License-Identifier: Apache-2.0 */
/* Asks systemd to judge the model of a night. A failure is only a warning: the champion stays. */
#pragma once

#include "core/config/config.h"

#include <stdbool.h>

/* Where promote.against asks for it, starts kiln-promote.service and waits until it has ended. Call it once
 * the files of the run or of the series are in the store and its state is final, and before the report is
 * made. `config`: the frozen one. The service is one of its own, because the callers run as root, without
 * network and without the device. */
void promote_ask(const struct config *config);

/* Where promote.against asks for it, has the model judged once kiln-uploadd has uploaded what is left. */
void promote_later(const struct config *config);

/* Returns whether the current run has finished, promote.against asks for a promotion, and its record, or
 * that of its series, has no outcome, or branches of the series are left: a power cut came between. */
bool promote_is_due(void);
