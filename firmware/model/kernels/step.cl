/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the last kernels of a training step: finding parameters that are NaN or infinite, and asking whether the
 * step is skipped. */

#define FAULT_CHUNK_VECTORS 256 /* this many vectors share an entry of chunk_fault: see update.cl */

/* The exponent bits of 16 numbers. A number whose exponent bits are all 1 is a NaN or an infinity. */
#define EXPONENTS(x) (as_uint16(x) & 0x7f800000u)

/* Keeps the first fault of a chunk, of which several items may have numbers. */
void keep_fault(__global uint *chunk_fault, uint fault)
{
	uint found = *chunk_fault;

	while (found == 0 || found > fault) {
		const uint before = atomic_cmpxchg(chunk_fault, found, fault);

		if (before == found)
			return;
		found = before;
	}
}

/* Returns whether loss_scale.cl skips the step, so that the step must change nothing. verdict null: there is no loss
 * scale, and no step is skipped. */
bool skips(__global const float *verdict)
{
	return verdict && verdict[0] == 0;
}

float rate_of(__global const float *verdict, float rate)
{
	return verdict ? rate * verdict[2] : rate;
}
