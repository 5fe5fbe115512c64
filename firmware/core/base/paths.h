/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where everything lies, all below the environment's KILN_ROOT (empty by default), so that a demo or a test
 * runs beside an installed Kiln and without root.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define PATH_BYTES 4096u

enum path {
	PATH_CONFIG,      /* /etc/kiln/kiln.conf */
	PATH_REVOKED,     /* /etc/kiln/revoked: SHA-256 of client certificates */
	PATH_CREDENTIALS, /* /data/kiln/credentials */
	PATH_RUNS,        /* /data/kiln/run: lock, current, archive */
	PATH_RUN,         /* /data/kiln/run/current: run.json, state, want, config, plan; core/run/run.h */
	PATH_ARCHIVE,     /* /data/kiln/run/archive */
	PATH_REPORTS,     /* /data/kiln/run/reports: core/box/reports.h */
	PATH_SPOOL,       /* /data/kiln/spool: one folder a writer below it */
	PATH_CACHE,       /* /data/kiln/cache */
	PATH_KERNELS,     /* /data/kiln/cache/kernels: OpenCL binaries */
	PATH_RUNTIME,     /* /run/kiln */
	PATH_STATUS,      /* /run/kiln/status: a folder a daemon */
	PATH_HUGE,        /* /run/kiln/huge: hugetlbfs */
	PATH_RING,        /* /run/kiln/huge/ring */
	PATH_CONTROL,     /* /run/kiln/control.sock */
	PATH_STEER,       /* /run/kiln-steer/socket */
	PATH_NETWORK,     /* /data/etc/network: a box's own files of systemd-networkd */
	PATH_STORE_CA,    /* /etc/kiln/store-ca.pem: for ca_file of a store, where a box is given one */
	PATH_BUNDLE,      /* /data/kiln/update/bundle.raucb: what an update installs */
	PATH_UPDATE_NOTE, /* /run/kiln/update/note.json: core/box/update.h */
	PATH_ESP_SLOTS,   /* /efi/kiln: a folder a slot, what the boot loader takes of it */
	PATH_ESP_CONFIG,  /* /efi/config: what a box is to take, from any PC */
	PATH_RTC,         /* /sys/class/rtc: hardware clocks, which wake a box; drivers/clock/alarm.h */
	PATH_UTMP,        /* /run/utmp: who is logged in, utmp(5) */
	PATH_ESP_PAGES,   /* /efi/kiln/pages.env: what the boot loader sets aside */
	PATH_MOUNT_PAGES, /* /run/systemd/system/run-kiln-huge.mount.d/60-pages.conf */
	PATH_SSH,         /* /data/etc/ssh: authorized_keys and the box's own key */
	PATH_TIMESYNCD,   /* /run/systemd/timesyncd.conf.d */
	PATH_HWMON,       /* /sys/class/hwmon: temperatures */
	PATH_MACHINE_ID,  /* /etc/machine-id */
	PATH_OS_RELEASE,  /* /etc/os-release */
	PATH_CMDLINE,     /* /proc/cmdline: the kernel's */
	PATH_KINDS,
};

/* "KILN_ROOT/path[/tail]" into `out`; `tail` may be NULL. Returns out. A path too long ends the program: it
 * would be a KILN_ROOT of some 4000 characters. */
char *path_of(enum path which, const char *tail, char out[static PATH_BYTES]);

/* mkdir -p with mode 0775: the umask decides whether the group kiln may write. */
MUST_CHECK int path_make(const char *directory, struct error *err);

/* Write a file so that it is whole or absent after a power cut: temporary name, fsync, rename, fsync of the
 * directory. Mode 0664, as the umask has it. A temporary file that is there already, a killed writer's or a
 * link, is removed and not written through; two writers at once are the callers' to keep apart. */
MUST_CHECK int file_write_durable(const char *path, const void *data, uint64_t bytes, struct error *err);

/* All of it, however often write(2) is interrupted: 0 or -errno. */
MUST_CHECK int file_write_all(int fd, const void *data, uint64_t bytes);

/* rename(2), then fsync of the folder. */
MUST_CHECK int file_rename_durable(const char *from, const char *to, struct error *err);

/* A file that is locked and nothing else, made where there is none; waits for whoever has it. Who may read it
 * may lock it, whoever made it. The lock goes with the descriptor. */
MUST_CHECK int file_lock(const char *path, int *ret_fd, struct error *err);

/* unlink(2), then fsync of the folder. One that is not there is removed already. */
MUST_CHECK int file_remove_durable(const char *path, struct error *err);

/* A whole file of at most `max` bytes, NUL-terminated behind its end; the caller frees.
 * `ret_bytes` may be NULL. */
MUST_CHECK int file_read(const char *path, uint64_t max, char **ret_data, uint64_t *ret_bytes,
			 struct error *err);
