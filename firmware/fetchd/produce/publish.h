/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits to the ring, in order, the slots that are sealed and that no worker fills any more.
 *
 * Crash: a slot is in the ring after ring_commit() alone. What is claimed, sealed or half filled before is
 * made again by the next process, from the reader's cursor.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Returns whether any slot was committed. */
bool publish_ready(struct producer *producer);
