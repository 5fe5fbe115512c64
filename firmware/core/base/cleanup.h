/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clean-up at the end of a scope. At the top of a function declare the variable that owns a resource, with an
 * empty value (NULL or -1). Every return of the function then frees the resource.
 *
 *     CLEANUP(free_ptr) char *text = NULL;
 *     CLEANUP(close_fd) int fd = -1;
 *     return TAKE(text);      returns the value and empties the variable, so nothing is freed
 *
 * A clean-up function gets a pointer to the variable, accepts the empty value, and does not change errno.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn)  __attribute__((cleanup(fn)))
#define MUST_CHECK   __attribute__((warn_unused_result))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Passes ownership of a pointer on: returns the variable's value and sets the variable to NULL. */
#define TAKE(ptr)                        \
	({                               \
		__auto_type take_ = ptr; \
		(ptr) = NULL;            \
		take_;                   \
	})

/* Passes ownership of a file descriptor on: returns the variable's value and sets the variable to -1. */
static inline int take_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

static inline void free_ptr(void *pointer)
{
	free(*(void **)pointer);
}

static inline void close_fd(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

static inline void close_file(FILE **file)
{
	int saved = errno;

	if (*file)
		(void)fclose(*file);
	errno = saved;
}
