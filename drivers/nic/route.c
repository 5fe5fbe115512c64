/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel for the route to a host (rtnetlink(7), RTM_GETROUTE). The answer follows all rules and
 * tables of routes, which the files in /proc/net do not show; and it holds where the box's own address lies
 * on a loopback interface, as with BGP down to the box.
 */
#include "core/base/paths.h"
#include "drivers/nic/nic.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define WAIT_S 2 /* for the kernel's answer, which comes at once */

struct question {
	struct nlmsghdr header;
	struct rtmsg route;
	struct rtattr attribute;
	unsigned char address[16];
};

/* Makes the question for an address. Returns false where it is neither IPv4 nor IPv6. */
static bool make_question(const struct sockaddr *address, struct question *ret_question)
{
	const void *bytes =
		address->sa_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
			: &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	const size_t count = address->sa_family == AF_INET ? 4 : 16;

	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return false;
	*ret_question = (struct question){
		.header = { .nlmsg_len = (uint32_t)(offsetof(struct question, address) + count),
			    .nlmsg_type = RTM_GETROUTE,
			    .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = (unsigned char)address->sa_family,
			   .rtm_dst_len = (unsigned char)(8 * count) },
		.attribute = { .rta_len = (unsigned short)RTA_LENGTH(count), .rta_type = RTA_DST },
	};
	memcpy(ret_question->address, bytes, count);
	return true;
}

/* Returns the index of the interface in the kernel's answer, or -errno. */
static int interface_of(struct nlmsghdr *answer, size_t bytes)
{
	struct rtattr *at;
	int left;

	if (!NLMSG_OK(answer, bytes))
		return -EPROTO;
	if (answer->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(answer))->error;
	if (answer->nlmsg_type != RTM_NEWROUTE)
		return -EPROTO;
	at = RTM_RTA((struct rtmsg *)NLMSG_DATA(answer));
	left = (int)RTM_PAYLOAD(answer);
	while (RTA_OK(at, left)) {
		const unsigned step = RTA_ALIGN(at->rta_len);

		if (at->rta_type == RTA_OIF && RTA_PAYLOAD(at) == sizeof(int))
			return *(const int *)RTA_DATA(at);
		left -= (int)step;
		at = (struct rtattr *)(void *)((char *)at + step);
	}
	return -ENETUNREACH;
}

static int ask(const struct sockaddr *address)
{
	CLEANUP(close_fd) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	const struct timeval wait = { .tv_sec = WAIT_S };
	union {
		struct nlmsghdr header;
		char bytes[4096];
	} answer;
	struct question question;
	ssize_t n;

	if (!make_question(address, &question))
		return -EAFNOSUPPORT;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    send(fd, &question, question.header.nlmsg_len, 0) < 0 ||
	    (n = recv(fd, &answer, sizeof(answer), 0)) < 0)
		return -errno;
	return interface_of(&answer.header, (size_t)n);
}

static void free_addresses(struct addrinfo **addresses)
{
	if (*addresses)
		freeaddrinfo(*addresses);
}

int nic_route_to(const char *host, char nic[static NIC_NAME_BYTES], struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	CLEANUP(free_addresses) struct addrinfo *addresses = NULL;
	int r = getaddrinfo(host, NULL, &hints, &addresses);

	if (r != 0)
		return error_set(err, -EHOSTUNREACH, "%s: %s", host, gai_strerror(r));
	for (const struct addrinfo *at = addresses; at; at = at->ai_next)
		if ((r = ask(at->ai_addr)) > 0 && if_indextoname((unsigned)r, nic))
			return 0;
	return error_set(err, -EHOSTUNREACH, "%s: no route to it: %s", host, strerror(r < 0 ? -r : ENODEV));
}

int nic_route_note(const char *nic, struct error *err)
{
	char path[PATH_BYTES], line[NIC_NAME_BYTES + 1];

	(void)snprintf(line, sizeof(line), "%s\n", nic);
	return file_write_durable(path_of(PATH_ROUTE, NULL, path), line, strlen(line), err);
}
