# SPDX-License-Identifier: Apache-2.0
"""The peer of tests/bench/run-transfer-e2e: transfer.py PICTURES FOLDER SIDE EPOCHS ROWS RATE. PICTURES has pictures as
{train,test}/CLASS/NAME. PyTorch's EfficientNet-Lite0 with the weights of ImageNet computes the features of all pictures once
(decoded and resized by Pillow, which widens its filter as antialias = true does); a linear head learns from them with Adam.
Writes weights.pth; some test pictures of SIDE x SIDE as PNG files (png/) and as an array (pixels.npz); and peer.json: the
accuracy on the test pictures with each of HEADS seeds, and the seconds of the features."""
import glob
import json
import os
import sys
import time

import numpy as np
import torch
from features import of_lite0
from PIL import Image

HEADS, BATCH, SHOWN = 5, 32, 60


def pictures_of(folder, split):
    names = sorted(glob.glob(f"{folder}/{split}/*/*"))
    classes = sorted({os.path.basename(os.path.dirname(name)) for name in names}, key=os.fsencode)
    return names, torch.tensor([classes.index(os.path.basename(os.path.dirname(name))) for name in names]), classes


def pixels_of(names, side):
    return np.stack([np.asarray(Image.open(name).convert("RGB").resize((side, side), Image.BILINEAR)) for name in names])


def features_of(network, names, side):
    body, scale = network
    rows = []
    with torch.no_grad():
        for first in range(0, len(names), BATCH):
            x = torch.from_numpy(pixels_of(names[first:first + BATCH], side)).float()
            rows.append(body(scale(x).permute(0, 3, 1, 2)).mean([2, 3]))
    return torch.cat(rows)


def accuracy_of_head(train, test, classes, epochs, rows, rate, seed):
    torch.manual_seed(seed)
    head = torch.nn.Linear(train[0].shape[1], classes)
    torch.nn.init.xavier_uniform_(head.weight)
    torch.nn.init.zeros_(head.bias)
    adam = torch.optim.Adam(head.parameters(), lr=rate, eps=1e-7)
    for _ in range(epochs):
        for picked in torch.randperm(len(train[1])).split(rows):
            adam.zero_grad()
            torch.nn.functional.cross_entropy(head(train[0][picked]), train[1][picked]).backward()
            adam.step()
    with torch.no_grad():
        return (head(test[0]).argmax(1) == test[1]).double().mean().item()


def show_some(names, side, folder):
    """Every few pictures, so that all classes are among them."""
    pixels = pixels_of(names[::max(1, len(names) // SHOWN)], side)
    os.makedirs(f"{folder}/png")
    for i, picture in enumerate(pixels):
        Image.fromarray(picture).save(f"{folder}/png/{i:04}.png")
    np.savez(f"{folder}/pixels.npz", pixels=pixels)


def main():
    pictures, folder = sys.argv[1:3]
    side, epochs, rows = map(int, sys.argv[3:6])
    rate = float(sys.argv[6])
    torch.set_num_threads(1)
    torch.manual_seed(44)
    model, body, scale = of_lite0()
    torch.save(model.state_dict(), f"{folder}/weights.pth")
    started = time.monotonic()
    names, labels, classes = pictures_of(pictures, "train")
    train = features_of((body, scale), names, side), labels
    names, labels, _ = pictures_of(pictures, "test")
    test = features_of((body, scale), names, side), labels
    show_some(names, side, folder)
    middle = time.monotonic()
    accuracies = [accuracy_of_head(train, test, len(classes), epochs, rows, rate, seed) for seed in range(HEADS)]
    with open(f"{folder}/peer.json", "w") as out:
        json.dump({"classes": classes, "train": len(train[1]), "test": len(test[1]), "accuracies": accuracies,
                   "features_s": middle - started, "peer": "torch-" + torch.__version__.split("+")[0]}, out)


if __name__ == "__main__":
    main()
