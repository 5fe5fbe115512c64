/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a tree of sysfs made here, because real machines differ in what they report of their interfaces. */
#include "drivers/cores/cores.h"
/* The test has its own nic_channels_get() and nic_channels_set(), which call the real ones. */
#define nic_channels_get real_channels_get
#define nic_channels_set real_channels_set
#include "drivers/nic/channels.c" // NOLINT(bugprone-suspicious-include)
#undef nic_channels_get
#undef nic_channels_set

#include "core/base/paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cmocka.h>

static char root[] = "/tmp/kiln-nic-XXXXXX";
static cpu_set_t allowed;
static char first[16]; /* a core that this process may use */

static void put(const char *path, const char *text)
{
	char full[PATH_BYTES], folder[PATH_BYTES];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(full, '/') - full), full);
	assert_int_equal(path_make(folder, NULL), 0);
	assert_int_equal(file_write_durable(full, text, strlen(text), NULL), 0);
}

static void put_device(const char *nic, const char *file, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/device/%s", nic, file);
	put(path, text);
}

static void put_link(const char *path, const char *target)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	(void)snprintf(from, sizeof(from), "%s%s", root, target);
	(void)snprintf(to, sizeof(to), "%s%s", root, path);
	assert_int_equal(symlink(from, to), 0);
}

/* ---- Two sockets ----
 * big0 is on the cores 0-7 of one socket, big1 on 8-15 of the other, each of 100 Gbit/s with 16 queues;
 * bond0 is above both, bond0.100 is a VLAN on it, br0 a bridge on the VLAN; veil0 is a bond of big0 and of an
 * interface whose cores are not known. */

#define BIG_QUEUES 16u

static unsigned big_queues[2] = { BIG_QUEUES, BIG_QUEUES };
static int big_refuses; /* -errno of the next change */

int nic_channels_get(const char *nic, struct nic_channels *ret_channels);
int nic_channels_set(const char *nic, unsigned count);

int nic_channels_get(const char *nic, struct nic_channels *ret_channels)
{
	if (strncmp(nic, "big", 3) != 0)
		return real_channels_get(nic, ret_channels);
	*ret_channels = (struct nic_channels){ .now = big_queues[nic[3] - '0'], .max = BIG_QUEUES };
	return 0;
}

int nic_channels_set(const char *nic, unsigned count)
{
	char pattern[PATH_BYTES];

	if (strncmp(nic, "big", 3) != 0)
		return real_channels_set(nic, count);
	if (big_refuses)
		return big_refuses;
	big_queues[nic[3] - '0'] = count;
	for (unsigned i = count; i < BIG_QUEUES; i++) {
		(void)snprintf(pattern, sizeof(pattern), "rm -r %s/sys/class/net/%s/queues/?x-%u", root, nic,
			       i);
		assert_int_equal(system(pattern), 0); // NOLINT(cert-env33-c): a test's own folder
	}
	return 0;
}

static void put_speed(const char *nic, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/speed", nic);
	put(path, text);
}

static void put_big(unsigned n, const char *cores)
{
	char nic[8], path[128];

	(void)snprintf(nic, sizeof(nic), "big%u", n);
	put_device(nic, "local_cpulist", cores);
	put_speed(nic, "100000\n");
	for (unsigned i = 0; i < BIG_QUEUES; i++) {
		(void)snprintf(path, sizeof(path), "msi_irqs/%u", 100 * (n + 1) + i);
		put_device(nic, path, "msix\n");
		(void)snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", 100 * (n + 1) + i);
		put(path, "0-31\n");
		(void)snprintf(path, sizeof(path), "/sys/class/net/%s/queues/rx-%u/rps_cpus", nic, i);
		put(path, "ffff\n");
		(void)snprintf(path, sizeof(path), "/sys/class/net/%s/queues/tx-%u/xps_cpus", nic, i);
		put(path, "0\n");
	}
	big_queues[n] = BIG_QUEUES;
}

