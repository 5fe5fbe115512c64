/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/ring_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void slots_arrive_in_order(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct ring_slot *slot;
	struct cursor from = at(7);
	struct error err;

	(void)state;
	ring_attach(r, &from);
	assert_int_equal(begin(w), 7);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, 7 + i, RING_DATA);
	assert_int_equal(ring_claim(w, &slot), -EAGAIN);
	for (uint64_t i = 0; i < SLOTS; i++)
		ring_release(r, expect(r, 7 + i));
	assert_int_equal(ring_next(r, (const struct ring_slot **)&slot, &err), -EAGAIN);
	assert_int_equal(ring_claim(w, &slot), 0);
	ring_close(r);
	ring_close(w);
}

static void tail_moves_over_the_finished_prefix(void **state)
{
	struct ring *w = writer(), *r = reader();
	const struct ring_slot *held[SLOTS];
	struct ring_slot *slot;
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, i, RING_DATA);
	for (uint64_t i = 0; i < SLOTS; i++)
		held[i] = expect(r, i);
	ring_release(r, held[1]);
	ring_release(r, held[2]);
	assert_int_equal(ring_claim(w, &slot), -EAGAIN);
	ring_release(r, held[0]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ring_claim(w, &slot), 0);
	assert_int_equal(ring_claim(w, &slot), -EAGAIN);
	ring_close(r);
	ring_close(w);
}

static void other_generations_are_passed_unread(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 0, RING_DATA);
	publish(w, 1, RING_DATA);
	from = at(40);
	ring_attach(r, &from);
	publish(w, 2, RING_DATA);
	assert_int_equal(begin(w), 40);
	publish(w, 40, RING_DATA);
	ring_release(r, expect(r, 40));
	ring_close(r);
	ring_close(w);
}

static void a_restarted_writer_goes_on(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(5);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 5, RING_DATA);
	publish(w, 6, RING_DATA);
	ring_close(w);
	w = writer();
	assert_int_equal(begin(w), 7);
	publish(w, 7, RING_DATA);
	for (uint64_t i = 5; i < 8; i++)
		ring_release(r, expect(r, i));
	ring_close(r);
	ring_close(w);
}

static void a_reader_at_the_right_place_needs_no_rewind(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, i, RING_DATA);
	ring_release(r, expect(r, 0));
	ring_close(r);
	r = reader();
	from = at(1);
	ring_attach(r, &from);
	assert_int_equal(w->control->request, 1);
	ring_release(r, expect(r, 1));
	ring_close(r);
	ring_close(w);
}

static void an_error_ends_its_generation(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(3);
	bool closed;

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 3, RING_ERROR);
	ring_close(w);
	w = writer();
	assert_int_equal(ring_request(w, &from, &closed), 1);
	assert_true(closed);
	ring_release(r, expect(r, 3));
	from = at(4);
	ring_attach(r, &from);
	assert_int_equal(ring_request(w, &from, &closed), 2);
	assert_false(closed);
	ring_close(r);
	ring_close(w);
}

static void a_place_that_is_not_the_readers_is_asked_for(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, i, RING_DATA);
	ring_release(r, expect(r, 0));
	/* A slot is handed out: continuing after slot 0 would lose it. */
	(void)expect(r, 1);
	from = at(1);
	ring_attach(r, &from);
	assert_int_equal(w->control->request, 2);
	assert_int_equal(begin(w), 1);
	ring_close(r);
	/* The cursor matches, but belongs to an older generation. */
	r = reader();
	ring_attach(r, &from);
	assert_int_equal(w->control->request, 3);
	ring_close(r);
	ring_close(w);
}

static void nobody_goes_on_behind_an_error(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(3);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 3, RING_ERROR);
	ring_release(r, expect(r, 3));
	ring_close(r);
	r = reader();
	from = at(4);
	ring_attach(r, &from);
	assert_int_equal(w->control->request, 2);
	ring_close(r);
	ring_close(w);
}

