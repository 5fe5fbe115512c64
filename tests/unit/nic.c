/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a tree of sysfs made here, because real machines differ in what they report of their interfaces. */
#include "drivers/nic/nic.h"

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
	char path[128];

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
	if (!mkdtemp(root))
		return -1;
	put("/proc/net/route", "Iface\tDestination\tGateway\nfar0\t0010A8C0\t0\nnear0\t00000000\t0110A8C0\n");
	put_device("far0", "uevent", "");
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
		nic_cores_text(&cores.network, text, sizeof(text));
		if (interfaces[i].known)
			assert_string_equal(text, first);
		else
			assert_true(CPU_EQUAL(&cores.network, &allowed));
	}
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
	nic_cores_text(&cores.network, text, sizeof(text));
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
		nic_cores_text(&set, text, sizeof(text));
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
	cpu_set_t cores;

	CPU_ZERO(&cores);
	for (const char *at = list; *at; at += strspn(at, " ")) {
		char *end;

		CPU_SET(strtoul(at, &end, 10), &cores);
		at = end;
	}
	nic_steer(root, nic, &cores, ret_steered);
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

/* A private network namespace with a pair of virtual interfaces, one queue each. Returns 0 the mask is
 * right, 1 it is wrong, 77 not possible on this machine. */
static int in_a_network(void)
{
	struct nic_steered steered;
	char found[64] = "";
	cpu_set_t cores;
	FILE *file;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) < 0 ||
	    system("ip link add kiln0 numrxqueues 1 type veth peer name kiln1 numrxqueues 1") != // NOLINT(cert-env33-c)
		    0)
		return 77;
	CPU_ZERO(&cores);
	CPU_SET(0, &cores);
	CPU_SET(1, &cores);
	nic_steer("", "kiln0", &cores, &steered);
	file = fopen("/sys/class/net/kiln0/queues/rx-0/rps_cpus", "re");
	if (!file || !fgets(found, sizeof(found), file) || fclose(file) != 0)
		return 1;
	fprintf(stderr, "# %u queues, %s, %s", steered.queues, steered.why, found);
	return steered.queues == 1 && steered.spread && !*steered.why && strtoul(found, NULL, 16) == 3 ? 0
												       : 1;
}

static void receive_steering_of_the_kernel(void **state)
{
	int status = -1;
	pid_t child;

	(void)state;
	if (CPU_COUNT(&allowed) < 2)
		skip();
	child = fork();
	if (child == 0)
		_exit(in_a_network());
	assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_thread_on_its_cores(void **state)
{
	struct nic_cores cores;
	cpu_set_t now;

	(void)state;
	assert_int_equal(nic_cores_find(root, "near0", "auto", &cores, NULL), 0);
	nic_pin(&cores.network);
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_true(CPU_EQUAL(&now, &cores.network));
	nic_pin(&allowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_of_interfaces),
		cmocka_unit_test(a_box_without_routes),
		cmocka_unit_test(the_configuration_wins),
		cmocka_unit_test(decode_is_elsewhere_where_there_are_enough),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(sets_as_text),
		cmocka_unit_test(interrupts_on_their_cores),
		cmocka_unit_test(interrupts_of_a_virtio_interface),
		cmocka_unit_test(interrupts_that_stay),
		cmocka_unit_test(receive_steering_of_the_kernel),
		cmocka_unit_test(a_thread_on_its_cores),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
