/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "fetchd/fetch.h"

int main(void)
{
	static struct fetch fetch = { .lock = PTHREAD_MUTEX_INITIALIZER,
				      .work = PTHREAD_COND_INITIALIZER,
				      .progress = PTHREAD_COND_INITIALIZER };
	struct error err = { 0 };

	log_open("fetchd");
	alive_back_off(STATUS_FETCHD);
	if (run_load(&fetch.run, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	const struct config *config = &fetch.run.config;

	if (nic_cores_find("", config->fetch.nic, config->fetch.cores, &fetch.cores, &err) < 0 ||
	    fetch_plan(&fetch.run, &fetch.plan, &err) < 0 || fetch_setup(&fetch, &err) < 0 ||
	    fetch_start_threads(&fetch, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	alive_open();
	notify_ready("fetching %s", config->source.url);
	if (fetch_run(&fetch, &err) < 0)
		return alive_fatal(STATUS_FETCHD, &err);
	return 0;
}
