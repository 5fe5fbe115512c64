# SPDX-License-Identifier: Apache-2.0
"""Shared by the peers written in Python: a timed pass, a network. As a program: warms up memory for Kiln's rounds."""
import mmap
import resource
import time


def keras_network(inputs, units=(256, 16, 2), rates=(0.2, 0.2), optimizer="adam"):
    """Dense layers, all but the last with a relu and a dropout, in Keras, compiled; without more the article's network."""
    import tensorflow as tf
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Input((inputs,))])
    for i, width in enumerate(units):
        model.add(layers.Dense(width, activation="relu" if i < len(rates) else "softmax"))
        if i < len(rates) and rates[i]:
            model.add(layers.Dropout(rates[i]))
    model.compile(optimizer, "categorical_crossentropy", metrics=["accuracy"])
    return model


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def warm_memory(size=1280 << 20):
    """Warms up memory. The host of a virtual machine may take back free memory, and the next user then pays for the host's
    page faults: 2 to 3 s a GB, against 0.06 s for the guest's own. Touch more memory than two windows need, so that none
    of it faults in the host."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    for page in range(0, size, mmap.PAGESIZE):
        memory[page] = 1


def measure(rows_of_batches):
    """Prints the records of an iterable of batch sizes, and the seconds and CPU-seconds they took."""
    warm_memory()
    start, cpu = time.monotonic(), cpu_seconds()
    rows = sum(rows_of_batches)
    print(rows, time.monotonic() - start, cpu_seconds() - cpu, flush=True)


if __name__ == "__main__":
    warm_memory()
