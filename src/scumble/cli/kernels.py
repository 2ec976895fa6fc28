"""From options to a kernel."""

from __future__ import annotations

import argparse
from typing import Any

from scumble.errors import ParameterError
from scumble.kernels import HammingKernel, JaccardKernel, Kernel

_NAMES = ("euclidean", "manhattan", "angular", "hamming", "jaccard")


def kernel_from(args: argparse.Namespace, columns: list[str]) -> Kernel:
    """The kernel that the options describe, over these columns.

    The columns in --categories get a Hamming kernel, the one in --tokens a Jaccard kernel, all others the --kernel; the
    result is their product.
    """
    if isinstance(args.kernel, (dict, list)):
        return _from_tables([args.kernel] if isinstance(args.kernel, dict) else args.kernel)
    categories, tokens = args.categories or [], args.tokens or []
    for name in [*categories, *tokens]:
        if name not in columns:
            raise ParameterError(f"{name!r} is none of the columns {', '.join(columns)}. Hint: add it to --columns.")
    rest = [name for name in columns if name not in categories and name not in tokens]
    factors: list[Kernel] = []
    if rest:
        factors.append(_one(args, rest if categories or tokens else None))
    elif args.bandwidth is not None or args.scale is not None:
        raise ParameterError(
            "--bandwidth and --scale are for columns of numbers, and there are none. Hint: leave them out, or name a "
            "column of numbers in --columns, too."
        )
    if categories:
        factors.append(HammingKernel(columns=categories if rest or tokens else None))
    if tokens:
        factors.append(JaccardKernel(columns=tokens if rest or categories else None))
    kernel = factors[0]
    for factor in factors[1:]:
        kernel = kernel * factor
    return kernel


def _one(args: argparse.Namespace, columns: list[str] | None) -> Kernel:
    name = args.kernel or "euclidean"
    _known(name)
    settings: dict[str, Any] = {"power": args.power or 1, "columns": columns}
    if args.scale is not None:
        settings["scale"] = args.scale
    if name in ("euclidean", "manhattan"):
        if args.bandwidth is None:
            whole = "Give --schema for a whole table (scumble schema TABLE drafts one); or, for a density, give"
            raise ParameterError(
                f"{whole if hasattr(args, 'schema') else 'Give'} --bandwidth: how far apart two records may be and "
                "still be near. It must be public, not read off the data. Hint: --scale age=10,income=20000 "
                "--bandwidth 1 means about 10 years or 20,000."
            )
        settings["bandwidth"] = args.bandwidth
    elif args.bandwidth is not None:
        raise ParameterError(f"The {name} kernel has no bandwidth. Hint: --power makes it sharper.")
    return make(name, settings)


def _known(name: str) -> None:
    if name not in Kernel.registry or name == "product":
        raise ParameterError(f"There is no kernel {name!r}. Hint: {', '.join(_NAMES)}.")


def make(name: str, settings: dict[str, Any]) -> Kernel:
    """A kernel by its name."""
    _known(name)
    try:
        return Kernel.registry[name](**settings)
    except TypeError:
        raise ParameterError(f"The {name} kernel does not take all of {', '.join(sorted(settings))}.") from None


def _from_tables(tables: list[Any]) -> Kernel:
    kernel: Kernel | None = None
    for table in tables:
        if not isinstance(table, dict) or not isinstance(table.get("name"), str):
            raise ParameterError('Each [[kernel]] of a configuration needs a name, such as name = "euclidean".')
        factor = make(table["name"], {key: value for key, value in table.items() if key != "name"})
        kernel = factor if kernel is None else kernel * factor
    if kernel is None:
        raise ParameterError("The configuration's kernel is an empty list. Hint: leave it out.")
    return kernel
