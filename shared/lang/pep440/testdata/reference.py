"""Answers questions about versions with Python's packaging: a JSON object a line in, and out.

    python -m venv .venv && .venv/bin/pip install packaging==26.3
    go test ./shared/lang/pep440 -run TestReference -python .venv/bin/python [-save testdata/pairs.jsonl.gz]
"""

import json
import sys

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def version(text):
    try:
        return Version(text)
    except InvalidVersion:
        return None


def answer(q):
    if "requirement" in q:
        try:
            r = Requirement(q["requirement"])
        except InvalidRequirement:
            return {}
        return {
            "name": r.name, "extras": sorted(r.extras), "url": r.url or "",
            "specifiers": sorted(str(s) for s in r.specifier),
            "holds": r.marker is None or r.marker.evaluate(q["environment"]),
        }
    a, b = version(q["a"]), version(q["b"])
    out = {"a": a and str(a), "b": b and str(b), "dev": a and a.is_devrelease, "pre": a and a.is_prerelease}
    out["base"] = a and a.base_version
    out["order"] = None if a is None or b is None else (a > b) - (a < b)
    try:
        s = SpecifierSet(q["set"])
    except InvalidSpecifier:
        return out
    out["set"] = True
    out["in"] = [v is not None and s.contains(v, prereleases=True) for v in (a, b)]
    these = [v for v in (a, b) if v is not None]
    out["filter"] = [str(v) for v in s.filter(these)]
    return out


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
