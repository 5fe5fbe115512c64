/* SPDX-License-Identifier: Apache-2.0 */
/* The peer's memory is input: any content of it, and any change of the file, is an error and no crash. */
#include "tests/unit/ring_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Each case damages one field of the header, and opening must refuse it with the given words. */
static void hostile_headers_are_refused(void **state)
{
	static const struct {
		size_t offset;
		uint64_t value;
		size_t bytes;
		int code;
	} cases[] = {
		{ offsetof(struct ring_control, magic), 1, 8, -EUCLEAN },
		{ offsetof(struct ring_control, version), 99, 4, -EUCLEAN },
		{ offsetof(struct ring_control, slots), 0, 4, -EUCLEAN },
		{ offsetof(struct ring_control, slots), 4000, 4, -EUCLEAN },
		{ offsetof(struct ring_control, slots), UINT32_MAX, 4, -EUCLEAN },
		{ offsetof(struct ring_control, columns), 65, 4, -EUCLEAN },
		{ offsetof(struct ring_control, slot_bytes), 1, 8, -EUCLEAN },
		{ offsetof(struct ring_control, file_bytes), UINT64_MAX, 8, -EUCLEAN },
		{ offsetof(struct ring_control, head), 1000, 8, -EUCLEAN },
		{ offsetof(struct ring_control, tail), 1, 8, -EUCLEAN },
		{ offsetof(struct ring_control, retired), 1, 4, -ESTALE },
		{ offsetof(struct ring_control, column[0].capacity), UINT64_MAX, 8, -EUCLEAN },
		{ offsetof(struct ring_control, column[1].dtype), 9, 4, -EUCLEAN },
		{ offsetof(struct ring_control, request), UINT64_MAX, 8, -EUCLEAN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ring *r;
		struct error err;
		int fd;

		ring_close(writer());
		fd = open(path, O_RDWR);
		assert_int_equal(pwrite(fd, &cases[i].value, cases[i].bytes, (off_t)cases[i].offset),
				 cases[i].bytes);
		close(fd);
		assert_int_equal(ring_open(path, &r, &err), cases[i].code);
		assert_true(strlen(err.text) > 10);
		(void)unlink(path);
	}
}

static void a_wild_slot_is_an_error(void **state)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} cases[] = {
		{ offsetof(struct ring_slot, sequence), 9 },
		{ offsetof(struct ring_slot, kind), 77 },
		{ offsetof(struct ring_slot, split), 3 },
		{ offsetof(struct ring_slot, rows), UINT32_MAX },
		{ offsetof(struct ring_slot, valid_rows), 100 },
		{ offsetof(struct ring_slot, columns), 1 },
		{ offsetof(struct ring_slot, column[1].bytes), 4097 },
		{ offsetof(struct ring_slot, column[1].offset), 1 },
		{ offsetof(struct ring_slot, column[0].dtype), RING_INT64 },
		{ offsetof(struct ring_slot, column[0].capacity), 1 },
		{ offsetof(struct ring_slot, cursor.version), 0 },
		{ offsetof(struct ring_slot, cursor.split), SPLIT_MAX },
		{ offsetof(struct ring_slot, cursor.places), CURSOR_PLACES_MAX + 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ring *w = writer(), *r = reader();
		const struct ring_slot *slot;
		struct cursor from = at(0);
		struct error err;

		ring_attach(r, &from);
		(void)begin(w);
		publish(w, 0, RING_DATA);
		memcpy((uint8_t *)ring_slot_at(w, 0) + cases[i].offset, &cases[i].value, sizeof(uint32_t));
		assert_int_equal(ring_next(r, &slot, &err), -EUCLEAN);
		ring_close(r);
		ring_close(w);
		(void)unlink(path);
	}
}

static void files_that_are_no_rings_are_refused(void **state)
{
	struct ring *ring;
	struct error err;

	(void)state;
	assert_int_equal(ring_open(path, &ring, &err), -ENOENT);
	for (off_t bytes = 0; bytes <= 8192; bytes += 4096) {
		int fd = open(path, O_RDWR | O_CREAT, 0600);

		assert_int_equal(ftruncate(fd, bytes), 0);
		(void)close(fd);
		assert_int_equal(ring_open(path, &ring, &err), -EUCLEAN);
	}
	/* A writer replaces a file that is no ring, but not a folder. */
	ring_close(writer());
	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ring_open(path, &ring, &err), -EUCLEAN);
	assert_int_equal(ring_create(path, &geometry, 0, &ring, &err), -EUCLEAN);
	(void)unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(ring_open(path, &ring, &err) < 0);
	assert_true(ring_create(path, &geometry, 0, &ring, &err) < 0);
	(void)rmdir(path);
}

static void a_name_without_an_end_is_refused(void **state)
{
	struct ring *w = writer(), *r;
	struct error err;

	(void)state;
	memset(w->control->column[1].name, 'n', RING_NAME_MAX);
	assert_int_equal(ring_open(path, &r, &err), -EUCLEAN);
	ring_close(w);
}

/* The writer cannot change what ring_next() returned. */
static void a_checked_header_cannot_change(void **state)
{
	struct ring *w = writer(), *r = reader();
	const struct ring_slot *slot;
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 0, RING_DATA);
	slot = expect(r, 0);
	memset(ring_slot_at(w, 0), 0xff, sizeof(*slot));
	assert_int_equal(slot->rows, 2);
	assert_int_equal(slot->sequence, 0);
	assert_int_equal(slot->column[1].bytes, 0);
	ring_release(r, slot);
	assert_int_equal(r->control->tail, 1);
	/* read_at[] comes from the copy, too. */
	assert_int_equal(r->control->read_at[1].generation, 1);
	ring_close(r);
	ring_close(w);
}

