/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource limits of the process, setrlimit(2).
 */
#pragma once

/* Raises the limit of open files to the hard limit. The soft limit, usually 1024, protects programs that call
 * select(2); Kiln's do not. Call it once, at the start. A failure is ignored. */
void limits_raise_files(void);
