/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How kernels of GPUs that work on rows divide a group: it has ROW_ITEMS items, each row ROW_LANES(columns)
 * of them, a power of two. A lane has at most four columns, but more in rows of more than 4 * ROW_ITEMS
 * columns. plan/rows.h and kernels/rows.clh include this file.
 */
#ifndef __OPENCL_VERSION__
#pragma once
#endif

#define ROW_ITEMS 64
#define ROW_LANES(columns)                                   \
	((columns) > 128                                     \
		 ? 64                                        \
		 : ((columns) > 64                           \
			    ? 32                             \
			    : ((columns) > 32                \
				       ? 16                  \
				       : ((columns) > 16 ? 8 \
							 : ((columns) > 8 ? 4 : ((columns) > 4 ? 2 : 1))))))
