/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one run, a rank each, and what they exchange, on Open MPI. This folder is the only one
 * that knows MPI, and no type of MPI leaves it. A world of 1 loads no library and starts no thread: every
 * call of it returns at once. A larger world loads kiln-ranks.so, the only file that is linked with Open MPI.
 *
 * Order: ranks_open -> (any exchange)* -> ranks_close, once in the life of a process, because MPI starts
 * once. All ranks make the same calls, with the same counts, in the same order.
 *
 * Exchange of gradients, in two halves. ranks_reduce_start() leaves in each rank's own chunk (ranks_chunk())
 * the sum of all ranks. Then the rank updates its chunk, and ranks_spread_start() gives all chunks to all
 * ranks. The two halves move as many bytes as one all-reduce: 2 (world - 1) / world of the values, out of
 * each rank; half of them where the values travel as bfloat16 (enum ranks_type).
 *
 * Several boxes of several ranks: the ranks of a box add among themselves first, and give each other what
 * came from other boxes (groups.h). So 2 (boxes - 1) / boxes of the values leave a box, however many ranks it
 * has. This needs as many ranks on each box as on the others, numbered box by box, and the lanes of each box
 * as a node of the tree. Otherwise each rank exchanges with all others.
 *
 * Order of a sum: a binary tree over lanes, of which each rank owns a node. Neighbours are added, level by
 * level, and an odd one goes up as it is: ((l0 + l1) + (l2 + l3)) + l4. A rank brings the sum of its own
 * node, so with RANKS_FLOAT32 the sum of all is the same for each way to divide the lanes among ranks.
 * Without ranks_wish.lanes each rank is a lane. Each element is added by one rank, in float32, without
 * contraction. So the result depends on the values and on the world alone, not on the time at which they
 * arrive, and is the same in all ranks, bit for bit. Where several addends are NaN, the sum is NaN; which
 * payload it has is not said.
 *
 * Threads: one thread of this module calls MPI; no code of the caller runs on it. While it has no work it
 * wakes once a millisecond, to move on what it sent; while it waits for other ranks it asks again and again,
 * in the first 2 ms without a rest. All calls come from one thread of the caller at a time, except
 * ranks_abort(), which any thread may make. Memory: ranks_open() allocates 4 MiB for each other rank, 256 MiB
 * at most, and 4 KiB for each rank; after it our own code allocates nothing (Open MPI may).
 *
 * Errors of every exchange: -ETIMEDOUT a rank sends nothing for `patience_s`; -EBADMSG a rank sends another
 * number of bytes; -EIO MPI failed. The text names the rank and its host. After an error every later call
 * returns the same one, and memory of exchanges that were not complete stays in use until the process ends. A
 * rank that dies or calls ranks_abort() ends all: Open MPI's mpirun, which names a dead rank, sends SIGTERM
 * to the others.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANKS_MAX          1024u /* ranks of a world */
#define RANKS_HOST_BYTES   64u
#define RANKS_SAME_BYTES   384u
#define RANKS_PENDING_MAX  64u /* exchanges that have begun and are not complete */
#define RANKS_RECORD_BYTES 1024u

struct ranks;

struct ranks_wish {
	uint32_t world;      /* ranks that the launcher has to start, 1 .. RANKS_MAX */
	uint32_t patience_s; /* how long to wait for a rank in an exchange, 1 .. */
	/* The number of lanes that each rank owns, [world], the same in all ranks; lane 0 is the first of
	 * rank 0. NULL = one each. Read by ranks_open() alone. */
	const uint32_t *lanes;
	const char *same;    /* text that has to be equal in all ranks, such as the id of the build */
	const char *library; /* path of kiln-ranks.so; NULL = it is in the folder of this program */
};

/* Where a rank is. The host's name says on which box: ranks with the same name are on the same box. */
struct ranks_where {
	char host[RANKS_HOST_BYTES]; /* cut when too long */
	uint32_t box;                /* 0 .., in the order of the lowest rank of each box */
	uint32_t local;              /* 0 .., in the order of ranks among those of the box */
};

/* Joins the world; returns when every rank has. Blocks until the launcher has started them. Where the program
 * was not started by mpirun, the world is 1.
 * Errors: -ENOENT kiln-ranks.so or Open MPI is not there (the text names the package); -EINVAL the launcher
 * started another number of ranks, `same` differs from rank 0's, the library is of another version, the lanes
 * of a rank are no node of the tree, or a wish is out of range; -ENOMEM; those of an exchange. */
MUST_CHECK int ranks_open(const struct ranks_wish *wish, struct ranks **ret_ranks, struct error *err);
/* Waits for the exchanges that have begun, then leaves the world, when every rank does. After an error it
 * leaves at once, without a word to the others: end the process with a code that is not 0, or call
 * ranks_abort(). Accepts NULL. */
