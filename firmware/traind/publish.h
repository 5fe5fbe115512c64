/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traind's status page (core/run/status.h), for `kiln status` and kiln-controld. Main thread only. If the
 * page cannot be opened, that is logged and the run goes on without a status page.
 */
#pragma once

#include "core/base/error.h"
#include "core/run/status.h"
#include "model/model.h"

struct train;

/* What the main thread waits for between two batches. */
enum publish_wait {
	WAIT_FEED,     /* a batch of kiln-fetchd */
	WAIT_RANKS,    /* the other ranks, before all begin a batch */
	WAIT_EXCHANGE, /* gradients and weights of the other ranks */
	WAITS
};

struct publish {
	struct status_page *page; /* NULL: the page could not be opened */
	struct status status;     /* the content of the page */
	uint64_t written_us;
	uint64_t batch_us;         /* when the last batch was enqueued; 0 = no batch since the phase began, or
			      kernels are compiled */
	uint64_t waited_us[WAITS]; /* time spent waiting since then */
	struct status_rank_times times; /* times of this rank, until the last batch or phase */
	enum split split;               /* split of the last batch */
	uint64_t segment;
};

void publish_open(struct train *train);
/* Writes the page a last time: it stays after the process, and a run that has stopped shows its last step.
 * Call it before the model is closed. */
void publish_close(struct train *train);
/* Sets the phase and the text of the page, and systemd's STATUS=. */
void publish_phase(struct train *train, const char *phase, const char *format, ...) PRINTF(3, 4);
/* Counts a batch of `rows` rows that was enqueued. */
void publish_batch(struct train *train, enum split split, uint64_t segment, uint32_t rows);
/* Notes that a segment of `batches` batches has ended. */
void publish_segment(struct train *train, enum split split, uint64_t batches);
/* Sets the metrics of the segment so far. */
void publish_metrics(struct train *train, enum split split, const struct model_metrics *metrics);
/* Adds time in which the main thread waited. */
void publish_waited(struct train *train, enum publish_wait wait, uint64_t us);
/* Returns how this rank has spent its time until now. */
struct status_rank_times publish_times(const struct train *train);
/* Sets where a rank is and what it trains on; rank 0 of several publishes all ranks. */
void publish_rank(struct train *train, uint32_t rank, const char *host, const char *device);
/* Sets the times of rank `rank`, in the order of ranks: after the last one, the rows are those of all. */
void publish_rank_times(struct train *train, uint32_t rank, const struct status_rank_times *times);
/* Adds time paused to cool down; the first call adds the pauses of earlier processes of the run. */
void publish_throttled(struct train *train, uint64_t us);
