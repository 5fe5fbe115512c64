/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer for the bytes of one client that wait to be parsed or to be sent. All backlogs together have one
 * budget, CONTROL_BUFFERS_MAX, which the caller checks: many slow clients must not use up the memory of the
 * box.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct backlog {
	char *data;
	size_t size;       /* allocated bytes */
	size_t start, end; /* the bytes that wait are data[start] to data[end - 1] */
};

static inline size_t backlog_bytes(const struct backlog *backlog)
{
	return backlog->end - backlog->start;
}

/* Returns how many bytes must be allocated before `bytes` more fit. */
size_t backlog_growth(const struct backlog *backlog, size_t bytes);
/* Allocates `growth` more bytes. False: no memory. */
bool backlog_grow(struct backlog *backlog, size_t growth);
/* Appends bytes for which backlog_grow() has made space. */
void backlog_append(struct backlog *backlog, const char *data, size_t bytes);
/* Moves the bytes that wait to the beginning of the buffer. */
void backlog_compact(struct backlog *backlog);
/* Frees the memory; the backlog is empty then. */
void backlog_clear(struct backlog *backlog);
