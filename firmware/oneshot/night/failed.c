/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/box/tonight.h"
#include "drivers/manager/manager.h"
#include "drivers/notify/alive.h"
#include "oneshot/night/finished.h"
#include "oneshot/night/night.h"
#include "oneshot/night/start_slots.h"
#include "oneshot/report/ask.h"
#include "oneshot/series/after.h"
#include "oneshot/series/move.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

#define NEXT      "kiln start tries again"
#define WORDS_MAX 8192u
/* exit status EXIT_CREDENTIALS of systemd.exec(5): systemd could not load a credential and did not start the
 * program */
#define BAD_CREDENTIAL 243

/* Returns in words what an exit code means after which a service is not restarted (core/base/error.h). */
static const char *meaning(int32_t status)
{
	static const struct {
		int code;
		const char *text;
	} codes[] = {
		{ EX_DATAERR, "data that cannot be used" },
		{ EX_NOPERM, "refused, or not found" },
		{ EX_CONFIG, "a wrong configuration" },
		{ SERIES_EXIT_MOVE, "its trial waits for its turn in slot 0" },
		{ BAD_CREDENTIAL, "a credential is missing" },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (status == codes[i].code)
			return codes[i].text;
	return "it cannot go on";
}

/* Writes the first mistake in kiln.conf. The program that failed has written all of them to the journal. */
static void mistake_of_config(char *out, size_t size)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	if (config_load(config_path(0, NULL), &config, &err) < 0)
		(void)snprintf(out, size, "%.*s", (int)strcspn(err.text, "\n"), err.text);
}

/* Writes the error with which the program of the unit ended. */
static void words_of(const struct manager_failure *failure, char *out, size_t size)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES], name[32], unit[SLOT_UNIT_BYTES];

	(void)snprintf(out, size, "kiln log tells why");
	if (failure->exit_status == BAD_CREDENTIAL)
		return;
	if (strcmp(failure->unit, "kiln-config.service") == 0)
		mistake_of_config(out, size);
	if (strcmp(failure->unit, slot_unit("kiln-begin", ".service", unit)) == 0 &&
	    file_read(path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path), WORDS_MAX, &text, NULL, NULL) == 0)
		(void)snprintf(out, size, "%s", text);
	for (int i = 0; i < STATUS_DAEMONS; i++) {
		(void)snprintf(name, sizeof(name), "kiln-%s", status_daemon_name((enum status_daemon)i));
		if (strcmp(failure->unit, slot_unit(name, ".service", unit)) == 0)
			(void)alive_last_words((enum status_daemon)i, out, size);
	}
}

/* Tells whether the service did not fail, but the night is over, or the series, or the series rests. */
static bool is_no_failure(int32_t exit_status)
{
	return exit_status == EXIT_NIGHT_OVER || exit_status == SERIES_EXIT_OVER ||
	       exit_status == SERIES_EXIT_REST;
}

/* Finds the service that ended, and sends the event. Returns false where the service did not fail. Asks
 * systemd, because $MONITOR_UNIT and the like are not set where several units have this one in OnFailure=. */
static bool say_which(char *out, size_t size, struct manager_failure *ret_failure)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	struct error err = { 0 };
	char words[600];

	if (manager_open(&manager, &err) < 0 || manager_run_failure(manager, ret_failure, &err) < 0) {
		(void)snprintf(out, size, "which service ended is not known: %.300s; " NEXT, err.text);
	} else {
		words_of(ret_failure, words, sizeof(words));
		(void)snprintf(out, size, "%s ended with %" PRId32 " (%s): %s; %s; " NEXT, ret_failure->unit,
			       ret_failure->exit_status, ret_failure->result,
			       meaning(ret_failure->exit_status), words);
	}
	if (is_no_failure(ret_failure->exit_status)) {
		if (manager_reset_failed(manager, ret_failure->unit, &err) < 0)
			log_warning("%s", err.text);
		return false;
	}
	event_send(&(struct event){ .id = EVENT_RUN_HALTED,
				    .unit = ret_failure->unit,
				    .exit_status = (uint64_t)ret_failure->exit_status },
		   "%s", out);
	return true;
}

/* A slot other than 0 ends no night. Slot 0 ends it when the trials of the others rest. */
static void report_failed(void)
{
	struct tonight tonight;

	if (slot_now() > 0)
		return;
	start_slots_wait_rest();
	report_ask(tonight_get(&tonight, NULL) == 0 ? &tonight : NULL, NULL);
}

/* Tells whether the service works for one run, so that the next trial of a series may go well. Where the
 * others fail, kiln-begin above all, it would fail in the same way at once. */
static bool is_of_run(const char *unit)
{
	char name[SLOT_UNIT_BYTES];

	return strcmp(unit, slot_unit("kiln-fetchd", ".service", name)) == 0 ||
	       strcmp(unit, slot_unit("kiln-traind", ".service", name)) == 0;
}

int oneshot_failed(int argc, char **argv)
{
	struct manager_failure failure = { .unit = "unknown" };
	char reason[1024];
	struct error err = { 0 };
	enum run_state state;
	bool failed, trials, there;

	(void)argc;
	(void)argv;
	failed = say_which(reason, sizeof(reason), &failure);
	trials = is_of_run(failure.unit);
	/* A trial of a series that cannot go on fails, and the others go on. */
	if (failed && after_failure(failure.exit_status, reason, &err) < 0)
		log_warning("%s; the series waits with this trial", err.text);
	if (failed && tonight_say(reason, &err) < 0)
		log_warning("%s; the report of this night will not tell why", err.text);
	if (failed && failure.exit_status == SERIES_EXIT_MOVE) {
		if (move_current(&err) == 0)
			return EX_OK;
		log_warning("%s; the trial stays in its slot", err.text);
	}
	if ((!trials || run_state_get(&state, NULL) < 0 || !run_state_is_final(state)) &&
	    after_halt(&err) < 0)
		log_warning("%s; the series does not say that it waits", err.text);
	there = run_state_get(&state, NULL) == 0;
	if (there)
		log_notice("the run is %s", run_state_name(state));
	if (there ? !failed || run_state_is_final(state) : !failed && after_rests())
		return finished_rest(trials, true, &err) < 0 ? fatal(&err) : EX_OK;
	/* kiln-oneshot begin removes the reason from the record when it goes on with the run. */
	if (there && run_reason_set(reason, &err) < 0)
		log_warning("%s; status will not tell why the run halted", err.text);
	report_failed();
	return EX_OK;
}
