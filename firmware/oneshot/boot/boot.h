/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares the machine: at boot, from the files on /data and on the ESP, and before each run.
 *
 *     provision.c    at boot: bind folders of /data to where programs look for them
 *     configure.c    at boot: move files that somebody put on the ESP to /data
 *     ssh_keys.c     the check of authorized_keys, for configure.c
 *     clock.c        at boot: wait until the clock is set
 *     network.c      at boot: the WireGuard network between boxes, for systemd-networkd
 *     boot_pages.c   at boot: pages of 1 GiB for the next boot
 *     hugepages.c    before a run: pages for the ring
 *     route.c        before a run: note the network interface by which the shards come
 *     interrupts.c   before a run: move interrupts and queues of this interface to the run's cores
 *     release.c      after a run: give the pages back to the system
 *     last_good.c    the copy of kiln.conf that was valid when it was last checked
 *
 * Each verb is one process of one thread; at boot they run one after the other, before the daemons (the
 * units in rootfs/systemd and rootfs/overlay set the order).
 * Crash: every verb may be run again from its beginning. configure.c erases a file from the ESP only after
 * its copy is flushed to /data; the rest is kernel state, which a reboot forgets.
 */
#pragma once

/* Binds the folders of /data. */
int oneshot_provision(int argc, char **argv);
/* Checks the files in the ESP's folder config, stores the good ones on /data, and erases these from the ESP.
 */
int oneshot_configure(int argc, char **argv);
/* Where requests to the stores are signed, waits until the clock is set. Stops waiting after a bounded time,
 * and sends an event. [--wait-s SECONDS] */
int oneshot_clock(int argc, char **argv);
/* Writes clock.ntp_servers for systemd-timesyncd, before it starts. */
int oneshot_clock_servers(int argc, char **argv);
/* Writes the WireGuard network of ranks.network for systemd-networkd, before it starts; without such a
 * network removes what an earlier start wrote. */
int oneshot_network(int argc, char **argv);
/* Tells the boot loader how many pages of 1 GiB ring.pages = "1GiB" needs, and mounts the ring's folder with
 * the pages of 1 GiB that this boot has. */
int oneshot_boot_pages(int argc, char **argv);
/* Sets aside hugepages for the ring of the current run. */
int oneshot_hugepages(int argc, char **argv);
/* Notes the network interface by which the shards of the current run come. */
int oneshot_route(int argc, char **argv);
/* Puts the interrupts and queues of the network interface on the cores of the current run. */
int oneshot_interrupts(int argc, char **argv);
/* Unmounts the ring's folder and gives its hugepages back, after the last run. */
int oneshot_release(int argc, char **argv);
/* Checks kiln.conf and saves it as the last good configuration. */
int oneshot_keep_config(int argc, char **argv);