static void put_sockets(void)
{
	put_big(0, "0-7\n");
	put_big(1, "8-15\n");
	put("/sys/class/net/bond0/lower_big0/uevent", "");
	put("/sys/class/net/bond0/lower_big1/uevent", "");
	put("/sys/class/net/bond0.100/lower_bond0/uevent", "");
	put("/sys/class/net/br0/lower_bond0.100/uevent", "");
	put("/sys/class/net/veil0/lower_big0/uevent", "");
	put("/sys/class/net/veil0/lower_far0/uevent", "");
	put("/sys/class/net/ring0/lower_ring0/uevent", ""); /* a circle, which the kernel does not make */
}

/* far0 reports no cores; near0 its cores; node0 only its node; virt0 leaves it to the function above it. */
static int make_tree(void **state)
{
	char line[32];
	size_t cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	(void)snprintf(first, sizeof(first), "%zu", cpu);
	(void)snprintf(line, sizeof(line), "%zu\n", cpu);
	if (!mkdtemp(root) || setenv("KILN_ROOT", root, 1) < 0)
		return -1;
	put("/proc/net/route", "Iface\tDestination\tGateway\nfar0\t0010A8C0\t0\nnear0\t00000000\t0110A8C0\n");
	put_device("far0", "uevent", "");
	put_sockets();
	put_device("near0", "local_cpulist", line);
	put_device("node0", "numa_node", "3\n");
	put("/sys/devices/system/node/node3/cpulist", line);
	put_device("nonode0", "numa_node", "-1\n");
	put_device("garbled0", "local_cpulist", "0-\n");
	put_device("foreign0", "local_cpulist", "1000-1003\n");
	put("/sys/devices/pci0/virtio0/uevent", "");
	put("/sys/devices/pci0/local_cpulist", line);
	put("/sys/class/net/virt0/uevent", "");
	put_link("/sys/class/net/virt0/device", "/sys/devices/pci0/virtio0");
	return 0;
}

static int remove_tree(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command); /* NOLINT(cert-env33-c): a test's own folder */
}

static const struct {
	const char *nic, *found;
	bool known;
} interfaces[] = {
	{ "auto", "near0", true },         { "near0", "near0", true },        { "far0", "far0", false },
	{ "node0", "node0", true },        { "nonode0", "nonode0", false },   { "virt0", "virt0", true },
	{ "garbled0", "garbled0", false }, { "foreign0", "foreign0", false },
};

static void cores_of_interfaces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(interfaces) / sizeof(interfaces[0]); i++) {
		struct nic_cores cores;
		struct error err = { 0 };
		char text[4096];

		print_message("# %s\n", interfaces[i].nic);
		assert_int_equal(nic_cores_find(root, interfaces[i].nic, "auto", &cores, &err), 0);
		assert_string_equal(cores.nic, interfaces[i].found);
		assert_int_equal(cores.known, interfaces[i].known);
		cores_text(&cores.network, text, sizeof(text));
		if (interfaces[i].known)
			assert_string_equal(text, first);
		else
			assert_true(CPU_EQUAL(&cores.network, &allowed));
	}
}

static cpu_set_t cores_of(unsigned count)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (size_t cpu = 0; cpu < count; cpu++)
		CPU_SET(cpu, &set);
	return set;
}

/* Interfaces without a device of their own, on a machine of 32 cores. */
static const struct {
	const char *nic, *devices, *network, *decode;
	bool known;
} uppers[] = {
	{ "big1", "big1", "8-15", "0-7,16-31", true },       { "bond0", "big0 big1", "0-15", "16-31", true },
	{ "bond0.100", "big0 big1", "0-15", "16-31", true }, { "br0", "big0 big1", "0-15", "16-31", true },
	{ "veil0", "big0 far0", "0-31", "0-31", false },     { "ring0", "", "0-31", "0-31", false },
};

/* ---- Network threads, on a machine of 32 cores ---- */

