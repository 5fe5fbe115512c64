/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/launch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define NOWHERE "/nonexistent"
/* mpirun refuses to run as root unless both variables are set. For another user they have no meaning. */
#define AS_ROOT                                       \
	{ "OMPI_ALLOW_RUN_AS_ROOT", "1" },            \
	{                                             \
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" \
	}

void ranks_texts_done(struct ranks_texts *texts)
{
	while (texts->count > 0) {
		texts->count--;
		free(TAKE(texts->text[texts->count]));
	}
}

static int add(struct ranks_texts *texts, struct error *err, const char *format, ...) PRINTF(3, 4);

static int add(struct ranks_texts *texts, struct error *err, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int bytes;

	if (texts->count == RANKS_LISTED_MAX)
		return error_set(err, -EINVAL, "mpirun: more than %u words", RANKS_LISTED_MAX);
	va_start(args, format);
	bytes = vasprintf(&text, format, args);
	va_end(args);
	if (bytes < 0)
		return error_set(err, -ENOMEM, "no memory");
	texts->text[texts->count++] = text;
	return 0;
}

/* A parameter of Open MPI, or another variable. */
struct variable {
	const char *name, *value;
};

static int add_all(struct ranks_texts *texts, const struct variable *variables, size_t count,
		   struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = add(texts, err, "%s=%s", variables[i].name, variables[i].value);
	return r;
}

/* ---- The environment ---- */

/* Adds the variables that mpirun and orted need in any case: on each box of a job, and on one box alone. */
static int add_folder(struct ranks_texts *texts, const char *folder, struct error *err)
{
	const struct variable variables[] = {
		{ "HOME", folder },
		{ "TMPDIR", folder },
		/* Otherwise hwloc loads a plugin for OpenCL, and so every driver. */
		{ "HWLOC_PLUGINS_PATH", NOWHERE },
		{ "OMPI_MCA_orte_tmpdir_base", folder },
		{ "OMPI_MCA_pml", "ob1" },
		/* Ranks of a box share files in the job's folder, which is removed with the unit, and do not
		 * read each other's memory, which the unit's filter of system calls forbids. */
		{ "OMPI_MCA_btl_vader_backing_directory", folder },
		{ "OMPI_MCA_btl_vader_single_copy_mechanism", "none" },
		/* Kiln puts its threads on cores itself. */
		{ "OMPI_MCA_hwloc_base_binding_policy", "none" },
	};

	return add_all(texts, variables, sizeof(variables) / sizeof(variables[0]), err);
}

static int add_common(struct ranks_texts *texts, const struct ranks_job_wish *job, struct error *err)
{
	const struct variable variables[] = {
		/* For the linker, which PoCL starts by its name. Every program that Open MPI starts has a
		 * whole path. */
		{ "PATH", "/usr/bin" },
		{ "OMPI_MCA_oob_tcp_if_include", job->network },
		{ "OMPI_MCA_btl_tcp_if_include", job->network },
		{ "OMPI_MCA_btl", "self,vader,tcp" },
		/* A box that has lost its power or its network is noticed after about 30 s, not after 8
		   minutes. */
		{ "OMPI_MCA_oob_tcp_keepalive_time", "10" },
		{ "OMPI_MCA_oob_tcp_keepalive_intvl", "5" },
		{ "OMPI_MCA_oob_tcp_keepalive_probes", "4" },
	};
	int r = add_folder(texts, job->folder, err);

	if (r == 0)
		r = add_all(texts, variables, sizeof(variables) / sizeof(variables[0]), err);
	/* orted looks for an agent, too, although it starts no other orted. */
	return r < 0 ? r : add(texts, err, "OMPI_MCA_plm_rsh_agent=%s ranks-agent", job->oneshot);
}

int ranks_orted_environment(const struct ranks_job_wish *job, struct ranks_texts *ret_environment,
			    struct error *err)
{
	CLEANUP(ranks_texts_done) struct ranks_texts texts = { .count = 0 };
	int r = add_common(&texts, job, err);

	if (r < 0 || (r = add(&texts, err, RANKS_FOLLOWS "=1")) < 0)
		return r;
	*ret_environment = texts;
	texts = (struct ranks_texts){ .count = 0 };
	return 0;
}

static int add_leaders(struct ranks_texts *texts, const struct ranks_launch *launch, struct error *err)
{
	const struct variable variables[] = {
		{ RANKS_JOB_NAME, launch->job.name },
		{ "KILN_PKI", launch->pki },
		{ "OMPI_MCA_plm", "rsh" },
		/* mpirun itself calls the agent for each box, and each orted speaks with mpirun alone. */
		{ "OMPI_MCA_plm_rsh_no_tree_spawn", "1" },
		{ "OMPI_MCA_routed", "direct" },
		{ "OMPI_MCA_plm_rsh_pass_environ_mca_params", "0" },
		/* orted stays the main process of its unit. */
		{ "OMPI_MCA_orte_leave_session_attached", "1" },
		/* Devices are counted, not cores. */
		{ "OMPI_MCA_rmaps_base_oversubscribe", "1" },
		AS_ROOT,
	};

	return add_all(texts, variables, sizeof(variables) / sizeof(variables[0]), err);
}

/* ---- The words ---- */

/* Writes "HOST:RANKS,HOST:RANKS". */
static int add_hosts(struct ranks_texts *words, const struct ranks_launch *launch, struct error *err)
{
	CLEANUP(free_ptr) char *list = NULL;
	size_t size = 0;
	CLEANUP(close_file) FILE *out = open_memstream(&list, &size);

	for (size_t i = 0; out && i < launch->count; i++)
		(void)fprintf(out, "%s%s:%" PRIu32, i ? "," : "", launch->boxes[i].host,
			      launch->boxes[i].ranks);
	if (!out || fflush(out) != 0)
		return error_set(err, -ENOMEM, "no memory");
	return add(words, err, "%s", list);
}

static int count_ranks(const struct ranks_launch *launch, uint32_t *ret_ranks, struct error *err)
{
	uint32_t ranks = 0;

	for (size_t i = 0; i < launch->count; i++) {
		if (launch->boxes[i].ranks == 0)
			return error_set(err, -EINVAL, "job %s: box %s has no rank, expected 1 or more",
					 launch->job.name, launch->boxes[i].host);
		ranks += launch->boxes[i].ranks;
	}
	if (ranks == 0)
		return error_set(err, -EINVAL, "job %s: it has no box", launch->job.name);
	*ret_ranks = ranks;
	return 0;
}

static int add_program(struct ranks_texts *words, const char *const *program, struct error *err)
{
	int r = 0;

	for (const char *const *word = program; r == 0 && *word; word++)
		r = add(words, err, "%s", *word);
	return r;
}

static int add_words(struct ranks_texts *words, const struct ranks_launch *launch, struct error *err)
{
	uint32_t ranks = 0;
	int r = count_ranks(launch, &ranks, err);

	if (r < 0 || (r = add(words, err, "mpirun")) < 0 || (r = add(words, err, "-n")) < 0 ||
	    (r = add(words, err, "%" PRIu32, ranks)) < 0 || (r = add(words, err, "--host")) < 0 ||
	    (r = add_hosts(words, launch, err)) < 0)
		return r;
	return add_program(words, launch->program, err);
}

int ranks_mpirun(const struct ranks_launch *launch, struct ranks_texts *ret_words,
		 struct ranks_texts *ret_environment, struct error *err)
{
	CLEANUP(ranks_texts_done) struct ranks_texts words = { .count = 0 };
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	int r = add_words(&words, launch, err);

	if (r < 0 || (r = add_common(&environment, &launch->job, err)) < 0 ||
	    (r = add_leaders(&environment, launch, err)) < 0)
		return r;
	*ret_words = words;
	*ret_environment = environment;
	words = environment = (struct ranks_texts){ .count = 0 };
	return 0;
}

/* ---- One box alone ---- */

static int add_alone(struct ranks_texts *texts, const struct ranks_alone *alone, struct error *err)
{
	static const struct variable variables[] = {
		{ "OMPI_MCA_btl", "self,vader" },
		{ "OMPI_MCA_oob_tcp_if_include", "lo" },
		/* mpirun starts no process elsewhere, also where this process belongs to a job of a
		 * cluster. */
		{ "OMPI_MCA_plm", "isolated" },
		{ "OMPI_MCA_ras", "^slurm,gridengine" },
		/* Devices are counted, not cores. */
		{ "OMPI_MCA_rmaps_base_oversubscribe", "1" },
		AS_ROOT,
	};
	const int r = add_folder(texts, alone->folder, err);

	return r < 0 ? r : add_all(texts, variables, sizeof(variables) / sizeof(variables[0]), err);
}

int ranks_mpirun_alone(const struct ranks_alone *alone, struct ranks_texts *ret_words,
		       struct ranks_texts *ret_environment, struct error *err)
{
	CLEANUP(ranks_texts_done) struct ranks_texts words = { .count = 0 };
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	int r;

	if ((r = add(&words, err, "mpirun")) < 0 || (r = add(&words, err, "-n")) < 0 ||
	    (r = add(&words, err, "%" PRIu32, alone->ranks)) < 0 ||
	    (r = add_program(&words, alone->program, err)) < 0 ||
	    (r = add_alone(&environment, alone, err)) < 0)
		return r;
	*ret_words = words;
	*ret_environment = environment;
	words = environment = (struct ranks_texts){ .count = 0 };
	return 0;
}
