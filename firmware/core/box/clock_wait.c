/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/clock_wait.h"

#include "core/base/clock.h"
#include "core/base/paths.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define NOTE       "clock-wait"
#define NOTE_BYTES 128u

void clock_wait_begin(const char *verb, unsigned wait_s)
{
	char path[PATH_BYTES], text[NOTE_BYTES];

	(void)snprintf(text, sizeof(text), "%d %" PRIu64 " %.31s\n", (int)getpid(),
		       clock_ms() + wait_s * 1000u, verb);
	if (path_make(path_of(PATH_RUNTIME, NULL, path), NULL) == 0)
		(void)!file_write_durable(path_of(PATH_RUNTIME, NOTE, path), text, strlen(text), NULL);
}

void clock_wait_end(void)
{
	char path[PATH_BYTES];

	(void)unlink(path_of(PATH_RUNTIME, NOTE, path));
}

bool clock_wait_find(char verb[static CLOCK_WAIT_VERB_BYTES], unsigned *ret_left_s)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t until_ms, now_ms = clock_ms();
	int pid;

	if (file_read(path_of(PATH_RUNTIME, NOTE, path), NOTE_BYTES, &text, NULL, NULL) < 0 ||
	    sscanf(text, "%d %" SCNu64 " %31s", &pid, &until_ms, verb) != 3 || pid <= 0 ||
	    until_ms <= now_ms || (kill(pid, 0) < 0 && errno != EPERM))
		return false;
	*ret_left_s = (unsigned)((until_ms - now_ms + 999) / 1000);
	return true;
}
