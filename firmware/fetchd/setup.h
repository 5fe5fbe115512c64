/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything between the plan and the main loop.
 */
#pragma once

#include "fetchd/fetch.h"

/* Schema, memory, ring, stores and cache; run, plan and cores are set. What scales with the load is sized
 * here, or refused. Errors: -EINVAL the configuration does not fit the plan; those of ring and stores. */
MUST_CHECK int fetch_setup(struct fetch *fetch, struct error *err);

/* Errors: -EAGAIN. */
MUST_CHECK int fetch_start_threads(struct fetch *fetch, struct error *err);
