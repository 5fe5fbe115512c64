/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the kernels of attention.cl share with layers/attention.c. */
#define ATTENTION_SIZE_MAX 256 /* most numbers of a query, key or value of a head */
#define ATTENTION_LANES    16  /* queries or keys of a work-group on CPU devices */
#define ATTENTION_TILE     32  /* on GPUs */
#define ATTENTION_COLUMNS  64  /* numbers of each of them that a group computes on GPUs */
