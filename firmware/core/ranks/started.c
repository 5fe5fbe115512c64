/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/started.h"

#include "core/base/program.h"
#include "core/ring/cursor.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct launcher {
	const char *name, *world, *rank, *local, *locals;
	bool listed; /* `locals` is a list of the ranks, not their number */
} launchers[] = {
	/* mpirun and mpiexec come first: in an allocation of Slurm their ranks have the variables of both. */
	{ "mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
	  "OMPI_COMM_WORLD_LOCAL_SIZE", false },
	{ "PMI", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", false },
	{ "srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", true },
};

static const char *value_of(const char *name)
{
	const char *text = getenv(name);

	return text ? text : "";
}

static int read_number(const char *name, uint64_t least, uint64_t most, uint32_t *ret, struct error *err)
{
	const char *text = value_of(name);
	uint64_t number = 0;

	if (!program_number(text, most, &number) || number < least)
		return error_set(err, -EINVAL, "%s: found \"%s\", expected %" PRIu64 " .. %" PRIu64, name,
				 text, least, most);
	*ret = (uint32_t)number;
	return 0;
}

/* Counts the numbers of a list such as "4,5,6". */
static int count_list(const char *name, uint64_t most, uint32_t *ret, struct error *err)
{
	const char *text = value_of(name);
	uint32_t count = *text != '\0';

	for (const char *at = text; *at; at++)
		count += *at == ',';
	if (count < 1 || count > most)
		return error_set(err, -EINVAL, "%s: found \"%s\", expected 1 .. %" PRIu64 " ranks", name,
				 text, most);
	*ret = count;
	return 0;
}

static int read_all(const struct launcher *launcher, struct ranks_started *started, struct error *err)
{
	int r = read_number(launcher->world, 1, CURSOR_PLACES_MAX, &started->world, err);

	if (r == 0)
		r = read_number(launcher->rank, 0, started->world - 1, &started->rank, err);
	if (r == 0 && launcher->listed)
		r = count_list(launcher->locals, started->world, &started->locals, err);
	else if (r == 0)
		r = read_number(launcher->locals, 1, started->world, &started->locals, err);
	if (r == 0)
		r = read_number(launcher->local, 0, started->locals - 1, &started->local, err);
	return r < 0 ? error_prefix(err, "the rank that %s gives", launcher->name) : 0;
}

int ranks_started(struct ranks_started *ret_started, struct error *err)
{
	/* srun --mpi=pmi2 sets PMI_SIZE, but no MPI_LOCALRANKID. A batch script of Slurm has the index of a
	 * task, but no SLURM_STEP_NUM_TASKS. */
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].world) && getenv(launchers[i].local))
			return read_all(&launchers[i], ret_started, err);
	return error_set(err, -EINVAL,
			 "found no launcher of ranks, expected mpirun (OMPI_COMM_WORLD_SIZE), mpiexec "
			 "(PMI_SIZE and MPI_LOCALRANKID) or srun (SLURM_STEP_NUM_TASKS)");
}
