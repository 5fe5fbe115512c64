/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines. Library code returns errors; program code logs an error once, where it decides what to do.
 *
 * News that a person or a machine waits for is an event (core/base/events.h); everything else is a line.
 *
 * Where standard error is the journal, a line carries the <N> priority prefix of sd-daemon(3); elsewhere it
 * reads "HH:MM:SS name: text". Each line is one write(2), so lines of several processes never mix.
 * Thread-safe. Never call it in the hot path.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <syslog.h>

#define LOG_TEXT_MAX 5000u /* longest text of a line in bytes; the rest is cut */

/* Sets the name of the program in log lines: the name of its unit without "kiln-". The environment variable
 * KILN_LOG=debug|info|notice|warning|err sets the level, by default info; less important lines are not
 * logged. */
void log_open(const char *program);

void log_line(int level, const char *format, ...) PRINTF(2, 3);

#define log_err(...)     log_line(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)

/* Returns the name that log_open() was given. */
const char *log_program(void);
/* Tells whether standard error is the journal. Checks more than the variable JOURNAL_STREAM, because a child
 * process inherits this variable even where its standard error is redirected to a file or a pipe. */
bool log_is_journal(void);
