/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of a training step share behind the gradients: faults of parameters, and whether the step counts. */

#define FAULT_CHUNK_VECTORS 256 /* of a fault: see update.cl */

/* Exponents of 16 numbers; all ones is a NaN or an infinity. */
#define EXPONENTS(x) (as_uint16(x) & 0x7f800000u)

/* What loss_scale.cl says of the step, null: nothing is scaled. A step that is skipped changes nothing. */
bool skips(__global const float *verdict)
{
	return verdict && verdict[0] == 0;
}

float rate_of(__global const float *verdict, float rate)
{
	return verdict ? rate * verdict[2] : rate;
}
