"""Convolutional networks as their papers have them."""

import torch
from torch import nn


def convolution(num_in, num_out, size, stride=1):
    return nn.Conv2d(num_in, num_out, size, stride, size // 2, bias=False)


class Basic(nn.Module):
    expansion = 1

    def __init__(self, num_in, width, stride):
        super().__init__()
        self.conv1, self.bn1 = convolution(num_in, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = convolution(width, width, 3), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or num_in != width:
            self.downsample = nn.Sequential(convolution(num_in, width, 1, stride), nn.BatchNorm2d(width))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, num_in, width, stride):
        super().__init__()
        num_out = 4 * width
        self.conv1, self.bn1 = convolution(num_in, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = convolution(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = convolution(width, num_out, 1), nn.BatchNorm2d(num_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or num_in != num_out:
            self.downsample = nn.Sequential(convolution(num_in, num_out, 1, stride), nn.BatchNorm2d(num_out))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, block, depths):
        super().__init__()
        self.conv1, self.bn1, self.relu = convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        num_in = 64
        for stage, depth in enumerate(depths):
            width, blocks = 64 * 2**stage, []
            for index in range(depth):
                blocks.append(block(num_in, width, 2 if stage and not index else 1))
                num_in = width * block.expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(num_in, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18():
    return ResNet(Basic, (2, 2, 2, 2))


def resnet50():
    return ResNet(Bottleneck, (3, 4, 6, 3))


class Double(nn.Sequential):
    def __init__(self, num_in, num_out):
        super().__init__(
            nn.Conv2d(num_in, num_out, 3, padding=1), nn.BatchNorm2d(num_out), nn.ReLU(inplace=True),
            nn.Conv2d(num_out, num_out, 3, padding=1), nn.BatchNorm2d(num_out), nn.ReLU(inplace=True),
        )  # fmt: skip


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (8, 16, 32, 64, 128)
        self.down = nn.ModuleList(Double(a, b) for a, b in zip((3, *widths), widths, strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[-2::-1])
        self.join = nn.ModuleList(Double(2 * w, w) for w in widths[-2::-1])
        self.pool, self.out = nn.MaxPool2d(2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        kept = []
        for down in self.down[:-1]:
            x = down(x)
            kept.append(x)
            x = self.pool(x)
        x = self.down[-1](x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([kept.pop(), up(x)], dim=1))
        return self.out(x)