static const struct {
	const char *nic, *cores;
	uint64_t key, connections;
	uint32_t sources;
	const char *speed; /* of big0; NULL = 100000 */
	unsigned count;
	const char *why;
} threads[] = {
	{ "big0", "auto", 0, 0, 1, NULL, 4, "one for each started 25 Gbit/s of 100000 Mbit/s" },
	{ "bond0", "auto", 0, 0, 1, NULL, 8, "one for each started 25 Gbit/s of 200000 Mbit/s" },
	{ "bond0.100", "auto", 0, 0, 1, NULL, 8, "one for each started 25 Gbit/s of 200000 Mbit/s" },
	{ "br0", "auto", 0, 0, 1, "400000\n", 8, "the link is faster, but there are no more threads" },
	{ "big0", "auto", 0, 0, 1, "10000\n", 1, "one is enough for 10000 Mbit/s" },
	{ "big0", "auto", 0, 0, 1, "25000\n", 1, "one is enough for 25000 Mbit/s" },
	{ "big0", "auto", 0, 0, 1, "40000\n", 2, "one for each started 25 Gbit/s of 40000 Mbit/s" },
	/* no speed: unknown, no number, not readable; of one of two devices */
	{ "big0", "auto", 0, 0, 1, "-1\n", 1, "the speed of the link is not known" },
	{ "big0", "auto", 0, 0, 1, "fast\n", 1, "the speed of the link is not known" },
	{ "big0", "auto", 0, 0, 1, "99999999999999999999\n", 1, "the speed of the link is not known" },
	{ "near0", "auto", 0, 0, 1, NULL, 1, "the speed of the link is not known" },
	{ "bond0", "auto", 0, 0, 1, "-1\n", 4, "one for each started 25 Gbit/s of 100000 Mbit/s" },
	{ "bond0", "1-3", 0, 0, 1, NULL, 3, "the link is faster, but no more cores fetch" },
	{ "bond0", "auto", 0, 0, 3, NULL, 3,
	  "one for each started 25 Gbit/s of 200000 Mbit/s, shared by 3 sources" },
	{ "big0", "auto", 0, 0, 32, NULL, 1,
	  "one for each started 25 Gbit/s of 100000 Mbit/s, shared by 32 sources" },
	{ "bond0", "auto", 0, 2, 1, NULL, 2, "a source has no more connections" },
	{ "bond0", "auto", 6, 4, 4, NULL, 1, "a source has no more connections" },
	{ "near0", "auto", 5, 0, 2, NULL, 5, "fetch.network_threads says so" },
};

static void threads_for_the_link(void **state)
{
	const cpu_set_t all = cores_of(32);

	(void)state;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		const struct config config = { .sources = threads[i].sources,
					       .fetch = { .network_threads = threads[i].key,
							  .connections = threads[i].connections,
							  .memory_bytes = UINT64_C(2) << 30 } };
		struct nic_threads found;
		struct nic_cores cores;

		put_speed("big0", threads[i].speed ? threads[i].speed : "100000\n");
		assert_int_equal(nic_cores_among(root, threads[i].nic, threads[i].cores, &all, &cores, NULL),
				 0);
		found = nic_threads_of(&config, &cores);
		print_message("# %zu %s: %u, %s\n", i, threads[i].nic, found.count, found.why);
		assert_int_equal(found.count, threads[i].count);
		assert_string_equal(found.why, threads[i].why);
	}
	put_speed("big0", "100000\n");
}

static void what_is_below_an_interface(void **state)
{
	const cpu_set_t all = cores_of(32);

	(void)state;
	for (size_t i = 0; i < sizeof(uppers) / sizeof(uppers[0]); i++) {
		char devices[NIC_DEVICES_MAX * NIC_NAME_BYTES] = "", text[128];
		struct nic_cores cores;

		print_message("# %s\n", uppers[i].nic);
		assert_int_equal(nic_cores_among(root, uppers[i].nic, "auto", &all, &cores, NULL), 0);
		for (unsigned d = 0; d < cores.devices; d++)
			(void)snprintf(devices + strlen(devices), sizeof(devices) - strlen(devices), "%s%s",
				       d ? " " : "", cores.device[d]);
		assert_string_equal(devices, uppers[i].devices);
		assert_int_equal(cores.known, uppers[i].known);
		cores_text(&cores.network, text, sizeof(text));
		assert_string_equal(text, uppers[i].network);
		cores_text(&cores.decode, text, sizeof(text));
		assert_string_equal(text, uppers[i].decode);
	}
}

