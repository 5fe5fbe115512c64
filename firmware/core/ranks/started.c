/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/started.h"

#include "core/base/program.h"
#include "core/ring/cursor.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct launcher {
	const char *name, *world, *rank, *local;
} launchers[] = {
	/* mpirun comes first: in an allocation of Slurm its ranks have the variables of both. */
	{ "mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK" },
	{ "PMI", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID" },
	{ "srun", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID" },
};

static int read_number(const char *name, uint64_t most, uint32_t *ret, struct error *err)
{
	const char *text = getenv(name);
	uint64_t number = 0;

	if (!text || !program_number(text, most, &number))
		return error_set(err, -EINVAL, "%s: found \"%s\", expected 0 .. %" PRIu64, name,
				 text ? text : "", most);
	*ret = (uint32_t)number;
	return 0;
}

static int read_all(const struct launcher *launcher, struct ranks_started *started, struct error *err)
{
	int r = read_number(launcher->world, CURSOR_PLACES_MAX, &started->world, err);

	if (r == 0 && started->world == 0)
		r = error_set(err, -EINVAL, "%s: found 0, expected 1 .. %u", launcher->world,
			      CURSOR_PLACES_MAX);
	if (r == 0)
		r = read_number(launcher->rank, started->world - 1, &started->rank, err);
	if (r == 0)
		r = read_number(launcher->local, started->world - 1, &started->local, err);
	return r < 0 ? error_prefix(err, "the rank that %s gives", launcher->name) : 0;
}

int ranks_started(struct ranks_started *ret_started, struct error *err)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].world))
			return read_all(&launchers[i], ret_started, err);
	return error_set(err, -EINVAL,
			 "found no launcher of ranks, expected mpirun (OMPI_COMM_WORLD_SIZE), PMI "
			 "(PMI_SIZE) or srun (SLURM_NTASKS)");
}
