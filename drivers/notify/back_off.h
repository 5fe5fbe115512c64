/* SPDX-License-Identifier: Apache-2.0 */
/* What alive.c and back_off.c share. */
#pragma once

/* It gets on: the restarts up to now count no longer, and it is not degraded any more. */
void back_off_forget(void);