static void put_ipv6_routes(const char *nic)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "%032d 00 %032d 00 %032d 000000ff 00000001 00000000 00200200       lo\n"
		       "fe80%028d 40 %032d 00 %032d 00000100 00000002 00000000 00000001     far0\n"
		       "%032d 00 %032d 00 fd%030d 00000400 00000002 00000000 00000003 %8s\n",
		       0, 0, 0, 0, 0, 0, 0, 0, 1, nic);
	put("/proc/net/ipv6_route", text);
}

/* The note comes first, if its interface exists; then the default route of IPv4, then that of IPv6. */
static void which_interface_is_meant(void **state)
{
	static const struct {
		const char *note, *ipv4, *expected;
	} cases[] = {
		{ "bond0\n", "near0", "bond0" },
		{ "gone0\n", "near0", "near0" },
		{ "../near0\n", "near0", "near0" },
		{ "", "near0", "near0" },
		{ "", NULL, "big1" },
	};

	(void)state;
	put_ipv6_routes("big1");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nic_cores cores;
		char line[128] = "far0\t0010A8C0\t0\n";

		if (cases[i].ipv4)
			(void)snprintf(line, sizeof(line), "%s\t00000000\t0110A8C0\n", cases[i].ipv4);
		put("/proc/net/route", line);
		put("/run/kiln/route/nic", cases[i].note);
		assert_int_equal(nic_cores_find(root, "auto", "auto", &cores, NULL), 0);
		assert_string_equal(cores.nic, cases[i].expected);
	}
	put("/proc/net/route", "near0\t00000000\t0110A8C0\n");
}

static void a_box_without_routes(void **state)
{
	struct nic_cores cores;

	(void)state;
	assert_int_equal(nic_cores_find("/nonexistent", "auto", "auto", &cores, NULL), 0);
	assert_string_equal(cores.nic, "");
	assert_false(cores.known);
	assert_true(CPU_EQUAL(&cores.network, &allowed));
	assert_true(CPU_EQUAL(&cores.decode, &allowed));
}

static void the_configuration_wins(void **state)
{
	struct nic_cores cores;
	char text[4096];

	(void)state;
	assert_int_equal(nic_cores_find(root, "far0", first, &cores, NULL), 0);
	assert_true(cores.known);
	cores_text(&cores.network, text, sizeof(text));
	assert_string_equal(text, first);
}

static void decode_is_elsewhere_where_there_are_enough(void **state)
{
	struct nic_cores cores;
	cpu_set_t shared;

	(void)state;
	assert_int_equal(nic_cores_find(root, "near0", "auto", &cores, NULL), 0);
	CPU_AND(&shared, &cores.network, &cores.decode);
	if (CPU_COUNT(&allowed) >= 3)
		assert_int_equal(CPU_COUNT(&shared), 0);
	else
		assert_true(CPU_EQUAL(&cores.decode, &allowed));
}

static const struct {
	const char *nic, *cores, *words;
} mistakes[] = {
	{ "eth9", "auto", "fetch.nic: found \"eth9\"" },
	{ "../net/near0", "auto", "fetch.nic: found \"../net/near0\"" },
	{ "auto", "", "fetch.cores: found \"\"" },
	{ "auto", "3-1", "fetch.cores: found \"3-1\"" },
	{ "auto", "1,", "fetch.cores: found \"1,\"" },
	{ "auto", "-1", "fetch.cores: found \"-1\"" },
	{ "auto", "99999", "fetch.cores: found \"99999\"" },
	{ "auto", "1023", "not all of them are there" },
};

