"""What JSON Schema cannot say of requests, for Schemathesis."""

import schemathesis
from hypothesis import strategies as st

# Whole seconds, or cron.
schemathesis.openapi.format(
    "timer", st.sampled_from(["", "0", "600", "30 2 * * *", "*/5 8-18 * * MON-FRI"])
)


@schemathesis.hook
def map_body(context, body):
    """The first pause before a retry is not longer than the longest, and something matches a target.

    With defer it need not: what left the model before has nothing that matches any more.
    """
    if isinstance(body, dict) and body.get("target"):
        body["defer"] = True
    settings = body.get("settings") if isinstance(body, dict) else None
    if isinstance(settings, dict):
        base, most = settings.get("retry_base_ms"), settings.get("retry_max_ms")
        if isinstance(base, (int, float)) and isinstance(most, (int, float)) and base > most > 0:
            settings["retry_base_ms"], settings["retry_max_ms"] = most, base
    return body


@schemathesis.hook
def before_load_schema(context, raw):
    """Terms of a list are short, so that a list of too many is refused as that.

    One of 20,001 terms of the greatest length has 57 MB, which is refused as too long a body,
    whatever it is of; making and comparing five of them took a third of the time of all requests.
    How long a term may be, TestBoundsOfTerms of package api holds.
    """
    if isinstance(raw, dict):
        items, most = raw.get("items"), raw.get("maxItems")
        if isinstance(items, dict) and isinstance(most, int) and most > 1000:
            items.pop("maxLength", None)
        raw = list(raw.values())
    for value in raw if isinstance(raw, list) else ():
        before_load_schema(context, value)
