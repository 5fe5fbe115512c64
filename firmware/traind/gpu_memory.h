/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Looks every GPU_MEMORY_EVERY calls whether a GPU found errors in its memory that it could not correct, and
 * sends an event for each that did. The thread that reads the sensors calls it after each pass. */
void gpu_memory_look(void);

#define GPU_MEMORY_EVERY 10u
