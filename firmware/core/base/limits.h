/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel allows a process.
 */
#pragma once

/* As many open files as the hard limit allows: the soft one, 1024 as a rule, is for programs that call
 * select(2). Best effort; once, at the start. */
void limits_raise_files(void);