/* With any head, the reader never hands out more slots than there are. */
static void a_wild_head_is_an_error(void **state)
{
	const uint64_t heads[] = { 0, 1, SLOTS + 1, UINT64_MAX, UINT64_MAX / 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct ring *w = writer(), *r = reader();
		const struct ring_slot *slot;
		struct cursor from = at(0);
		struct error err;

		ring_attach(r, &from);
		(void)begin(w);
		for (uint64_t batch = 0; batch < SLOTS; batch++)
			publish(w, batch, RING_DATA);
		(void)expect(r, 0);
		(void)expect(r, 1);
		w->control->head = heads[i];
		assert_int_equal(ring_next(r, &slot, &err), -EUCLEAN);
		ring_close(r);
		ring_close(w);
		(void)unlink(path);
	}
}

static void a_wild_tail_is_an_error_and_a_new_ring_later(void **state)
{
	const uint64_t tails[] = { 2, UINT64_MAX - SLOTS, UINT64_MAX / 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		struct ring *w = writer(), *r = reader();
		struct cursor from = at(0);
		struct ring_slot *slot;

		ring_attach(r, &from);
		(void)begin(w);
		publish(w, 0, RING_DATA);
		w->control->tail = tails[i];
		assert_int_equal(ring_claim(w, &slot), -EUCLEAN);
		ring_close(r);
		ring_close(w);
		w = writer();
		assert_int_equal(ring_claim(w, &slot), 0);
		ring_close(w);
		(void)unlink(path);
	}
}

/* ---- A file that is cut ---- */

static void a_file_cut_under_its_reader(void **state)
{
	struct ring *w = writer(), *r = reader();
	const struct ring_slot *slot;
	struct cursor from = at(0);
	const uint8_t *bytes;
	struct error err;

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 9, RING_DATA);
	slot = expect(r, 9);
	bytes = ring_column_data(r, slot, 0);
	assert_true(ring_intact(r));
	assert_int_equal(truncate(path, 0), 0);
	/* Cut in the middle of a slot: the rest reads as zeros, and the ring reports it. */
	assert_int_equal(bytes[31], 0);
	assert_false(ring_intact(r));
	ring_release(r, slot);
	assert_int_equal(ring_next(r, &slot, &err), -EUCLEAN);
	assert_non_null(strstr(err.text, "cut"));
	assert_int_equal(ring_reader_wait(r, 1000), 0);
	ring_close(r);
	ring_close(w);
}

static void a_file_cut_under_its_writer(void **state)
{
	struct ring *w = writer();
	struct ring_slot *slot;

	(void)state;
	assert_int_equal(ring_claim(w, &slot), 0);
	assert_int_equal(truncate(path, 0), 0);
	memset(ring_column_data(w, slot, 0), 1, 4096);
	ring_commit(w);
	assert_int_equal(ring_claim(w, &slot), -EUCLEAN);
	/* The next writer makes a new ring. */
	ring_close(w);
	w = writer();
	assert_true(ring_intact(w));
	assert_int_equal(ring_claim(w, &slot), 0);
	ring_close(w);
}

/* Only some slots are cut off: ring_next() itself reads zeros. */
static void a_file_cut_in_its_middle(void **state)
{
	struct ring *w = writer(), *r = reader();
	const struct ring_slot *slot;
	struct cursor from = at(0);
	struct error err;

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 0, RING_DATA);
	assert_int_equal(truncate(path, RING_CONTROL_BYTES), 0);
	assert_int_equal(ring_next(r, &slot, &err), -EUCLEAN);
	assert_non_null(strstr(err.text, "cut"));
	ring_close(r);
	ring_close(w);
}

/* A SIGBUS of other memory still ends the process, also after rings were opened and closed. */
static void a_sigbus_elsewhere_is_not_ours(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0) {
		volatile uint8_t *elsewhere;
		int fd;

		(void)signal(SIGBUS, SIG_DFL);
		(void)alarm(5);
		ring_close(writer());
		ring_close(writer());
		fd = open(path, O_RDWR);
		elsewhere = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (ftruncate(fd, 0) < 0)
			_exit(2);
		_exit(elsewhere[0]);
	}
	(void)waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(hostile_headers_are_refused, fresh),
		cmocka_unit_test_setup(files_that_are_no_rings_are_refused, fresh),
		cmocka_unit_test_setup(a_name_without_an_end_is_refused, fresh),
		cmocka_unit_test_setup(a_wild_slot_is_an_error, fresh),
		cmocka_unit_test_setup(a_checked_header_cannot_change, fresh),
		cmocka_unit_test_setup(a_wild_head_is_an_error, fresh),
		cmocka_unit_test_setup(a_wild_tail_is_an_error_and_a_new_ring_later, fresh),
		cmocka_unit_test_setup(a_file_cut_under_its_reader, fresh),
		cmocka_unit_test_setup(a_file_cut_under_its_writer, fresh),
		cmocka_unit_test_setup(a_file_cut_in_its_middle, fresh),
		cmocka_unit_test_setup(a_sigbus_elsewhere_is_not_ours, fresh),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
