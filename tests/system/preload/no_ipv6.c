/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: behaves like a kernel with ipv6.disable=1. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int socket(int family, int type, int protocol)
{
	if (family == AF_INET6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return (int)syscall(SYS_socket, family, type, protocol);
}
