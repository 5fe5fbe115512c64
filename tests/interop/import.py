# SPDX-License-Identifier: Apache-2.0
"""Networks that Keras saves as .keras files go through kiln import: what Kiln computes of the files that it writes is what Keras
computes, up to 1e-4 of the largest number; what Kiln lacks is refused by the name of the layer. Small networks have every layer
of firmware/import/keras/table.c, and Kiln's own prediction; those of keras.applications, with random weights, go by way of kiln
export and onnxruntime. Arguments: parts of names to choose rows."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import networks
import numpy as np
import onnxruntime
from keras import layers as K
from lib.tap import BIN, ROOT

LIMIT = 1e-4
ROWS = 3
IMAGE, SEQUENCE, VECTOR = (8, 7, 3), (6, 5), (12,)


def sequential(shape, *layers, **more):
    return lambda: keras.Sequential([keras.Input(shape, **more), *(layer() for layer in layers)])


def functional(shape, build):
    def model():
        inputs = keras.Input(shape, name="x")
        return keras.Model(inputs, build(inputs))
    return model


def image(*layers):
    """Layers on images, then a class for each row."""
    return sequential(IMAGE, *layers, K.Flatten, lambda: K.Dense(4, activation="softmax"))


def steps(*layers):
    return sequential(SEQUENCE, *layers, K.Flatten, lambda: K.Dense(4, activation="softmax"))


def joined(layer):
    return functional(VECTOR, lambda x: K.Dense(3)(layer([K.Dense(5)(x), K.Dense(5, activation="tanh")(x)])))


def arithmetic(x):
    x = K.Dense(6)(x)
    y = K.Dense(6)(x) * x + 3.0
    return K.Dense(3)(keras.ops.relu6(1.5 - y) / 6.0 - x)


def squeeze(x):
    """A block of MobileNetV3: channels with weights."""
    x = K.Conv2D(6, 3, padding="same", use_bias=False)(x)
    y = K.Conv2D(6, 1, activation="hard_sigmoid")(K.GlobalAveragePooling2D(keepdims=True)(x))
    return K.Dense(3)(K.Flatten()(K.Multiply()([x, y])))


def two_inputs():
    words, age = keras.Input([9], dtype="int32", name="words"), keras.Input([2], name="age")
    x = K.GRU(4)(K.Embedding(20, 6, mask_zero=True)(words))
    return keras.Model([words, age], K.Dense(3, activation="softmax")(K.Concatenate()([x, age])))


def block(x):
    a = K.MultiHeadAttention(2, 4, value_dim=3)(x, x, use_causal_mask=True)
    x = K.LayerNormalization()(K.Add()([x, a]))
    b = K.MultiHeadAttention(2, 4)(K.Dense(7)(x), x, K.Dense(3)(x))
    return K.Dense(3)(K.GlobalAveragePooling1D()(b))


def trained():
    """With all that compile() can get."""
    model = sequential(VECTOR, lambda: K.Dense(8, kernel_regularizer=keras.regularizers.L1L2(0.1, 0.2)), K.BatchNormalization,
                       lambda: K.Dense(4))()
    model.compile(keras.optimizers.SGD(0.125, momentum=0.5, nesterov=True, clipnorm=2.0),
                  keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.25), ["accuracy", keras.metrics.AUC()])
    return model


def normalized():
    layer = K.Normalization()
    layer.adapt(np.random.default_rng(3).normal(2, 3, [100, *VECTOR]).astype(np.float32))
    return sequential(VECTOR, lambda: layer, lambda: K.Dense(4, activation="sigmoid"))()


def words(build):
    """Layers on word vectors with the mask of their ids."""
    def model():
        x = keras.Input([7], dtype="int32", name="x")
        return keras.Model(x, K.Dense(3)(build(K.Embedding(20, 4, mask_zero=True)(x))))
    return model


def lost(x):
    """A function of Keras has no mask."""
    return K.LSTM(5, name="steps")(x * 8.0)


def attends(x):
    y = x + 1.0
    return K.Flatten()(K.MultiHeadAttention(2, 2, name="looks")(y, y))


def constant():
    """A column of the adapted data is always 0, as relu makes it of some rows."""
    data = np.random.default_rng(4).normal(2, 3, [100, *VECTOR]).astype(np.float32)
    data[:, 5] = 0
    layer = K.Normalization()
    layer.adapt(data)
    return sequential(VECTOR, lambda: K.Activation("relu"), lambda: layer, lambda: K.Activation("tanh"), lambda: K.Dense(3))()


SMALL = {
    "dense, activations": sequential(VECTOR, *(lambda name=name: K.Dense(6, activation=name) for name in (
        "relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "leaky_relu", "elu", "celu", "selu", "softplus", "softsign",
        "hard_sigmoid", "hard_silu", "hard_tanh", "log_sigmoid", "mish", "soft_shrink", "tanh_shrink", "squareplus", "softmax"))),
    "layers of functions": sequential(VECTOR, lambda: K.ReLU(2.0, 0.1, 0.2), lambda: K.LeakyReLU(0.2), lambda: K.ELU(0.5),
                                      lambda: K.Activation("leaky_relu"), lambda: K.Activation("linear"), K.Identity,
                                      lambda: K.Activation("mish"), lambda: K.Dropout(0.3), lambda: K.Dense(5), K.Softmax),
    "convolutions": image(lambda: K.ZeroPadding2D(((1, 2), (0, 3))), lambda: K.Conv2D(6, (3, 2), strides=2, activation="relu"),
                          lambda: K.SpatialDropout2D(0.2), lambda: K.ZeroPadding2D(2),
                          lambda: K.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
                          lambda: K.SeparableConv2D(5, 3, padding="same", activation="gelu"),
                          lambda: K.Conv2D(4, 2, dilation_rate=2, padding="same", use_bias=False)),
    "pools": image(lambda: K.MaxPooling2D(2, strides=1, padding="same"), lambda: K.AveragePooling2D((2, 3))),
    "global pools": sequential(IMAGE, lambda: K.GlobalMaxPooling2D(keepdims=True), K.GlobalAveragePooling2D, lambda: K.Dense(2)),
    "convolutions of sequences": steps(lambda: K.ZeroPadding1D((2, 1)), lambda: K.Conv1D(7, 3, activation="tanh"),
                                       lambda: K.DepthwiseConv1D(2), lambda: K.SeparableConv1D(4, 2),
                                       lambda: K.MaxPooling1D(2), lambda: K.AveragePooling1D(2, strides=1, padding="same")),
    "global pools of sequences": functional(SEQUENCE, lambda x: K.Dense(2)(K.Add()(
        [K.GlobalMaxPooling1D()(x), K.GlobalAveragePooling1D()(x)]))),
    "norms": image(K.BatchNormalization, lambda: K.BatchNormalization(scale=False, epsilon=0.01, trainable=False),
                   K.LayerNormalization, K.RMSNormalization, K.UnitNormalization, lambda: K.Rescaling(2.0, 0.5)),
    "normalization": normalized,
    "normalization inside of a constant column": constant,
    "normalization inside": image(lambda: K.Rescaling(0.5), K.Normalization),
    "shapes": sequential(SEQUENCE, lambda: K.Permute((2, 1)), lambda: K.Reshape((3, 10)), lambda: K.TimeDistributed(K.Dense(2)),
                         K.Flatten, lambda: K.Dense(3, name="with.dots and spaces")),
    "pictures changed at random": image(lambda: K.RandomFlip("horizontal"), lambda: K.RandomRotation(0.1),
                                        lambda: K.RandomZoom((-0.2, 0.1)), lambda: K.RandomTranslation(0.1, 0.2),
                                        lambda: K.RandomBrightness(0.1, (0, 1)), lambda: K.CenterCrop(6, 5)),
    "lstm, gru, simple_rnn": steps(lambda: K.LSTM(4, return_sequences=True, go_backwards=True),
                                   lambda: K.GRU(5, return_sequences=True, use_bias=False), lambda: K.SimpleRNN(6)),
    "bidirectional": steps(lambda: K.Bidirectional(K.LSTM(4, return_sequences=True)), lambda: K.Bidirectional(K.GRU(3), "sum")),
    "attention": functional(SEQUENCE, block),
    "two inputs, a mask": two_inputs,
    "masks through layers": words(lambda x: K.GlobalAveragePooling1D()(K.LayerNormalization()(K.Add()(
        [K.MultiHeadAttention(2, 2)(x, x), K.LSTM(4, return_sequences=True)(K.Dropout(0.1)(x))])))),
    "a bidirectional layer with a mask": words(lambda x: K.Bidirectional(K.GRU(3))(x)),
    "a function behind a mask, then no layer that reads masks": words(lambda x: K.Flatten()(x * 8.0)),
    "embedding of floats": sequential([5], lambda: K.Embedding(30, 4), K.Flatten, lambda: K.Dense(1, activation="sigmoid")),
    "arithmetic": functional(VECTOR, arithmetic),
    "squeeze and excite": functional(IMAGE, squeeze),
    "compiled": trained,
    **{name: joined(layer()) for name, layer in (
        ("add", K.Add), ("subtract", K.Subtract), ("multiply", K.Multiply), ("average", K.Average), ("maximum", K.Maximum),
        ("minimum", K.Minimum), ("concatenate", K.Concatenate), ("dot", lambda: K.Dot(1)))},
}

APPLICATIONS = ["VGG16", "VGG19", "ResNet50", "ResNet50V2", "ResNet101", "ResNet152V2", "MobileNet", "MobileNetV2", "MobileNetV3Small",
                "MobileNetV3Large", "DenseNet121", "DenseNet169", "InceptionV3", "Xception"]


def shared(x):
    layer = K.Dense(12, name="twice")
    return K.Dense(2)(layer(layer(x)))


def two_outputs():
    x = keras.Input(VECTOR)
    return keras.Model(x, [K.Dense(2, name="a")(x), K.Dense(3, name="b")(x)])


def much():
    x = keras.Input(IMAGE, name="x")
    y = K.Conv2D(6, 3, groups=3, name="parts")(x)
    y = K.GaussianNoise(0.1, name="noise")(y)
    y = K.Dropout(0.1, noise_shape=(None, 1, 1, 6), name="drop")(y)
    y = K.LayerNormalization(axis=1, name="lines")(y)
    return keras.Model(x, K.Dense(2, kernel_constraint="non_neg", name="last")(K.Flatten()(y)))


def application(name):
    sides = {"InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71}
    side = sides.get(name, 64)
    return getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), include_top=False, pooling="avg")


# What the words on standard error must say, all of them.
REFUSED = {
    "a layer called twice": (functional(VECTOR, shared), [r"twice \(Dense\), layer 2 of 3: it is called 2 times"]),
    "two outputs": (two_outputs, [r"2 outputs: Kiln has one"]),
    "a model inside": (sequential(VECTOR, lambda: keras.Sequential([K.Dense(3)], name="inner")),
                       [r"inner \(Sequential\), layer \d of \d: Kiln has no models inside of models"]),
    "an unknown length": (sequential([None, 3], lambda: K.LSTM(2)), ["a dimension is not known"]),
    "many things at once": (much, [r"parts \(Conv2D\), layer 2 of 7: groups = 3", r"noise \(GaussianNoise\), layer 3 of 7",
                                   r"drop \(Dropout\), layer 4 of 7: noise_shape", r"lines \(LayerNormalization\), .*: axis = ",
                                   r"last \(Dense\), layer 7 of 7: kernel_constraint", "Kiln lacks 5 things of it"]),
    "EfficientNetB0": (lambda: application("EfficientNetB0"), [r"block2b_drop \(Dropout\), .*: noise_shape = \[null,1,1,1\]"]),
    "EfficientNetV2B0": (lambda: application("EfficientNetV2B0"), [r"block2b_drop \(Dropout\), .*: noise_shape"]),
    "a mask that a function loses": (words(lost), [r"steps \(LSTM\), .*: Keras loses the mask at multiply\w* \(Multiply\)"]),
    "a mask that attention does not get": (words(attends), [r"looks \(MultiHeadAttention\), .*: Keras loses the mask at add"]),
    "zeros where the mask is": (words(lambda x: K.Flatten()(K.LSTM(3, return_sequences=True, zero_output_for_mask=True, name="z")(x))),
                                [r"z \(LSTM\), .*: return_sequences with a mask"]),
    "zeros of a bidirectional layer": (sequential([6], lambda: K.Embedding(20, 4, mask_zero=True),
                                                  lambda: K.Bidirectional(K.LSTM(3, return_sequences=True), name="z"), K.Flatten,
                                                  lambda: K.Dense(2), dtype="int32"),
                                       [r"z \(Bidirectional\), .*: return_sequences with a mask"]),
    "NASNetMobile": (lambda: application("NASNetMobile"), [r"cropping2d \(Cropping2D\), layer 53 of \d+: Kiln has no such layer"]),
    "ConvNeXtTiny": (lambda: application("ConvNeXtTiny"), [r"_layer_scale \(LayerScale\), .*: Kiln has no such layer", "groups = 96"]),
}


def kiln(*arguments, **more):
    return subprocess.run([f"{BIN}/kiln", *arguments], capture_output=True, text=True, check=False, **more)


def imported(model, work):
    """The folder that kiln import makes of a model, and the names of the features."""
    model.save(f"{work}/model.keras")
    shutil.rmtree(f"{work}/out", ignore_errors=True)
    done = kiln("import", f"{work}/model.keras", "--output", f"{work}/out")
    if done.returncode:
        raise RuntimeError(done.stderr)
    return f"{work}/out", re.findall(r"^input: (\S+),", done.stdout, re.M)


def make_random(model, rng):
    """Other weights than zeros and ones."""
    networks.random_statistics(model, rng)
    for layer in model.layers:
        for weight in layer.weights:
            if weight.dtype == "float32" and re.search("bias|gamma|beta|scale", weight.path):
                weight.assign(rng.uniform(0.5, 1.5, weight.shape))


def make_rows(model, rng):
    """A batch for each input, by its name in Keras."""
    whole = isinstance(model.layers[0], K.Embedding)
    return {tensor.name: (rng.integers(0, 20, [ROWS, *tensor.shape[1:]]) if whole or "int" in tensor.dtype else
                          rng.standard_normal([ROWS, *tensor.shape[1:]])).astype(tensor.dtype) for tensor in model.inputs}


def predicted(folder, rows):
    lines = "\n".join(json.dumps({name: values[i].tolist() for name, values in rows.items()}) for i in range(ROWS))
    done = kiln("predict", f"{folder}/weights.safetensors", input=lines)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return np.array([numbers_of(json.loads(line)) for line in done.stdout.splitlines()])


def numbers_of(answer):
    if "probabilities" in answer:
        return list(answer["probabilities"].values())
    return answer.get("values", answer.get("value"))


def by_onnx(folder, rows):
    done = kiln("export", f"{folder}/weights.safetensors", "--output", f"{folder}/exported")
    if done.returncode:
        raise RuntimeError(done.stderr)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(f"{folder}/exported/model.onnx", options)
    return session.run(None, rows)[0]


def look(name, make, work, compute):
    keras.backend.clear_session()
    keras.utils.set_random_seed(44)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    model = make()
    make_random(model, rng)
    rows = make_rows(model, rng)
    wanted = model(rows if len(rows) > 1 else next(iter(rows.values())), training=False).numpy()
    if model.compiled and getattr(model.loss, "_fn_kwargs", {}).get("from_logits"):
        wanted = keras.ops.softmax(wanted).numpy()
    folder, names = imported(model, work)
    found = compute(folder, {names[0]: next(iter(rows.values()))} if len(rows) == 1 else rows).reshape(ROWS, -1)
    if wanted.shape[-1] == 1:  # the second of two classes
        found = found[:, -1:]
    return networks.difference(found, wanted.reshape(ROWS, -1))


def look_refused(make, words, work):
    make().save(f"{work}/model.keras")
    shutil.rmtree(f"{work}/out", ignore_errors=True)
    done = kiln("import", f"{work}/model.keras", "--output", f"{work}/out")
    missing = [word for word in words if not re.search(word, done.stderr)]
    if done.returncode != 78 or missing or os.listdir(f"{work}/out"):
        raise RuntimeError(f"exit {done.returncode}, not there: {missing}\n{done.stderr}")
    return 0


def main():
    work = tempfile.mkdtemp(prefix="kiln-import-")
    os.environ["KILN_ROOT"] = work
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(ROOT, "build/kernels"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
    rows = [(name, lambda name=name, make=make: look(name, make, work, predicted)) for name, make in SMALL.items()]
    rows += [(name, lambda name=name: look(name, lambda: application(name), work, by_onnx)) for name in APPLICATIONS]
    rows += [(f"refused: {name}", lambda make=make, words=words: look_refused(make, words, work))
             for name, (make, words) in REFUSED.items()]
    rows = [row for row in rows if not sys.argv[1:] or any(word in row[0] for word in sys.argv[1:])]
    failed = False
    for number, (name, run) in enumerate(rows, 1):
        try:
            print(f"ok {number} - imported: {name} # {run():.1e}", flush=True)
        except Exception as error:  # raised by any of the tools
            failed = True
            print(f"not ok {number} - imported: {name}\n# " + str(error).strip()[:3000].replace("\n", "\n# "), flush=True)
    print(f"1..{len(rows)}")
    shutil.rmtree(work)
    return failed


if __name__ == "__main__":
    sys.exit(main())
