/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes of the command line. The daemons use the exit codes of sysexits.h (core/base/error.h). */
#pragma once

enum cli_exit {
	CLI_OK = 0,
	CLI_ERROR = 1,
	CLI_USAGE = 2,
	CLI_SOME_HOSTS = 3,
	CLI_NO_HOST = 4,
	CLI_DEGRADED = 5,
	CLI_FAILED = 6,
	CLI_IDLE = 7,
};
