/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-ranks.so: the table of drivers/ranks/library.h on MPI 3 (MPI: A Message-Passing Interface
 * Standard 3.1). */
#include "drivers/ranks/library.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG 1

/* A group of messages: first the receives, then the sends, in the order in which they were added. */
struct group {
	MPI_Request *request;
	MPI_Status *status;
	uint32_t *peer, *bytes; /* bytes: UINT32_MAX of a message to send */
	int count;
};

static struct {
	MPI_Comm world;
	struct group group[LIBRARY_LANES];
} mpi;

static int failed(const char *call, int code, char why[static LIBRARY_WHY_BYTES])
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length;

	(void)MPI_Error_string(code, text, &length);
	(void)snprintf(why, LIBRARY_WHY_BYTES, "%s: %s", call, text);
	return -EIO;
}

static int allocate(struct group *group, size_t messages)
{
	group->request = calloc(messages, sizeof(MPI_Request));
	group->status = calloc(messages, sizeof(*group->status));
	group->peer = calloc(messages, sizeof(*group->peer));
	group->bytes = calloc(messages, sizeof(*group->bytes));
	return group->request && group->status && group->peer && group->bytes ? 0 : -ENOMEM;
}

/* A daemon has its own handling of signals; Open MPI would print a backtrace for some of them. */
static void leave_signals(void)
{
	(void)setenv("OMPI_MCA_opal_signal", "", 0);
}

static int open_world(uint32_t *ret_world, uint32_t *ret_rank, char why[static LIBRARY_WHY_BYTES])
{
	int world, rank, provided, r;

	leave_signals();
	/* Open MPI's levels below MPI_THREAD_MULTIPLE cost the same. */
	if ((r = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided)) != MPI_SUCCESS)
		return failed("MPI_Init_thread", r, why);
	/* A communicator of its own: messages of other users of MPI do not mix with Kiln's. */
	if ((r = MPI_Comm_dup(MPI_COMM_WORLD, &mpi.world)) != MPI_SUCCESS)
		return failed("MPI_Comm_dup", r, why);
	(void)MPI_Comm_set_errhandler(mpi.world, MPI_ERRORS_RETURN);
	(void)MPI_Comm_size(mpi.world, &world);
	(void)MPI_Comm_rank(mpi.world, &rank);
	for (uint32_t i = 0; i < LIBRARY_LANES; i++) {
		if (allocate(&mpi.group[i], 2 * (size_t)world) < 0) {
			(void)snprintf(why, LIBRARY_WHY_BYTES, "no memory for the messages of %d ranks",
				       world);
			return -ENOMEM;
		}
	}
	*ret_world = (uint32_t)world;
	*ret_rank = (uint32_t)rank;
	return 0;
}

static void close_world(void)
{
	for (uint32_t i = 0; i < LIBRARY_LANES; i++) {
		free(mpi.group[i].request);
		free(mpi.group[i].status);
		free(mpi.group[i].peer);
		free(mpi.group[i].bytes);
	}
	(void)MPI_Comm_free(&mpi.world);
	(void)MPI_Finalize();
}

static void abort_world(int code)
{
	(void)MPI_Abort(MPI_COMM_WORLD, code);
}

static MPI_Request *add(struct group *group, uint32_t peer, uint32_t bytes)
{
	group->peer[group->count] = peer;
	group->bytes[group->count] = bytes;
	return &group->request[group->count++];
}

static int receive(uint32_t lane, const struct library_message *m, char why[static LIBRARY_WHY_BYTES])
{
	MPI_Request *request = add(&mpi.group[lane], m->peer, m->bytes);
	const int r = MPI_Irecv(m->data, (int)m->bytes, MPI_BYTE, (int)m->peer, TAG, mpi.world, request);

	return r == MPI_SUCCESS ? 0 : failed("MPI_Irecv", r, why);
}

static int send(uint32_t lane, const struct library_message *m, char why[static LIBRARY_WHY_BYTES])
{
	MPI_Request *request = add(&mpi.group[lane], m->peer, UINT32_MAX);
	const int r = MPI_Isend(m->data, (int)m->bytes, MPI_BYTE, (int)m->peer, TAG, mpi.world, request);

	return r == MPI_SUCCESS ? 0 : failed("MPI_Isend", r, why);
}

/* Finds a message that is missing: one to receive, or else one that its receiver does not take. */
static uint32_t missing(uint32_t lane)
{
	const struct group *group = &mpi.group[lane];
	uint32_t peer = 0;

	for (int i = group->count - 1; i >= 0; i--) {
		int complete = 0;

		(void)MPI_Request_get_status(group->request[i], &complete, MPI_STATUS_IGNORE);
		if (!complete)
			peer = group->peer[i];
	}
	return peer;
}

/* Checks that each message had the expected size. */
static int check_sizes(const struct group *group, int count, uint32_t *ret_peer,
		       char why[static LIBRARY_WHY_BYTES])
{
	for (int i = 0; i < count; i++) {
		int bytes = 0;

		if (group->bytes[i] == UINT32_MAX)
			continue;
		(void)MPI_Get_count(&group->status[i], MPI_BYTE, &bytes);
		if ((uint32_t)bytes == group->bytes[i])
			continue;
		*ret_peer = group->peer[i];
		(void)snprintf(why, LIBRARY_WHY_BYTES, "sent %d bytes, expected %u", bytes, group->bytes[i]);
		return -EBADMSG;
	}
	return 1;
}

/* Finds the message for which MPI_Testall() failed. */
static int find_failed(const struct group *group, int code, uint32_t *ret_peer,
		       char why[static LIBRARY_WHY_BYTES])
{
	int class;

	for (int i = 0; code == MPI_ERR_IN_STATUS && i < group->count; i++) {
		const int error = group->status[i].MPI_ERROR;

		if (error == MPI_SUCCESS || error == MPI_ERR_PENDING)
			continue;
		*ret_peer = group->peer[i];
		(void)failed("MPI_Testall", error, why);
		(void)MPI_Error_class(error, &class);
		if (class != MPI_ERR_TRUNCATE)
			return -EIO;
		(void)snprintf(why, LIBRARY_WHY_BYTES, "sent more than the expected %u bytes",
			       group->bytes[i]);
		return -EBADMSG;
	}
	return failed("MPI_Testall", code, why);
}

static int done(uint32_t lane, uint32_t *ret_peer, char why[static LIBRARY_WHY_BYTES])
{
	struct group *group = &mpi.group[lane];
	int complete = 0;
	const int r = MPI_Testall(group->count, group->request, &complete, group->status);
	const int count = group->count;

	*ret_peer = UINT32_MAX;
	if (r != MPI_SUCCESS)
		return find_failed(group, r, ret_peer, why);
	if (!complete)
		return 0;
	group->count = 0;
	return check_sizes(group, count, ret_peer, why);
}

static void tick(void)
{
	int found;

	(void)MPI_Iprobe(MPI_ANY_SOURCE, TAG, mpi.world, &found, MPI_STATUS_IGNORE);
}

__attribute__((visibility("default"))) const struct ranks_library kiln_ranks_library = {
	.version = LIBRARY_VERSION,
	.open = open_world,
	.close = close_world,
	.abort = abort_world,
	.receive = receive,
	.send = send,
	.done = done,
	.missing = missing,
	.tick = tick,
};