/* The slot of the ERROR may be claimed again before the writer dies. */
static void an_error_is_remembered_without_its_slot(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(3);
	struct ring_slot *slot;
	bool closed;

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 3, RING_ERROR);
	ring_release(r, expect(r, 3));
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(ring_claim(w, &slot), 0);
	ring_close(w);
	w = writer();
	assert_int_equal(ring_request(w, &from, &closed), 1);
	assert_true(closed);
	ring_close(r);
	ring_close(w);
}

static void an_error_carries_its_record(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);
	struct ring_slot *slot;

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	assert_int_equal(ring_claim(w, &slot), 0);
	slot->kind = RING_ERROR;
	slot->error_code = -EBADMSG;
	slot->cursor = at(1);
	(void)snprintf(ring_error_data(w, slot)->text, RING_ERROR_TEXT, "cut short");
	ring_error_data(w, slot)->offset = 99;
	ring_commit(w);
	{
		const struct ring_slot *got = NULL;
		struct error err;

		assert_int_equal(ring_next(r, &got, &err), 0);
		assert_int_equal(got->error_code, -EBADMSG);
		assert_string_equal(ring_error_data(r, got)->text, "cut short");
		assert_int_equal(ring_error_data(r, got)->offset, 99);
	}
	ring_close(r);
	ring_close(w);
}

static void a_writer_that_died_before_its_first_slot_starts_at_the_request(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 0, RING_DATA);
	from = at(40);
	ring_attach(r, &from);
	(void)begin(w);
	ring_close(w);
	w = writer();
	assert_int_equal(begin(w), 40);
	ring_close(r);
	ring_close(w);
}

static void waits_end_at_once_when_there_is_news(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);
	struct ring_slot *slot;
	bool closed;

	(void)state;
	assert_int_equal(ring_request(w, &from, &closed), 0);
	assert_int_equal(ring_writer_wait(w, 1), -ETIMEDOUT);
	assert_int_equal(ring_reader_wait(r, 1), -ETIMEDOUT);
	from = at(0);
	ring_attach(r, &from);
	assert_int_equal(ring_writer_wait(w, 1000), 0);
	(void)begin(w);
	assert_int_equal(ring_writer_wait(w, 1), -ETIMEDOUT);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, i, RING_DATA);
	assert_int_equal(ring_reader_wait(r, 1000), 0);
	assert_int_equal(ring_claim(w, &slot), -EAGAIN);
	ring_release(r, expect(r, 0));
	assert_int_equal(ring_writer_wait(w, 1000), 0);
	ring_close(r);
	ring_close(w);
}

/* Eight processes make the ring at the same moment: one gets it, the others get an error. */
static void writers_that_start_at_once(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		int gate[2], result[2], holders = 0;
		pid_t child[8];

		assert_int_equal(pipe(gate), 0);
		assert_int_equal(pipe(result), 0);
		for (size_t i = 0; i < 8; i++) {
			child[i] = fork();
			if (child[i] == 0) {
				struct ring *ring;
				char byte = 0;
				int r;

				(void)close(gate[1]);
				if (read(gate[0], &byte, 1) < 0)
					_exit(1);
				r = ring_create(path, &geometry, 0, &ring, NULL);
				byte = r == 0 ? 'h' : r == -EBUSY ? 'b' : '?';
				/* Hold the ring until every process has tried. */
				while (write(result[1], &byte, 1) == 1)
					(void)pause();
			}
		}
		(void)close(gate[0]);
		(void)close(gate[1]);
		for (int i = 0; i < 8; i++) {
			char byte = 0;

			assert_int_equal(read(result[0], &byte, 1), 1);
			assert_true(byte == 'h' || byte == 'b');
			holders += byte == 'h';
		}
		for (size_t i = 0; i < 8; i++) {
			(void)kill(child[i], SIGKILL);
			(void)waitpid(child[i], NULL, 0);
		}
		(void)close(result[0]);
		(void)close(result[1]);
		assert_int_equal(holders, 1);
		(void)unlink(path);
	}
}

