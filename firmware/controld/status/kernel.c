/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/kernel.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/gpu/fault.h"
#include "drivers/journal/journal.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <systemd/sd-journal.h>

#define OPEN_AGAIN_MS 10000u
#define TELL_AGAIN_MS 600000u

static_assert(sizeof(((struct kernel_told *)0)->device) == GPU_FAULT_DEVICE_BYTES, "an address fits");

/* Tells whether the same fault of the same device was told a short while ago; else notes that it is told, in
 * place of the fault that was told first. */
static bool is_told(struct kernel_log *log, const struct gpu_fault *fault, uint64_t now_ms)
{
	struct kernel_told *oldest = &log->told[0];

	for (size_t i = 0; i < KERNEL_TOLD; i++) {
		struct kernel_told *told = &log->told[i];

		if (told->at_ms && told->xid == fault->xid && strcmp(told->device, fault->device) == 0) {
			if (now_ms - told->at_ms < TELL_AGAIN_MS)
				return true;
			oldest = told;
			break;
		}
		if (told->at_ms < oldest->at_ms)
			oldest = told;
	}
	oldest->xid = fault->xid;
	oldest->at_ms = now_ms;
	memcpy(oldest->device, fault->device, sizeof(oldest->device));
	return false;
}

static void look_at(struct kernel_log *log, const char *line, uint64_t now_ms)
{
	struct gpu_fault fault;
	char number[32] = "";

	if (!gpu_fault_parse(line, &fault) || is_told(log, &fault, now_ms))
		return;
	if (fault.xid)
		(void)snprintf(number, sizeof(number), "Xid %" PRIu64 ", ", fault.xid);
	event_send(&(struct event){ .id = EVENT_GPU_FAULT, .device = fault.device, .count = fault.xid },
		   "GPU %s: its driver says: %s%.400s; %s", fault.device, number, fault.text, fault.advice);
}

/* Opens the journal at its end. */
static int open_log(struct kernel_log *log, struct error *err)
{
	CLEANUP(journal_closep) sd_journal *journal = NULL;
	int r = journal_open(&journal, err);

	if (r < 0 || (r = journal_match_kernel(journal, err)) < 0)
		return r;
	/* The descriptor makes sd_journal_process() notice what is new. */
	r = sd_journal_get_fd(journal);
	if (r >= 0 && (r = sd_journal_seek_tail(journal)) >= 0 && (r = sd_journal_previous(journal)) == 0)
		r = sd_journal_seek_head(journal); /* the kernel has said nothing yet */
	if (r < 0)
		return error_set(err, r, "the journal cannot be followed: %s", strerror(-r));
	log->journal = TAKE(journal);
	return 0;
}

void kernel_sweep(struct kernel_log *log, uint64_t now_ms)
{
	struct error err = { 0 };

	if (!log->journal) {
		if (log->opened_ms && now_ms - log->opened_ms < OPEN_AGAIN_MS)
			return;
		log->opened_ms = now_ms;
		if (open_log(log, &err) < 0)
			log_debug("faults of GPUs are not seen: %s", err.text);
		return;
	}
	(void)sd_journal_process(log->journal);
	while (sd_journal_next(log->journal) > 0) {
		CLEANUP(free_ptr) char *line = journal_field(log->journal, "MESSAGE");

		if (line)
			look_at(log, line, now_ms);
	}
}

void kernel_done(struct kernel_log *log)
{
	journal_closep(&log->journal);
}
