/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Returns how many bytes of memory the kernel can give to processes without swapping (MemAvailable,
 * proc_meminfo(5)); 0 where the kernel does not tell. */
uint64_t memory_available(void);