static void mistakes_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct nic_cores cores;
		struct error err = { 0 };

		print_message("# %s %s\n", mistakes[i].nic, mistakes[i].cores);
		assert_int_equal(nic_cores_find(root, mistakes[i].nic, mistakes[i].cores, &cores, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, mistakes[i].words));
	}
}

static void sets_as_text(void **state)
{
	static const struct {
		size_t cpu[6], count;
		const char *text;
	} sets[] = {
		{ { 0 }, 0, "" },
		{ { 5 }, 1, "5" },
		{ { 0, 1, 2, 3 }, 4, "0-3" },
		{ { 0, 1, 7, 9, 10 }, 5, "0-1,7,9-10" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		char text[64];
		cpu_set_t set;

		CPU_ZERO(&set);
		for (size_t c = 0; c < sets[i].count; c++)
			CPU_SET(sets[i].cpu[c], &set);
		cores_text(&set, text, sizeof(text));
		assert_string_equal(text, sets[i].text);
	}
}

/* ---- Interrupts ---- */

static void expect(const char *path, const char *text)
{
	char full[PATH_BYTES], found[64] = "";
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "re");
	assert_non_null(file);
	assert_non_null(fgets(found, sizeof(found), file));
	assert_int_equal(fclose(file), 0);
	found[strcspn(found, "\n")] = '\0';
	assert_string_equal(found, text);
}

/* Interrupts 9 to 11, of which the driver does not use 10, and two queues. For `virt0` they belong to the
 * function above. */
static void put_interrupts(const char *folder, const char *nic)
{
	static const char *const irqs[] = { "9", "10", "11" };
	char path[128];

	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/msi_irqs/%s", folder, irqs[i]);
		put(path, "msix\n");
	}
	put("/proc/irq/9/smp_affinity_list", "0-63\n");
	put("/proc/irq/11/smp_affinity_list", "0-63\n");
	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/queues/rx-0/rps_cpus", nic);
	put(path, "0\n");
	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/queues/rx-1/rps_cpus", nic);
	put(path, "0\n");
}

static void steer(const char *nic, const char *list, struct nic_steered *ret_steered)
{
	struct nic_cores found = { .devices = 1 };

	for (const char *at = list; *at; at += strspn(at, " ")) {
		char *end;

		CPU_SET(strtoul(at, &end, 10), &found.network);
		at = end;
	}
	(void)snprintf(found.device[0], NIC_NAME_BYTES, "%s", nic);
	nic_steer(root, &found, ret_steered);
}

static void interrupts_on_their_cores(void **state)
{
	struct nic_steered steered;

	(void)state;
	put_interrupts("/sys/class/net/near0/device", "near0");
	steer("near0", "2 5", &steered);
	assert_true(steered.irqs == 2 && steered.moved == 2 && steered.queues == 2 && !steered.spread);
	assert_string_equal(steered.why, "");
	expect("/proc/irq/9/smp_affinity_list", "2");
	expect("/proc/irq/11/smp_affinity_list", "5");
	expect("/sys/class/net/near0/queues/rx-0/rps_cpus", "0");
	steer("near0", "1 33 64", &steered);
	assert_true(steered.moved == 2 && steered.spread);
	expect("/proc/irq/11/smp_affinity_list", "33");
	expect("/sys/class/net/near0/queues/rx-0/rps_cpus", "1,00000002,00000002");
	expect("/sys/class/net/near0/queues/rx-1/rps_cpus", "1,00000002,00000002");
}

static void interrupts_of_a_virtio_interface(void **state)
{
	struct nic_steered steered;

	(void)state;
	put_interrupts("/sys/devices/pci0", "virt0");
	steer("virt0", "3", &steered);
	assert_true(steered.irqs == 2 && steered.moved == 2);
	expect("/proc/irq/9/smp_affinity_list", "3");
}

