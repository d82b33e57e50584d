"""The image's packages: each file by its hash, in the versions that are tested."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = re.compile(r"^([a-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def versions(path: str) -> dict[str, str]:
    return dict(VERSION.findall((ROOT / path).read_text(encoding="utf-8").lower()))


def test_the_image_takes_the_versions_that_are_tested_and_every_file_has_a_hash() -> None:
    tested, taken = versions("requirements.lock"), versions("deploy/requirements.lock")
    assert taken.keys() >= {
        "aiokafka",
        "cryptography",
        "fsspec",
        "itsdangerous",
        "msgspec",
        "numpy",
        "onnx",
        "onnxruntime",
        "pyjwt",
        "scikit-learn",
        "setuptools",
    }
    assert {name: version for name, version in taken.items() if tested.get(name, version) != version} == {}
    text = (ROOT / "deploy" / "requirements.lock").read_text(encoding="utf-8")
    packages = re.split(r"\n(?=\S)", text.strip())
    assert len(packages) == len(taken)
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", package) for package in packages)
    assert "--require-hashes" in (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
