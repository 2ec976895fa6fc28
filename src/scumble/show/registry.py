"""A release as an entry of the public registry of differential privacy deployments (OpenDP's, tier 2 and some of 3).

What the release knows is filled in; what only the curator knows is a blank with a comment. The file is YAML whose
texts are all quoted, and validates against the registry's schema as it is.
"""

from __future__ import annotations

import datetime
import json
import re

from scumble._version import __version__
from scumble.errors import many
from scumble.privacy.exact import show
from scumble.privacy.wording import noise_of_law, promise, protected
from scumble.show.usefulness import Facts

FILL = "fill in"


class Blank(str):
    """Something only the curator knows: written with a comment beside it, which may say what is wanted."""

    wanted: str

    def __new__(cls, text: str, *, wanted: str = "") -> Blank:
        """A text, or an empty one, that the curator is asked for."""
        made = super().__new__(cls, text)
        made.wanted = wanted
        return made


def entry(facts: Facts, name: str) -> Facts:
    """The entry, in the registry's own terms.

    Parameters
    ----------
    facts : dict
        The facts of the release's card.
    name : str
        Of the file.

    Returns
    -------
    dict
        Nested as the registry's schema wants it.
    """
    parameters = {"epsilon": facts["epsilon"]} | ({"delta": facts["delta"]} if facts["delta"] else {})
    columns = ", ".join(facts["columns"]) if facts["columns"] else many(facts["dimensions"], "column")
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", name.lower().removesuffix(".scumble")).strip("_") or "release",
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": Blank(name),
                "data_curators": [Blank("")],
                "intended_use": Blank(""),
                "data_product_type": Blank("Summary statistics"),  # or what the curator makes of the counts
                "data_product_region": Blank(""),
                "description": f"A scumble release: noisy counts of the columns {columns}, from which "
                f"{_read_from(facts)} are read.",
                "publication_date": Blank(datetime.date.today().isoformat()),
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if facts["delta"] else "Pure DP",
                "data_domain": Blank(f"all tables with the columns {columns}"),
                "unprotected_quantities": "none"
                if facts["neighbors"] == "add-remove"
                else "the number of records (bounded neighbours)",
            },
            "privacy_loss": {
                "privacy_unit": facts["unit"],
                "privacy_unit_details": protected(facts["neighbors"], facts["unit"], facts["records_per_person"]),
                "privacy_parameters": parameters,
                "privacy_parameters_details": promise(facts["epsilon"], facts["delta"])
                + (f"; ρ = {show(facts['rho'])}" if facts.get("rho") else ""),
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": Blank("the curator, who is trusted with the records; everybody else, who is not"),
                "release_type": "One release",
                "release_type_details": Blank("", wanted="plans for further releases of the same data"),
                "data_source_type": Blank("Static"),
                "access_type": "Non-interactive",
                "access_type_details": "one file; questions are answered from it without further privacy loss",
            },
            "accounting": {
                "post_processing": "all answers, models and synthetic rows are post-processing of the noisy counters",
                "composition": "one mechanism over all rows of counters, accounted as a whole; "
                "classes, where there are any, are disjoint",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": Blank(
                    "parameters are public and not read off the data by the software"
                ),
                "mechanisms": f"{noise_of_law(facts['mechanism'])}, exact and integer, from the system's entropy; "
                f"scumble {__version__}",
                "justification": Blank(""),
            },
            "administrative": {
                "notes": f"identity of the release: {facts.get('identity', 'a bundle')}",
                "registry_authors": [Blank("")],
            },
        },
    }


def _read_from(facts: Facts) -> str:
    """What a release of this kind tells."""
    told = {"table": "counts, means, synthetic rows and models", "moments": "linear models"}
    return told.get(facts["kind"], "densities, modes, synthetic rows and models")


def yaml(found: Facts, indent: str = "") -> str:
    """The entry as YAML.

    >>> print(yaml({"tier": 2, "basic": {"name": Blank("people")}}))
    tier: 2
    basic:
      name: "people" # fill in
    """
    out = []
    for key, value in found.items():
        if isinstance(value, dict):
            out.append(f"{indent}{key}:\n{yaml(value, indent + '  ')}")
        elif isinstance(value, list):
            out.append(f"{indent}{key}:\n" + "\n".join(f"{indent}  - {_scalar(inner)}" for inner in value))
        else:
            out.append(f"{indent}{key}: {_scalar(value)}")
    return "\n".join(out)


def _scalar(value: object) -> str:
    """Numbers with an exponent need a point to be numbers to every reader."""
    if isinstance(value, str):
        asked = f" # {FILL}" + (f": {value.wanted}" if value.wanted else "") if isinstance(value, Blank) else ""
        return _quoted(value) + asked
    text = json.dumps(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _quoted(text: str) -> str:
    """Double quotes; whatever does not print, or would end the text, as an escape."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'