/* A file that refuses a write with EIO, as the kernel does for a managed interrupt: address 0 of a
 * process. */
static void interrupts_that_stay(void **state)
{
	char path[PATH_BYTES];
	struct nic_steered steered;

	(void)state;
	put_interrupts("/sys/class/net/near0/device", "near0");
	(void)snprintf(path, sizeof(path), "%s/proc/irq/9/smp_affinity_list", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/self/mem", path), 0);
	steer("near0", "2 5", &steered);
	assert_true(steered.irqs == 2 && steered.moved == 1 && steered.spread);
	assert_string_equal(steered.why, "/proc/irq/9/smp_affinity_list: Input/output error, as its driver "
					 "spreads its interrupts by itself");
	expect("/proc/irq/11/smp_affinity_list", "5");
	expect("/sys/class/net/near0/queues/rx-0/rps_cpus", "24");
	assert_int_equal(unlink(path), 0);
	steer("far0", "2 5", &steered);
	assert_true(steered.irqs == 0 && steered.queues == 0);
	assert_string_equal(steered.why, "");
}

/* Each slave of a bond gets a queue for each core of its own socket, the interrupts in the order of the
 * queues, and the send queue of the same number; nothing is distributed by software. */
static void two_sockets(void **state)
{
	const cpu_set_t all = cores_of(32);
	struct nic_steered steered;
	struct nic_cores cores;

	(void)state;
	assert_int_equal(nic_cores_among(root, "bond0.100", "auto", &all, &cores, NULL), 0);
	nic_steer(root, &cores, &steered);
	assert_string_equal(steered.why, "");
	assert_true(steered.irqs == 32 && steered.moved == 32 && !steered.spread);
	assert_true(steered.queues_before == 32 && steered.queues == 16 && steered.send_queues == 16);
	expect("/proc/irq/100/smp_affinity_list", "0");
	expect("/proc/irq/107/smp_affinity_list", "7");
	expect("/proc/irq/108/smp_affinity_list", "0");
	expect("/proc/irq/200/smp_affinity_list", "8");
	expect("/proc/irq/215/smp_affinity_list", "15");
	expect("/sys/class/net/big0/queues/tx-0/xps_cpus", "1");
	expect("/sys/class/net/big0/queues/tx-7/xps_cpus", "80");
	expect("/sys/class/net/big1/queues/tx-0/xps_cpus", "100");
	expect("/sys/class/net/big1/queues/tx-7/xps_cpus", "8000");
	expect("/sys/class/net/big1/queues/rx-3/rps_cpus", "0");
}

/* 16 queues that cannot become fewer, for 3 cores of the first socket, and none of the second. */
static void a_driver_that_keeps_its_queues(void **state)
{
	const cpu_set_t all = cores_of(32);
	struct nic_steered steered;
	struct nic_cores cores;

	(void)state;
	put_sockets();
	big_refuses = -EBUSY;
	assert_int_equal(nic_cores_among(root, "bond0", "1-2,5", &all, &cores, NULL), 0);
	nic_steer(root, &cores, &steered);
	big_refuses = 0;
	assert_string_equal(steered.why, "big0: 3 queues: Device or resource busy");
	assert_true(steered.queues == 32 && steered.moved == 32 && !steered.spread);
	assert_int_equal(steered.send_queues, 6);
	expect("/proc/irq/101/smp_affinity_list", "2");
	expect("/proc/irq/202/smp_affinity_list", "5");
	expect("/sys/class/net/big0/queues/tx-2/xps_cpus", "20");
	expect("/sys/class/net/big0/queues/tx-3/xps_cpus", "0");
}

/* Fewer send queues than cores: a queue belongs to several cores. */
static void few_queues(void **state)
{
	const cpu_set_t all = cores_of(32);
	struct nic_steered steered;
	struct nic_cores cores;

	(void)state;
	put_sockets();
	assert_int_equal(nic_channels_set("big0", 3), 0);
	big_refuses = -EOPNOTSUPP;
	assert_int_equal(nic_cores_among(root, "big0", "auto", &all, &cores, NULL), 0);
	nic_steer(root, &cores, &steered);
	big_refuses = 0;
	assert_true(steered.queues == 3 && steered.send_queues == 3 && steered.spread);
	expect("/sys/class/net/big0/queues/tx-0/xps_cpus", "49"); /* 0, 3, 6 */
	expect("/sys/class/net/big0/queues/tx-2/xps_cpus", "24"); /* 2, 5 */
	expect("/sys/class/net/big0/queues/rx-0/rps_cpus", "ff");
}

/* ---- Routes ---- */

static bool shell(const char *commands)
{
	return system(commands) == 0; // NOLINT(cert-env33-c)
}

/* In a network of its own, with two interfaces of which kiln1 has the default route. Returns the
 * number of the check that failed, 0 none, 77 not possible on this machine. */
static int routes_in_a_network(void)
{
	static const struct {
		const char *host, *nic;
	} routes[] = {
		{ "127.0.0.1", "lo" },       { "192.0.2.9", "kiln0" },     { "2001:db8::9", "kiln0" },
		{ "198.51.100.1", "kiln1" }, { "2001:db8:1::1", "kiln1" }, { "203.0.113.5", "kiln0" },
	};
	char nic[NIC_NAME_BYTES];
	struct error err;

	/* The last two lines: a rule, which the tables in /proc/net do not show. */
	if (unshare(CLONE_NEWNET) < 0 || !shell("exec 2>/dev/null; ip link set lo up && ip link add kiln0 "
						"type veth peer name kiln1 &&"
						"ip link set kiln0 up && ip link set kiln1 up &&"
						"ip address add 192.0.2.1/24 dev kiln0 && ip address add "
						"2001:db8::1/64 dev kiln0 nodad &&"
						"ip route add default dev kiln1 && ip -6 route add default "
						"dev kiln1 &&"
						"ip route add 203.0.113.0/24 dev kiln0 table 100 &&"
						"ip rule add to 203.0.113.0/24 lookup 100"))
		return 77;
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (nic_route_to(routes[i].host, nic, &err) < 0 || strcmp(nic, routes[i].nic) != 0) {
			fprintf(stderr, "# %s: %s %s\n", routes[i].host, nic, err.text);
			return (int)i + 1;
		}
	if (!shell("ip route delete default"))
		return 77;
	return nic_route_to("198.51.100.1", nic, &err) == -EHOSTUNREACH &&
			       strstr(err.text, "198.51.100.1: no route")
		       ? 0
		       : 78;
}

/* Runs a check in a process of its own, which may leave the network of the test. */
static void in_a_child(int (*check)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(check());
	assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void routes_of_the_kernel(void **state)
{
	(void)state;
	in_a_child(routes_in_a_network);
}

static void the_note_of_a_route(void **state)
{
	struct nic_cores cores;

	(void)state;
	assert_int_equal(nic_route_note("big1", NULL), 0);
	assert_int_equal(nic_cores_find(root, "auto", "auto", &cores, NULL), 0);
	assert_string_equal(cores.nic, "big1");
}

/* A pair of virtual interfaces with 4 queues, of which 1 is used. Returns as above. */
static int channels_in_a_network(void)
{
	struct nic_channels channels = { 0 };

	if (unshare(CLONE_NEWNET) < 0 ||
	    !shell("ip link add kiln0 numrxqueues 4 numtxqueues 4 type veth peer name kiln1 numrxqueues 4 "
		   "numtxqueues 4 2>/dev/null") ||
	    real_channels_get("kiln0", &channels) < 0)
		return 77;
	fprintf(stderr, "# %u of %u queues\n", channels.now, channels.max);
	if (channels.max != 4 || real_channels_set("kiln0", 3) < 0 ||
	    real_channels_get("kiln0", &channels) < 0)
		return 1;
	return channels.now == 3 && real_channels_set("kiln0", 5) == -EINVAL &&
			       real_channels_get("gone0", &channels) == -ENODEV
		       ? 0
		       : 2;
}

/* A private network namespace with a pair of virtual interfaces, one queue each. Returns 0 the mask is
 * right, 1 it is wrong, 77 not possible on this machine. */
static int in_a_network(void)
{
	struct nic_steered steered;
	char found[64] = "";
	struct nic_cores cores = { .device = { "kiln0" }, .devices = 1 };
	FILE *file;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) < 0 ||
	    !shell("ip link add kiln0 numrxqueues 1 type veth peer name kiln1 numrxqueues 1") != 0)
		return 77;
	CPU_SET(0, &cores.network);
	CPU_SET(1, &cores.network);
	nic_steer("", &cores, &steered);
	file = fopen("/sys/class/net/kiln0/queues/rx-0/rps_cpus", "re");
	if (!file || !fgets(found, sizeof(found), file) || fclose(file) != 0)
		return 1;
	fprintf(stderr, "# %u queues, %s, %s", steered.queues, steered.why, found);
	return steered.queues == 1 && steered.spread && !*steered.why && strtoul(found, NULL, 16) == 3 ? 0
												       : 1;
}

