/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the kernels of recurrent.cl share with layers/recurrent.c. */
#define RECURRENT_SEQUENCES  1 /* flag: the output has all time steps, not only the last */
#define RECURRENT_BACKWARDS  2 /* flag: the first step of the recurrence is the last one of the input */
#define RECURRENT_KEEP_ORDER 4 /* flag: the output of a step lies where its input does */

/* Functions of gates. */
#define RECURRENT_TANH         0
#define RECURRENT_SIGMOID      1
#define RECURRENT_HARD_SIGMOID 2
#define RECURRENT_RELU         3
#define RECURRENT_LINEAR       4

#define RECURRENT_LANE       16  /* units of a panel: see recurrent.cl */
#define RECURRENT_ROWS       8   /* rows of a work-group on CPU devices */
#define RECURRENT_GROUP_ROWS 4   /* on GPUs */
#define RECURRENT_ITEMS      256 /* work-items of a group on GPUs */
