/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: in the rank KILN_WRONG_RANK of Open MPI, the KILN_WRONG_SEND-th of the large messages has a
 * wrong bit in each number that is not 0. Large messages are gradients: in each step and for each bucket
 * first those to be added, one to each other rank, whose errors all ranks get; then the sums, one to each
 * other rank, first to the next one. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

/* Records that the ranks exchange are smaller (RANKS_RECORD_BYTES). */
#define LARGE 1025

static int number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : -1;
}

/* Returns a copy with wrong bits. It is never freed: MPI may read it until the process ends. */
static const void *spoil(const void *data, int bytes)
{
	uint32_t *copy = malloc((size_t)bytes);

	if (!copy)
		abort();
	memcpy(copy, data, (size_t)bytes);
	for (size_t i = 0; i < (size_t)bytes / sizeof(*copy); i++)
		if (copy[i])
			copy[i] ^= UINT32_C(1) << 22;
	return copy;
}

/* Handles of Open MPI are pointers; only drivers/ranks/mpi includes its header. */
int MPI_Isend(const void *data, int count, void *type, int to, int tag, void *among, void **request);
int MPI_Isend(const void *data, int count, void *type, int to, int tag, void *among, void **request)
{
	static int (*next)(const void *, int, void *, int, int, void *, void **);
	static int large;

	if (!next)
		NEXT(MPI_Isend, next);
	if (count >= LARGE && number_of("OMPI_COMM_WORLD_RANK") == number_of("KILN_WRONG_RANK") &&
	    ++large == number_of("KILN_WRONG_SEND"))
		data = spoil(data, count);
	return next(data, count, type, to, tag, among, request);
}
