# SPDX-License-Identifier: Apache-2.0
"""Checks the expected figures of tests/unit/callbacks.c with Keras's EarlyStopping and ReduceLROnPlateau: reads the tables
of that test, and lets Keras decide. Prints TAP."""
import os
import pathlib
import re

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras

SOURCE = pathlib.Path("tests/unit/callbacks.c").read_text()


def numbers(text, name):
    found = re.search(rf"\b{name}\[\] = \{{ ([^}}]*) \}}", text)
    return [float(number) for number in found.group(1).split(",")]


def setting(text, key):
    return float(re.search(rf"\.{key} = ([\d.]+)", text).group(1))


def begun(callback):
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    callback.set_model(model)
    callback.on_train_begin()
    return callback


def stops_at(losses, patience, min_delta, mode):
    callback = begun(keras.callbacks.EarlyStopping("val_loss", min_delta=min_delta, patience=patience, mode=mode))
    for epoch, loss in enumerate(losses):
        callback.on_epoch_end(epoch, {"val_loss": loss})
        if callback.model.stop_training:
            return epoch
    return len(losses)


def reductions(losses, **settings):
    callback = begun(keras.callbacks.ReduceLROnPlateau("val_loss", **settings))
    rates = [float(callback.model.optimizer.learning_rate.numpy())]
    for epoch, loss in enumerate(losses):
        callback.on_epoch_end(epoch, {"val_loss": loss})
        rates.append(float(callback.model.optimizer.learning_rate.numpy()))
    return [(epoch, round(rate, 6)) for epoch, rate in enumerate(rates[1:]) if rate != rates[epoch]]


CASE = re.compile(r'\{ "([^"]+)", (\w+), (\d+), (\d+), ([\d.]+), MODE_(\w+), (\d+) \}')
results = []
for label, losses, epochs, patience, min_delta, mode, stops in CASE.findall(SOURCE):
    found = stops_at(numbers(SOURCE, losses)[:int(epochs)], int(patience), float(min_delta), mode.lower())
    results.append((f"early stopping, {label}: epoch {stops}", found == int(stops), found))
assert len(results) >= 9, "the table of tests/unit/callbacks.c"

plateau = SOURCE[SOURCE.index("void test_reduces"):SOURCE.index("void test_keeps")]
expected = list(zip(map(int, numbers(plateau, "reduced")), numbers(plateau, "rates")))
found = reductions(numbers(plateau, "losses"), min_delta=0,
                   **{key: setting(plateau, key) for key in ("patience", "cooldown", "factor", "min_lr")})
results.append((f"reduced on a plateau: {expected}", found == expected, found))

for number, (name, good, found) in enumerate(results, 1):
    print(f"{'ok' if good else 'not ok'} {number} - {name}" + ("" if good else f", Keras: {found}"))
print(f"1..{len(results)}")
raise SystemExit(not all(good for _, good, _ in results))
