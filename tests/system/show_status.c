/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one member of a daemon's status page: show_status DAEMON MEMBER
 */
#include "core/run/status.h"

#include <inttypes.h>
#include <string.h>

static int show(const struct status *status, const char *member)
{
	if (strcmp(member, "run_id") == 0)
		return puts(status->run_id);
	if (strcmp(member, "phase") == 0)
		return puts(status->phase);
	if (strcmp(member, "text") == 0)
		return puts(status->text);
	if (strcmp(member, "pid") == 0)
		return printf("%d\n", status->pid);
	if (strcmp(member, "step") == 0 && status->daemon == STATUS_TRAIND)
		return printf("%" PRIu64 "\n", status->traind.step);
	if (strcmp(member, "busy_us") == 0 && status->daemon == STATUS_TRAIND)
		return printf("%" PRIu64 "\n", status->traind.busy_us);
	if (strcmp(member, "throttled_us") == 0 && status->daemon == STATUS_TRAIND)
		return printf("%" PRIu64 "\n", status->traind.throttled_us);
	if (strcmp(member, "bytes") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%" PRIu64 "\n", status->fetchd.bytes);
	if (strcmp(member, "pace_reason") == 0 && status->daemon == STATUS_FETCHD)
		return puts(status->fetchd.pace_reason);
	if (strcmp(member, "ahead") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%u\n", status->fetchd.ahead);
	if (strcmp(member, "hedged") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%" PRIu64 "\n", status->fetchd.hedged);
	if (strcmp(member, "cache_hits") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%" PRIu64 "\n", status->fetchd.cache_hits);
	if (strcmp(member, "next_objects") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%" PRIu64 "\n", status->fetchd.next_objects);
	if (strcmp(member, "cache_written") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%" PRIu64 "\n", status->fetchd.cache_written);
	if (strcmp(member, "memory_bytes") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%" PRIu64 "\n", status->fetchd.memory_bytes);
	if (strcmp(member, "batch") == 0 && status->daemon == STATUS_FETCHD)
		return printf("%" PRIu64 "\n", status->fetchd.batch);
	if (strcmp(member, "checkpoint_step") == 0 && status->daemon == STATUS_UPLOADD)
		return printf("%" PRIu64 "\n", status->uploadd.checkpoint_step);
	if (strcmp(member, "bytes") == 0 && status->daemon == STATUS_UPLOADD)
		return printf("%" PRIu64 "\n", status->uploadd.bytes);
	if (strcmp(member, "tracking") == 0 && status->daemon == STATUS_UPLOADD)
		return puts(status->uploadd.tracking);
	return -1;
}

int main(int argc, char **argv)
{
	struct status status;
	struct error err;

	for (int d = 0; argc == 3 && d < STATUS_DAEMONS; d++)
		if (strcmp(argv[1], status_daemon_name((enum status_daemon)d)) == 0) {
			if (status_read((enum status_daemon)d, &status, &err) == 0)
				return show(&status, argv[2]) < 0 ? 2 : 0;
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
	return 2;
}
