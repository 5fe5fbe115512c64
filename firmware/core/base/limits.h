/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource limits of the process, setrlimit(2).
 */
#pragma once

/* Raises the limit of open files of this process from the soft limit to the hard limit. The soft limit,
 * usually 1024, exists for programs that call select(2), and Kiln does not call it. Call this function once,
 * at the start of a program. A failure is ignored. */
void limits_raise_files(void);
