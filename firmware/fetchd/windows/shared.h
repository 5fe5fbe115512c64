/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared buffer of a window of objects. The small objects of a window lie in it one after the other, in
 * place of a buffer for each one.
 *
 * Why: a buffer that is used for one object after the other grows to the largest one, and hundreds of objects
 * are in flight. The shared buffer has the size of the objects that it holds, and there is one allocation for
 * all of them, at the start: the largest window is known from the plan. Larger objects have buffers of their
 * own.
 *
 * Called with fetch->lock held.
 */
#pragma once

#include "fetchd/windows/window.h"

#define SHARED_OBJECT_MAX (UINT64_C(256) << 10) /* a larger object has a buffer of its own */

/* Returns the bytes that an object of this size takes in a shared buffer; 0 = it has a buffer of its own. */
uint64_t shared_place(uint64_t bytes);

/* Allocates the addresses for the largest window of the plan, fetch->windows->shared_most bytes. */
void shared_begin(struct fetch *fetch, struct window *window);

/* Returns the bytes on the account once each object with a slice has its place. */
uint64_t shared_bytes(const struct window *window);

/* Gives each object of the window that has slice_bytes its place. On a full disk no object gets one: each
 * then needs a buffer of its own. Errors: -ENOMEM. */
MUST_CHECK int shared_divide(struct window *window, struct error *err);
