/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs say. Library code returns errors, program code logs them once, where it decides.
 *
 * Under systemd (JOURNAL_STREAM set) lines carry the <N> priority prefix of sd-daemon(3); otherwise they read
 * "HH:MM:SS name: text" on standard error. One write(2) a line, so lines of several processes never mix.
 * Thread-safe. Never called in the hot path.
 */
#pragma once

#include "core/error.h"

#include <syslog.h>

/* Name the program; lines above `level` (LOG_ERR .. LOG_DEBUG, default LOG_INFO) are dropped.
 * KILN_LOG=debug|info| notice|warning|err in the environment sets the level. */
void log_open(const char *program);

void log_line(int level, const char *format, ...) PRINTF(2, 3);

#define log_err(...)     log_line(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)

/* Log the error and give the exit code that belongs to it: `return fatal(&err);` ends a main(). */
int fatal(const struct error *err);