static void receive_steering_of_the_kernel(void **state)
{
	(void)state;
	if (CPU_COUNT(&allowed) < 2)
		skip();
	in_a_child(in_a_network);
}

static void queues_of_the_kernel(void **state)
{
	(void)state;
	in_a_child(channels_in_a_network);
}

static void cores_in_parts(void **state)
{
	static const struct {
		const char *set;
		unsigned nth, parts;
		const char *part;
	} cases[] = {
		{ "0-7", 0, 1, "0-7" }, { "0-7", 0, 2, "0-3" },     { "0-7", 1, 2, "4-7" },
		{ "0-7", 0, 3, "0-1" }, { "0-7", 1, 3, "2-4" },     { "0-7", 2, 3, "5-7" },
		{ "1,3,5", 1, 3, "3" }, { "2,4-5,9", 1, 2, "5,9" }, { "0-1", 1, 2, "1" },
		{ "0-1", 2, 3, "0-1" }, /* fewer cores than parts */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];
		cpu_set_t set;

		assert_true(cores_parse(cases[i].set, &set));
		cores_divide(&set, cases[i].nth, cases[i].parts);
		cores_text(&set, text, sizeof(text));
		assert_string_equal(text, cases[i].part);
	}
}

static void a_thread_on_its_cores(void **state)
{
	struct nic_cores cores;
	cpu_set_t now;

	(void)state;
	assert_int_equal(nic_cores_find(root, "near0", "auto", &cores, NULL), 0);
	cores_pin(&cores.network);
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_true(CPU_EQUAL(&now, &cores.network));
	cores_pin(&allowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_of_interfaces),
		cmocka_unit_test(what_is_below_an_interface),
		cmocka_unit_test(threads_for_the_link),
		cmocka_unit_test(which_interface_is_meant),
		cmocka_unit_test(a_box_without_routes),
		cmocka_unit_test(the_configuration_wins),
		cmocka_unit_test(decode_is_elsewhere_where_there_are_enough),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(sets_as_text),
		cmocka_unit_test(interrupts_on_their_cores),
		cmocka_unit_test(interrupts_of_a_virtio_interface),
		cmocka_unit_test(interrupts_that_stay),
		cmocka_unit_test(two_sockets),
		cmocka_unit_test(a_driver_that_keeps_its_queues),
		cmocka_unit_test(few_queues),
		cmocka_unit_test(receive_steering_of_the_kernel),
		cmocka_unit_test(queues_of_the_kernel),
		cmocka_unit_test(routes_of_the_kernel),
		cmocka_unit_test(the_note_of_a_route),
		cmocka_unit_test(a_thread_on_its_cores),
		cmocka_unit_test(cores_in_parts),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
