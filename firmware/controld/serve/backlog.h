/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of one client that wait, on their way in or out. All backlogs together have one budget,
 * CONTROL_BUFFERS_MAX, which the caller holds: many slow clients must not cost the box its memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct backlog {
	char *data;
	size_t size;       /* bytes of memory */
	size_t start, end; /* the bytes in it; those before `start` are done with */
};

static inline size_t backlog_bytes(const struct backlog *backlog)
{
	return backlog->end - backlog->start;
}

/* Bytes of memory that must be added before `bytes` more fit. */
size_t backlog_growth(const struct backlog *backlog, size_t bytes);
/* Adds `growth` bytes of memory. False: no memory. */
bool backlog_grow(struct backlog *backlog, size_t growth);
/* Appends what backlog_growth() made fit. */
void backlog_append(struct backlog *backlog, const char *data, size_t bytes);
/* Moves the bytes to the beginning of the memory. */
void backlog_compact(struct backlog *backlog);
/* Frees the memory; the backlog is empty then. */
void backlog_clear(struct backlog *backlog);