void ranks_close(struct ranks *ranks);
void ranks_closep(struct ranks **ranks);
/* Ends all ranks. The process ends with `code`, the others by SIGTERM of the launcher. Logs which rank began,
 * because Open MPI 4.1.4 often loses its own words of it. Log the reason before. Does not return. */
_Noreturn void ranks_abort(struct ranks *ranks, int code);

uint32_t ranks_world(const struct ranks *ranks);
uint32_t ranks_rank(const struct ranks *ranks);
uint32_t ranks_boxes(const struct ranks *ranks);
/* Returns where a rank is; valid until ranks_close(). */
const struct ranks_where *ranks_where(const struct ranks *ranks, uint32_t rank);

/*
 * How the values of an exchange travel. In memory they are float32.
 *
 * RANKS_FLOAT32: as they are in memory.
 * RANKS_BFLOAT16: as bfloat16, which is half of the bytes. Each value is rounded to the nearest number of
 * bfloat16; of two that are equally near, to the one with an even last bit. NaN stays NaN, an infinity stays
 * as it is, and a magnitude of 2^128 - 2^119 or more becomes infinite. Rounding changes a value x by at most
 * 2^-8 |x|, or by at most 2^-134 where |x| is below 2^-126. Where ranks add box by box, only what leaves a
 * box travels so: the sums of boxes are rounded, and the values of single ranks are not.
 *
 * Where no value is NaN or infinite, or becomes so, the errors of RANKS_BFLOAT16 are at most:
 *   reduce  (2^-8 + 2^-23 levels) of the sum of the addends' magnitudes, where `levels` are those of the tree
 *           of ranks: what travels is rounded, and the owner's addend, too; then all is added in float32
 *   spread  2^-8 of the magnitude of each value
 * and 2^-134 more for each magnitude below 2^-126. The result is the same in all ranks, and in each run, as
 * with RANKS_FLOAT32. But it depends on how lanes are divided among ranks and boxes, because the sum of a
 * rank's own lanes, or of a box's, is rounded. A world of 1 sends nothing and rounds nothing. The two halves
 * of an exchange may have different types: weights that are spread as RANKS_FLOAT32 keep small changes.
 */
enum ranks_type { RANKS_FLOAT32, RANKS_BFLOAT16 };

/* Values of a bucket of gradients or weights: the caller's memory, aligned to 4 bytes, better to 64. All
 * ranks give the same type and count. */
struct ranks_values {
	enum ranks_type type;
	void *values;   /* float32 */
	uint64_t count; /* 0 .. */
};

struct ranks_chunk {
	uint64_t first, count; /* elements */
};
/* Returns the elements that a rank owns. Chunks have the same size, a multiple of 16 elements, so that each
 * begins at a multiple of 64 bytes; the last ones are shorter or empty where `count` does not divide. */
struct ranks_chunk ranks_chunk(uint64_t count, uint32_t world, uint32_t rank);

/* Begin one half of an exchange. The memory stays the module's until the exchange is complete: nobody reads
 * or writes it. ranks_reduce_start(): afterwards the own chunk has the sums in float32, the other elements
 * are undefined. ranks_spread_start(): afterwards each chunk is what its owner had; with RANKS_BFLOAT16 it is
 * rounded, the owner's own copy too. Exchanges run one after another, in the order of their starts. Both
 * return at once, except that they block while RANKS_PENDING_MAX have begun. *ret_ticket is for ranks_wait().
 */
MUST_CHECK int ranks_reduce_start(struct ranks *ranks, const struct ranks_values *values,
				  uint64_t *ret_ticket, struct error *err);
MUST_CHECK int ranks_spread_start(struct ranks *ranks, const struct ranks_values *values,
				  uint64_t *ret_ticket, struct error *err);
/* Blocks until the exchange of the ticket, and those before it, are complete. */
MUST_CHECK int ranks_wait(struct ranks *ranks, uint64_t ticket, struct error *err);

/* Gives the bytes of rank `root` to all. Blocks. */
MUST_CHECK int ranks_broadcast(struct ranks *ranks, void *data, uint64_t bytes, uint32_t root,
			       struct error *err);
/* Gives every rank the records of all: `all` has world x bytes, in the order of ranks. `bytes` is at most
 * RANKS_RECORD_BYTES, and the same in all ranks. Blocks. */
MUST_CHECK int ranks_gather(struct ranks *ranks, const void *record, uint32_t bytes, void *all,
			    struct error *err);
/* Compares a text of fewer than RANKS_SAME_BYTES characters in all ranks. Blocks. Errors: -EINVAL it differs
 * from rank 0's; *ret_rank is the first such rank, and all ranks get the same error. */
MUST_CHECK int ranks_compare(struct ranks *ranks, const char *same, uint32_t *ret_rank, struct error *err);
/* Returns when every rank is here. Blocks. */
MUST_CHECK int ranks_barrier(struct ranks *ranks, struct error *err);
