/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kiln-ranks.so gives: the few things that Kiln needs of MPI, in a table without MPI's types. One thread
 * makes all calls; none of them blocks, except open() and close(), which wait for the other ranks. Functions
 * return 0 or a negative errno and write a sentence without a full stop into `why`.
 */
#pragma once

#include <stdint.h>

#define LIBRARY_VERSION   1u
#define LIBRARY_SYMBOL    "kiln_ranks_library"
#define LIBRARY_WHY_BYTES 512u
#define LIBRARY_LANES     4u /* groups of messages that are on their way at the same time */

/* Bytes for a rank, or from it. The memory stays in use until done() says that the group is complete. */
struct library_message {
	void *data;
	uint32_t bytes; /* at most INT32_MAX */
	uint32_t peer;
};

struct ranks_library {
	uint32_t version; /* LIBRARY_VERSION */
	/* Joins the world. Errors: -EIO, -ENOMEM. */
	int (*open)(uint32_t *ret_world, uint32_t *ret_rank, char why[static LIBRARY_WHY_BYTES]);
	/* Leaves the world, when every rank does. */
	void (*close)(void);
	/* Ends all ranks. */
	void (*abort)(int code);
	/* Adds a message to group `lane`, which is complete when all its messages are; at most world messages
	 * each way. Messages between two ranks arrive in the order in which they were sent. Errors: -EIO. */
	int (*receive)(uint32_t lane, const struct library_message *message,
		       char why[static LIBRARY_WHY_BYTES]);
	int (*send)(uint32_t lane, const struct library_message *message, char why[static LIBRARY_WHY_BYTES]);
	/* Moves messages on. Returns 1 when the group is complete, and empties it; 0 before. Errors: -EBADMSG
	 * a message of *ret_peer has another size; -EIO MPI failed, with a message of *ret_peer or UINT32_MAX
	 * = with none of them. */
	int (*done)(uint32_t lane, uint32_t *ret_peer, char why[static LIBRARY_WHY_BYTES]);
	/* Returns a rank that the group waits for. */
	uint32_t (*missing)(uint32_t lane);
	/* Moves messages on that were sent and are still here. */
	void (*tick)(void);
};
