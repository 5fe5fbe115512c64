#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order written a second time, from its description alone; prints tests/vectors/order.txt.

A value is absorbed by x -> mix((x ^ value) + 0x9e3779b97f4a7c15), mix being SplitMix64's finaliser. A key is what is
left when purpose (1 records, 2 shards, 3 source, 4 bits of a record), seed, pass, window (the row for purpose 3) and source << 32 | lane
are absorbed in that order, starting from x = order version. The permutation is a balanced Feistel network over the
smallest even number of bits, two at least, that holds n, of 6 rounds, or of 12 when a half has 1 or 2 bits; round r of
key k maps (left, right) to (right, left ^ absorb(k + r * 0xd1342543de82ef95, right)); then 0 and 1 change places when
the key's top bit is set; results of n and above are put through it all again. The bits of a record are its shard's key (window: the shard) of
purpose 4, with the record's place absorbed.

Version 2 is for objects, of which each is one record. Its draws are those of version 1, from x = 1, too. The objects of
a pass are permuted as shards are, and dealt in turn: position p belongs to lane p mod lanes. That is the order; nothing
else is permuted.
"""
M = (1 << 64) - 1
VERSION = 1


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M
    return x ^ x >> 31


def absorb(x, value):
    return mix((x ^ value) + 0x9E3779B97F4A7C15 & M)


def key(purpose, seed, pass_=0, window=0, source=0, lane=0):
    x = VERSION
    for value in (purpose, seed, pass_, window, source << 32 | lane):
        x = absorb(x, value)
    return x


def permute(k, n, index):
    half = 1
    while 4**half < n:
        half += 1
    while True:
        left, right = divmod(index, 2**half)
        for r in range(12 if half < 3 else 6):
            left, right = right, (left ^ absorb(k + r * 0xD1342543DE82EF95 & M, right)) % 2**half
        index = left * 2**half + right
        if index < 2:
            index ^= k >> 63
        if index < n:
            return index


def source_of(seed, pass_, row, weights):
    at = (key(3, seed, pass_, row) >> 11) / 2.0**53 * sum(weights)
    for i, weight in enumerate(weights[:-1]):
        if at < weight:
            return i
        at -= weight
    return len(weights) - 1


def row(kind, arguments, values):
    print(kind, *arguments, ":", *values)


def main():
    print("# Order versions 1 and 2, made by tests/vectors/order.py. Never changed: an unfinished run may follow it.")
    print("# records seed pass window source lane n first : where indices first, first + 1, ... go")
    for seed, pass_, window, source, lane, n, first, count in (
        (44, 0, 0, 0, 0, 1, 0, 1), (44, 0, 0, 0, 0, 2, 0, 2), (44, 0, 0, 0, 0, 3, 0, 3), (44, 0, 0, 0, 0, 4, 0, 4),
        (44, 0, 0, 0, 0, 5, 0, 5), (44, 0, 0, 0, 0, 16, 0, 16), (44, 0, 0, 0, 0, 17, 0, 17),
        (44, 0, 0, 0, 0, 500, 0, 8), (44, 1, 0, 0, 0, 500, 0, 8), (44, 0, 1, 0, 0, 500, 0, 8),
        (45, 0, 0, 0, 0, 500, 0, 8), (44, 0, 0, 1, 0, 500, 0, 8), (44, 0, 0, 0, 1, 500, 0, 8),
        (M, M, M, 0xFFFFFFFF, 0xFFFFFFFF, 1000003, 999995, 8), (44, 3, 9, 0, 0, 2**32 + 1, 2**32 - 7, 8),
        (44, 3, 9, 0, 0, 2**40, 0, 8),
    ):
        k = key(1, seed, pass_, window, source, lane)
        row("records", (seed, pass_, window, source, lane, n, first),
            (permute(k, n, i) for i in range(first, first + count)))
    print("# shards seed source pass shards first : which shard stands at positions first, first + 1, ...")
    for seed, source, pass_, shards, first, count in (
        (44, 0, 0, 45, 0, 12), (44, 0, 1, 45, 0, 12), (44, 1, 0, 45, 0, 12), (7, 0, 0, 1000000, 999990, 10),
        (0, 0, 0, 1, 0, 1),
    ):
        k = key(2, seed, pass_, 0, source, 0)
        row("shards", (seed, source, pass_, shards, first), (permute(k, shards, i) for i in range(first, first + count)))
    print("# source seed pass first weights... : the source of global rows first, first + 1, ...")
    for seed, pass_, first, weights in ((44, 0, 0, (1, 1)), (44, 1, 0, (1, 1)), (44, 0, 10**12, (3, 1)),
                                        (44, 0, 0, (0.5, 0.25, 8, 0.25)), (1, 0, 0, (1,))):
        row("source", (seed, pass_, first, *weights), (source_of(seed, pass_, first + i, weights) for i in range(24)))
    print("# bits seed source pass shard place... : the random bits of these records of a shard")
    for seed, source, pass_, shard in ((44, 0, 0, 0), (44, 0, 1, 0), (44, 1, 0, 7), (M, 0xFFFFFFFF, M, M)):
        places = (12, 13, 2**40, M)
        k = key(4, seed, pass_, shard, source)
        row("bits", (seed, source, pass_, shard, *places), (absorb(k, place) for place in places))
    print("# objects seed source pass objects lanes lane first : version 2: which object gives rows first, first + 1, ... of a lane")
    for seed, source, pass_, objects, lanes, lane, first, count in (
        (44, 0, 0, 45, 1, 0, 0, 12), (44, 0, 0, 45, 4, 0, 0, 12), (44, 0, 0, 45, 4, 3, 0, 11), (44, 0, 1, 45, 2, 1, 10, 12),
        (7, 0, 3, 1000000, 3, 2, 333323, 10), (M, 0, M, 2**24, 32, 31, 2**19 - 4, 4),
    ):
        epoch = key(2, seed, pass_, 0, source, 0)
        rows = [permute(epoch, objects, p) for p in range(objects) if p % lanes == lane] if objects < 100 else None
        row("objects", (seed, source, pass_, objects, lanes, lane, first),
            rows[first:first + count] if rows else (permute(epoch, objects, i * lanes + lane) for i in range(first, first + count)))


main()
