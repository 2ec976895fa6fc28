"""Reads a scumble release and answers kernel sums, without scumble."""

import hashlib
import json
from statistics import NormalDist

import numpy as np

MAGIC = b'{"__metadata__":{"format":"scumble","format_version":"'
DIGEST = slice(8 + len(MAGIC) + len('1","sha256":"'), 8 + len(MAGIC) + len('1","sha256":"') + 64)
TYPES = {"I64": "<i8", "U64": "<u8", "F64": "<f8", "I32": "<i4", "F32": "<f4", "U8": "|u1"}
U64 = np.uint64


def read(path):
    """(metadata, arrays) of a file, or an error."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[8 : 8 + len(MAGIC)] == MAGIC, "not a scumble file"
    version = data[8 + len(MAGIC) : 8 + len(MAGIC) + 2]
    assert version in (b'1"', b'2"'), "a version that this reader does not know"
    assert hashlib.sha256(data[: DIGEST.start] + b"0" * 64 + data[DIGEST.stop :]).hexdigest() == data[DIGEST].decode()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    about = header.pop("__metadata__")
    assert about["kind"] == "release", about["kind"]
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[start + begin : start + end], TYPES[entry["dtype"]]).reshape(entry["shape"])
        arrays[name] = array.astype("<i8") if version == b'2"' and entry["dtype"] == "I32" else array
    return json.loads(about["scumble"]), arrays


# ---- random numbers ----


def words(seed, stream, count, first=0):
    """Numbers first, first + 1, … of a stream: Philox4x32-10."""
    low, half = U64(0xFFFFFFFF), U64(32)
    index = np.arange(first, first + count, dtype=U64)
    block = index >> U64(1)
    c = [block & low, block >> half, U64(stream) & low, U64(stream) >> half]
    k0, k1 = U64(seed) & low, U64(seed) >> half
    for _ in range(10):
        p0, p1 = U64(0xD2511F53) * c[0], U64(0xCD9E8D57) * c[2]
        c = [(p1 >> half) ^ c[1] ^ k0, p1 & low, (p0 >> half) ^ c[3] ^ k1, p0 & low]
        k0, k1 = U64((int(k0) + 0x9E3779B9) & 0xFFFFFFFF), U64((int(k1) + 0xBB67AE85) & 0xFFFFFFFF)
    return np.where(index & U64(1), c[2] | (c[3] << half), c[0] | (c[1] << half))


def directions(coordinate, table):
    """The 32 direction numbers of a coordinate, most significant bit first (Joe & Kuo 2008)."""
    if coordinate == 0:
        return [1 << (31 - k) for k in range(32)]
    polynomial = int(table["polynomials"][coordinate])
    degree = polynomial.bit_length() - 1
    m = [int(x) for x in table["initial"][coordinate][:degree]]
    for k in range(degree, 32):
        value = m[k - degree] ^ (m[k - degree] << degree)
        for i in range(1, degree):
            if polynomial >> (degree - i) & 1:
                value ^= m[k - i] << i
        m.append(value)
    return [m[k] << (31 - k) for k in range(32)]


def sobol(seed, coordinate, rows, table):
    """One coordinate of the scrambled points, as words."""
    stream = (2 << 48) + coordinate
    noise = [int(word) for word in words(seed, stream, 33)]
    columns = []
    for direction in directions(coordinate, table):
        column = 0
        for i in range(32):
            above = (0xFFFFFFFF << (32 - i)) & 0xFFFFFFFF  # digits more significant than digit i
            row = (noise[i] & above) | (1 << (31 - i))
            column |= (bin(row & direction).count("1") & 1) << (31 - i)
        columns.append(column)
    out = np.empty(rows, U64)
    low = words(seed, stream, rows, first=64) >> U64(32)
    for n in range(rows):
        x = noise[32] & 0xFFFFFFFF
        for k in range(n.bit_length()):
            if n >> k & 1:
                x ^= columns[k]
        out[n] = (x << 32) | int(low[n])
    return out


class Numbers:
    """One coordinate after the other."""

    def __init__(self, spec, table):
        self.spec, self.table, self.next = spec, table, 0

    def uniform(self):
        c, seed, rows = self.next, self.spec["seed"], self.spec["rows"]
        self.next += 1
        if self.spec["design"] == "sobol" and c < 1024:
            bits = sobol(seed, c, rows, self.table)
        else:
            bits = words(seed, (1 << 48) + c, rows)
        return ((bits >> U64(12)).astype(float) + 0.5) / 2.0**52

    def normal(self):
        quantile = NormalDist().inv_cdf  # Wichura's AS 241
        return np.array([quantile(u) for u in self.uniform()])


# ---- answers ----


def kernel_sum(metadata, counts, Q, table=None):
    """f̂(q) for each query: Euclidean kernels on hashed rows."""
    spec = metadata["spec"]
    kernel, (rows, buckets) = spec["kernel"], counts.shape
    assert kernel["kernel"] == "euclidean" and spec["design"] in ("iid", "sobol")
    Q = np.asarray(Q, float)
    scale = kernel.get("scale", 1.0)
    if isinstance(scale, dict):
        scale = [scale.get(name, 1.0) for name in spec["columns"]]
    numbers, power = Numbers(spec, table), kernel["power"]
    multipliers = words(spec["seed"], 3 << 48, rows * (1 + power)).reshape(rows, 1 + power)
    total = np.tile(multipliers[:, :1], (1, len(Q)))
    for hash_number in range(power):
        offset = numbers.uniform()
        direction = np.stack([numbers.normal() for _ in range(spec["dimensions"])], axis=1)
        direction = direction * (1.0 / np.broadcast_to(scale, direction.shape[1]) / kernel["bandwidth"])
        code = np.tile(offset[:, None], (1, len(Q)))
        for j in range(Q.shape[1]):  # in this order: the same rounding
            code += Q[None, :, j] * direction[:, j, None]
        code = np.floor(code)
        assert np.all(np.abs(code) < 2**31), "codes this large are mixed down first"
        total += multipliers[:, 1 + hash_number, None] * code.astype(np.int64).astype(U64)
    bucket = ((total >> U64(32)) * U64(buckets)) >> U64(32)
    found = np.take_along_axis(counts, bucket.astype(np.int64), axis=1)
    return np.mean((found - counts.sum(axis=1)[:, None] / buckets) / (1.0 - 1.0 / buckets), axis=0)
