/* SPDX-License-Identifier: Apache-2.0 */
/* The number of a device's queues, by the ioctl of ethtool(8) -l and -L. */
#include "drivers/nic/nic.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int call(const char *nic, struct ethtool_channels *channels)
{
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_data = (char *)channels };

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", nic);
	return fd < 0 || ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}

/* Most drivers have combined queues, each with an interrupt for both directions; some have separate ones. */
int nic_channels_get(const char *nic, struct nic_channels *ret_channels)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	int r = call(nic, &channels);

	if (r == 0)
		*ret_channels =
			channels.max_combined
				? (struct nic_channels){ channels.combined_count, channels.max_combined }
				: (struct nic_channels){ channels.rx_count, channels.max_rx };
	return r;
}

int nic_channels_set(const char *nic, unsigned count)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	int r = call(nic, &channels);

	if (r < 0)
		return r;
	channels.cmd = ETHTOOL_SCHANNELS;
	if (channels.max_combined)
		channels.combined_count = count;
	else
		channels.rx_count = count;
	return call(nic, &channels);
}
