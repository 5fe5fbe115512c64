/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps between the plan and the main loop: sizes the memory, opens ring, stores and cache, starts the
 * threads.
 */
#pragma once

#include "fetchd/shared/fetch.h"

/* Sets up schema, memory, ring, stores and cache; run, plan and cores are set before. All memory that depends
 * on the configuration and the data is sized here, or refused. Errors: -EINVAL the configuration does not fit
 * the plan; those of ring and stores. */
MUST_CHECK int fetch_setup(struct fetch *fetch, struct error *err);

/* Starts the threads of network, workers, cache and next trial. Errors: -EAGAIN. */
MUST_CHECK int fetch_start_threads(struct fetch *fetch, struct error *err);
