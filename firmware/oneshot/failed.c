/* SPDX-License-Identifier: Apache-2.0 */
#include "core/events.h"
#include "core/log.h"
#include "oneshot/oneshot.h"

#include <string.h>
#include <sysexits.h>

static const char *given(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : "unknown";
}

/* What a final exit code means, core/error.h. */
static const char *meaning(const char *status)
{
	static const struct {
		int code;
		const char *text;
	} codes[] = {
		{ EX_DATAERR, "data that cannot be used" },
		{ EX_NOPERM, "refused, or not found" },
		{ EX_CONFIG, "a wrong configuration" },
		{ 243, "a credential is missing" }, /* systemd.exec(5), EXIT_CREDENTIALS */
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (atoi(status) == codes[i].code)
			return codes[i].text;
	return "it cannot go on";
}

/* Until begin takes the run up again. What cannot be noted stands in the journal. */
static void note_reason(void)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };
	char reason[256];

	(void)snprintf(reason, sizeof(reason),
		       "%s ended with %s %s (%s): %s; kiln log tells why, kiln start tries again",
		       given("MONITOR_UNIT"), given("MONITOR_EXIT_CODE"), given("MONITOR_EXIT_STATUS"),
		       given("MONITOR_SERVICE_RESULT"), meaning(given("MONITOR_EXIT_STATUS")));
	(void)cJSON_AddItemToObject(note, "reason", json_string(reason));
	if (json_print(note, &text, &err) < 0 || run_note(text, &err) < 0)
		log_warning("%s; status will not tell why the run halted", err.text);
}

int oneshot_failed(int argc, char **argv)
{
	struct error err = { 0 };
	enum run_state state;

	(void)argc;
	(void)argv;
	/* systemd.exec(5): of the unit whose OnFailure= this is. */
	event_send(&(struct event){ .id = EVENT_RUN_HALTED,
				    .unit = given("MONITOR_UNIT"),
				    .exit_status = strtoul(given("MONITOR_EXIT_STATUS"), NULL, 10) },
		   "%s ended with %s %s (%s): %s. Its journal says why; `kiln start` tries again",
		   given("MONITOR_UNIT"), given("MONITOR_EXIT_CODE"), given("MONITOR_EXIT_STATUS"),
		   given("MONITOR_SERVICE_RESULT"), meaning(given("MONITOR_EXIT_STATUS")));
	if (run_state_get(&state, NULL) < 0)
		return EX_OK;
	log_notice("the run is %s", run_state_name(state));
	if (!run_state_is_final(state))
		note_reason();
	return run_state_is_final(state) && finished_rest(&err) < 0 ? fatal(&err) : EX_OK;
}
