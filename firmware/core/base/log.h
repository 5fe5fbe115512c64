/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs say. Library code returns errors, program code logs them once, where it decides.
 *
 * Events, core/base/events.h, are for what a person or a machine wants to hear of; lines for the rest.
 *
 * Where standard error is the journal (JOURNAL_STREAM says so) lines carry the <N> priority prefix of
 * sd-daemon(3); otherwise they read "HH:MM:SS name: text". One write(2) a line, so lines of several processes
 * never mix. Thread-safe. Never called in the hot path.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <syslog.h>

#define LOG_TEXT_MAX 5000u /* bytes of a line; the rest is cut */

/* Name the program, as its unit is named without "kiln-"; lines above `level` (LOG_ERR .. LOG_DEBUG, default
 * LOG_INFO) are dropped. KILN_LOG=debug|info| notice|warning|err in the environment sets the level. */
void log_open(const char *program);

void log_line(int level, const char *format, ...) PRINTF(2, 3);

#define log_err(...)     log_line(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)

/* The name that log_open() was given. */
const char *log_program(void);
/* Standard error is the journal, and not a file or a pipe with the environment of something that it is for.
 */
bool log_is_journal(void);