static void what_a_killed_writer_left_is_no_obstacle(void **state)
{
	char temporary[sizeof(path) + 4];
	int fd;

	(void)state;
	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	fd = open(temporary, O_RDWR | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, 12345), 0);
	(void)close(fd);
	ring_close(writer());
	assert_int_equal(access(temporary, F_OK), -1);
	ring_close(reader());
	/* Reusing the file leaves no temporary file either. */
	ring_close(writer());
	assert_int_equal(access(temporary, F_OK), -1);
}

static void the_group_may_read_whatever_the_umask(void **state)
{
	mode_t before = umask(0077);
	struct stat st;

	(void)state;
	ring_close(writer());
	(void)umask(before);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
}

static void only_an_idle_ring_is_discarded(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct error err;

	(void)state;
	ring_close(w);
	assert_int_equal(ring_discard(path, &err), -EBUSY);
	assert_non_null(strstr(err.text, "a writer or a reader holds it"));
	w = writer();
	ring_close(r);
	assert_int_equal(ring_discard(path, &err), -EBUSY);
	ring_close(w);
	assert_int_equal(ring_discard(path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(ring_discard(path, &err), 0);
}

static void one_writer_and_one_reader(void **state)
{
	struct ring *w = writer(), *r = reader(), *other;
	struct error err;

	(void)state;
	assert_int_equal(ring_create(path, &geometry, 0, &other, &err), -EBUSY);
	assert_int_equal(ring_open(path, &other, &err), -EBUSY);
	ring_close(r);
	r = reader();
	ring_close(r);
	ring_close(w);
}

static void another_schema_retires_the_ring(void **state)
{
	struct ring *w = writer(), *r = reader(), *other;
	struct ring_geometry changed = geometry;
	const struct ring_slot *slot;
	struct error err;

	(void)state;
	changed.column[0].capacity = 8192;
	ring_close(w);
	assert_int_equal(ring_create(path, &changed, 20, &other, &err), -EBUSY);
	assert_int_equal(ring_next(r, &slot, &err), -EPIPE);
	ring_close(r);
	assert_int_equal(ring_create(path, &changed, 20, &other, &err), 0);
	ring_close(other);
}

/* A file system with space for one ring of 2 MiB, like a pool of hugepages for one ring. A reader that only
 * has the ring open keeps no pages. */
static void a_new_ring_gets_the_old_ones_pages(void **state)
{
	struct ring_geometry changed = geometry;
	char temporary[sizeof(path) + 4];
	struct ring *ring;
	struct error err;
	int looking;

	(void)state;
	if (mount("tmpfs", folder, "tmpfs", 0, "size=2100k") < 0) {
		print_message("a file system of our own: %s\n", strerror(errno));
		skip();
	}
	ring_close(writer());
	ring_close(reader());
	assert_int_equal(ring_held_bytes(path), 2 << 20);
	looking = open(path, O_RDWR);
	for (int i = 0; i < 2; i++) {
		changed.column[0].capacity += 4096;
		if (ring_create(path, &changed, 20, &ring, &err) < 0)
			print_error("%s\n", err.text);
		else
			ring_close(ring);
		assert_int_equal(ring_held_bytes(path), 2 << 20);
	}
	(void)close(looking);
	ring = reader();
	assert_int_equal(ring_geometry_of(ring)->column[0].capacity, changed.column[0].capacity);
	ring_close(ring);
	/* The temporary file of a killed writer counts, too. */
	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	assert_int_equal(rename(path, temporary), 0);
	assert_int_equal(ring_held_bytes(path), 2 << 20);
	ring_close(writer());
}

/* ---- Pages of 1 GiB ---- */

#define GIB_POOL "/sys/kernel/mm/hugepages/hugepages-1048576kB/"

static long gib_pool(const char *name, long set)
{
	char file_path[96];
	FILE *file;
	long number = -1;

	(void)snprintf(file_path, sizeof(file_path), GIB_POOL "%s", name);
	file = fopen(file_path, set < 0 ? "re" : "we");
	if (file && set < 0 && fscanf(file, "%ld", &number) != 1)
		number = -1;
	if (file && set >= 0)
		(void)fprintf(file, "%ld\n", set);
	if (file)
		(void)fclose(file);
	return number;
}

/* Skipped where the kernel cannot make a page of 1 GiB, which it seldom can after boot. */
static bool have_gib_page(void)
{
	long before = gib_pool("nr_hugepages", -1);

	if (before < 0)
		return false;
	if (gib_pool("free_hugepages", -1) < 1)
		(void)gib_pool("nr_hugepages", before + 1);
	return gib_pool("free_hugepages", -1) >= 1;
}

static void a_ring_on_pages_of_1_gib(void **state)
{
	const long before = gib_pool("nr_hugepages", -1);
	struct ring_geometry changed = geometry;
	struct ring *w, *r;
	struct error err;

	(void)state;
	if (!have_gib_page() || mount("hugetlbfs", folder, "hugetlbfs", 0, "pagesize=1G") < 0) {
		print_message("no page of 1 GiB here\n");
		skip();
	}
	w = writer();
	r = reader();
	assert_int_equal(ring_held_bytes(path), 1 << 30);
	assert_int_equal(ring_pages_of(w), RING_HUGE_PAGES);
	ring_close(w);
	w = writer(); /* reuses the existing ring */
	ring_close(r);
	r = reader();
	ring_close(r);
	ring_close(w);
	changed.column[0].capacity = 8192;
	assert_int_equal(ring_create(path, &changed, 20, &w, &err), 0);
	assert_int_equal(ring_held_bytes(path), 1 << 30);
	ring_close(w);
	assert_int_equal(unlink(path), 0);
	/* Nothing maps the page now, so it is free. */
	assert_int_equal(gib_pool("free_hugepages", -1), gib_pool("nr_hugepages", -1));
	(void)gib_pool("nr_hugepages", before);
}

static int unmount(void **state)
{
	(void)state;
	(void)umount(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(slots_arrive_in_order, fresh),
		cmocka_unit_test_setup(tail_moves_over_the_finished_prefix, fresh),
		cmocka_unit_test_setup(other_generations_are_passed_unread, fresh),
		cmocka_unit_test_setup(a_restarted_writer_goes_on, fresh),
		cmocka_unit_test_setup(a_writer_that_died_before_its_first_slot_starts_at_the_request, fresh),
		cmocka_unit_test_setup(a_reader_at_the_right_place_needs_no_rewind, fresh),
		cmocka_unit_test_setup(a_place_that_is_not_the_readers_is_asked_for, fresh),
		cmocka_unit_test_setup(an_error_ends_its_generation, fresh),
		cmocka_unit_test_setup(nobody_goes_on_behind_an_error, fresh),
		cmocka_unit_test_setup(an_error_is_remembered_without_its_slot, fresh),
		cmocka_unit_test_setup(an_error_carries_its_record, fresh),
		cmocka_unit_test_setup(waits_end_at_once_when_there_is_news, fresh),
		cmocka_unit_test_setup(one_writer_and_one_reader, fresh),
		cmocka_unit_test_setup(only_an_idle_ring_is_discarded, fresh),
		cmocka_unit_test_setup(writers_that_start_at_once, fresh),
		cmocka_unit_test_setup(what_a_killed_writer_left_is_no_obstacle, fresh),
		cmocka_unit_test_setup(the_group_may_read_whatever_the_umask, fresh),
		cmocka_unit_test_setup(another_schema_retires_the_ring, fresh),
		cmocka_unit_test_setup_teardown(a_new_ring_gets_the_old_ones_pages, fresh, unmount),
		cmocka_unit_test_setup_teardown(a_ring_on_pages_of_1_gib, fresh, unmount),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
