/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a segment and of the run.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* The last, smaller batch, which lies in the open slot; at the next step END_SEGMENT, with the start of the
 * next segment as its cursor. A segment without rows ends the generation with an error where that would make
 * the run's figures meaningless. */
enum step end_segment(struct producer *producer);

enum step end_run(struct producer *producer);
