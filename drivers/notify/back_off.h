/* SPDX-License-Identifier: Apache-2.0 */
/* What alive.c and back_off.c share. */
#pragma once

/* It runs well: the restarts up to now count no longer. */
void back_off_forget(void);
