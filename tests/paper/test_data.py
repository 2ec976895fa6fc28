"""The loader: where it looks, what it refuses, and that it can read the originals' formats."""

from __future__ import annotations

import io
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.paper import data, synthetic


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SCUMBLE_DATA, empty; and the cache."""
    monkeypatch.setenv("SCUMBLE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(data, "CACHE", tmp_path / "cache")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch):
    """Stands in for the publisher's server: answers every address with these bytes."""

    def answer(content: bytes) -> None:
        monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(content))

    return answer


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


ORIGINALS = {
    "skin": (zipped({"Skin_NonSkin.txt": "74\t85\t123\t1\n255 0 3 2\n"}), [[74, 85, 123, 1], [255, 0, 3, 2]]),
    "codrna": (b"-1 1:8 3:0.5 8:2\n1 2:1\n", [[8, 0, 0.5, 0, 0, 0, 0, 2, -1], [0, 1, 0, 0, 0, 0, 0, 0, 1]]),
    "pulsar": (zipped({"HTRU_2.csv": "1,2,3,4,5,6,7,8,0\n"}), [[1, 2, 3, 4, 5, 6, 7, 8, 0]]),
    "airfoil": (zipped({"airfoil_self_noise.dat": "800\t0\t0.3\t71\t0.1\t126\n"}), [[800, 0, 0.3, 71, 0.1, 126]]),
    "naval": (zipped({"UCI CBM Dataset/data.txt": " ".join(map(str, range(18))) + "\n"}), [[*range(18)]]),
    "occupancy": (
        zipped(
            {
                f"{name}.txt": '"date","Temperature","Humidity","Light","CO2","HumidityRatio","Occupancy"\n'
                f'"1","2015-02-04 17:51:00",23.18,{k},426,721.25,0.0048,1\n'
                for k, name in enumerate(("datatraining", "datatest", "datatest2"))
            }
        ),
        [[23.18, k, 426, 721.25, 0.0048, 1] for k in range(3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORIGINALS)
def test_originals_are_read_checked_and_kept(name: str, folder: Path, published, monkeypatch) -> None:
    content, numbers = ORIGINALS[name]
    published(content)
    with pytest.raises(SystemExit, match="checksum"):
        data.load(name)
    assert not (data.CACHE / f"{name}.parquet").exists()
    right = data.checksum(pd.DataFrame(numbers))
    monkeypatch.setitem(data.ORIGINALS, name, data.ORIGINALS[name]._replace(checksum=right))
    frame = data.load(name)
    np.testing.assert_allclose(frame.select_dtypes("number").to_numpy(float), numbers, rtol=1e-6)
    published(b"never asked again")
    pd.testing.assert_frame_equal(data.load(name), frame)


def test_the_checksum_is_of_numbers_not_of_files() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": [3, 4, 5], "c": ["x", "y", "z"]})
    same = frame.iloc[::-1].rename(columns={"a": "A"}).assign(c="other")
    assert data.checksum(same) == data.checksum(frame)
    assert data.checksum(frame.assign(b=[3, 4, 6])) != data.checksum(frame)


@pytest.fixture
def tables(folder: Path):
    synthetic.write(folder)
    yield folder
    for prepared in (data.classification, data.regression, data.wang):
        prepared.cache_clear()


def test_prepared_tables_keep_their_promises(tables: Path) -> None:
    for prepared in (data.classification, data.regression, data.wang):
        prepared.cache_clear()
    for name in ("nomao", "occupancy", "pulsar"):
        X, y = data.classification(name)
        assert X.min() >= 0.0 and X.max() <= 1.0
        assert {*y} == {0, 1}
    for name in ("airfoil", "naval", "gas"):
        X, y = data.regression(name)
        assert np.abs(X).max() <= 1.0 and np.abs(y).max() <= 1.0
    for name in ("airfoil", "gas"):
        X, y = data.wang(name)
        assert np.allclose(np.linalg.norm(X, axis=1), 1.0)
        assert np.abs(y).max() == pytest.approx(1.0)
