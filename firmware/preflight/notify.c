/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"
#include "drivers/people/people.h"
#include "preflight/preflight.h"

#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 320u

static const char *test_text(char out[static TEXT_BYTES])
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(out, TEXT_BYTES, "%s: kiln check: this is a test", host);
	return out;
}

static int post(const struct config *config, const char *said, struct error *err)
{
	CLEANUP(json_free) cJSON *message = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	cJSON_AddItemToObject(message, "text", json_string(said));
	cJSON_AddBoolToObject(message, "test", true);
	r = json_print(message, &text, err);
	return r < 0 ? r : people_post(config, text, strlen(text), 0, err);
}

static void check_url(struct preflight *preflight, const char *said)
{
	struct error err = { 0 };

	if (post(preflight->config, said, &err) < 0)
		preflight_add_error(preflight, "notify", &err);
	else
		preflight_add(preflight, "notify", PREFLIGHT_OK, "", "notify.url took a test message");
}

static void check_mail(struct preflight *preflight, const char *said)
{
	struct error err = { 0 };

	if (people_mail(preflight->config, said, said, 0, &err) < 0)
		preflight_add_error(preflight, "mail", &err);
	else
		preflight_add(preflight, "mail", PREFLIGHT_OK, "", "%s took a test mail to %s",
			      preflight->config->notify.mail_server, preflight->config->notify.mail_to);
}

/* A monitor of another kind does not know /log, and healthchecks.io does not know a wrong address: the answer
 * is the same. */
static void check_monitor(struct preflight *preflight, const char *said)
{
	struct error err = { 0 };
	int r = people_beat(preflight->config, PEOPLE_BEAT_LOG, said, 0, &err);

	if (r == -ENOENT)
		preflight_add(preflight, "heartbeat", PREFLIGHT_WARNING,
			      "compare the address with the monitor's; a monitor that does not know "
			      "ADDRESS/log cannot be tried without an alarm",
			      "notify.heartbeat_url: %s", err.text);
	else if (r < 0)
		preflight_add_error(preflight, "heartbeat", &err);
	else
		preflight_add(preflight, "heartbeat", PREFLIGHT_OK, "",
			      "notify.heartbeat_url took a line for its log, which changes nothing there");
}

void preflight_notify(struct preflight *preflight)
{
	const struct config *config = preflight->config;
	char said[TEXT_BYTES];

	(void)test_text(said);
	if (people_have_url(config))
		check_url(preflight, said);
	if (people_have_mail(config))
		check_mail(preflight, said);
	if (people_have_monitor(config))
		check_monitor(preflight, said);
}
