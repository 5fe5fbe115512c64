/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the last kernels of a training step: faults of parameters, and whether the step counts. */

#define FAULT_CHUNK_VECTORS 256 /* vectors that share an entry of chunk_fault: see update.cl */

/* The exponents of 16 numbers. All bits set: a NaN or an infinity. */
#define EXPONENTS(x) (as_uint16(x) & 0x7f800000u)

/* Returns whether loss_scale.cl skips the step, which then changes nothing. verdict null: nothing is scaled. */
bool skips(__global const float *verdict)
{
	return verdict && verdict[0] == 0;
}

float rate_of(__global const float *verdict, float rate)
{
	return verdict ? rate * verdict[2] : rate;
}
