"""The functions Kubernetes adds to CEL: lists, regular expressions, URLs, addresses, quantities.

A URL, an address, a network or a quantity is a map with one marked key inside: CEL dispatches on the
kind of a value, and a map is a kind no other of these functions takes. Not here: indexOf and
lastIndexOf of lists, since the strings extension holds their names.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from forge.embedded.api import quantity
from forge.embedded.api.schema.patterns import compiled

ADDRESS: Final = "ip"
NETWORK: Final = "cidr"
QUANTITY: Final = "quantity"
URL: Final = "url"
Impl = Callable[..., Any]


def functions(cel: Any) -> list[Any]:
    """The declarations, for cel.NewEnv."""
    kinds = cel.Type
    text, truth, whole, dyn = kinds.STRING, kinds.BOOL, kinds.INT, kinds.DYN
    many, opaque = kinds.List(kinds.DYN), kinds.Map(kinds.STRING, kinds.DYN)
    table: list[tuple[str, Any, list[Any], bool, Impl]] = [
        ("isSorted", truth, [many], True, _sorted),
        ("sets.contains", truth, [many, many], False, lambda a, b: all(item in a for item in b)),
        ("sets.intersects", truth, [many, many], False, lambda a, b: any(item in a for item in b)),
        ("sets.equivalent", truth, [many, many], False, _equivalent),
        ("sum", dyn, [many], True, sum),
        ("min", dyn, [many], True, min),
        ("max", dyn, [many], True, max),
        ("find", text, [text, text], True, _find),
        ("findAll", kinds.List(text), [text, text], True, _find_all),
        ("findAll", kinds.List(text), [text, text, whole], True, _find_all),
        ("isURL", truth, [text], False, _is_url),
        ("url", opaque, [text], False, lambda s: {URL: _checked(s, _is_url, "URL")}),
        ("getScheme", text, [opaque], True, lambda u: urlsplit(u[URL]).scheme),
        ("getHost", text, [opaque], True, lambda u: urlsplit(u[URL]).netloc.rpartition("@")[2]),
        ("getHostname", text, [opaque], True, lambda u: urlsplit(u[URL]).hostname or ""),
        ("getPort", text, [opaque], True, _port),
        ("getEscapedPath", text, [opaque], True, lambda u: urlsplit(u[URL]).path),
        ("getQuery", kinds.Map(text, dyn), [opaque], True, _query),
        ("isIP", truth, [text], False, lambda s: _reads(ipaddress.ip_address, s)),
        ("ip", opaque, [text], False, lambda s: {ADDRESS: str(ipaddress.ip_address(s))}),
        ("ip.isCanonical", truth, [text], False, lambda s: str(ipaddress.ip_address(s)) == s),
        ("family", whole, [opaque], True, lambda a: ipaddress.ip_address(a[ADDRESS]).version),
        ("isLoopback", truth, [opaque], True, lambda a: ipaddress.ip_address(a[ADDRESS]).is_loopback),
        ("isUnspecified", truth, [opaque], True, lambda a: ipaddress.ip_address(a[ADDRESS]).is_unspecified),
        ("isLinkLocalMulticast", truth, [opaque], True, _link_local_multicast),
        ("isLinkLocalUnicast", truth, [opaque], True, lambda a: _address(a).is_link_local),
        ("isGlobalUnicast", truth, [opaque], True, _global_unicast),
        ("isCIDR", truth, [text], False, lambda s: "/" in s and _reads(ipaddress.ip_interface, s)),
        ("cidr", opaque, [text], False, lambda s: {NETWORK: str(ipaddress.ip_interface(s))}),
        ("containsIP", truth, [opaque, text], True, lambda n, a: _holds(n, {ADDRESS: a})),
        ("containsIP", truth, [opaque, opaque], True, _holds),
        ("containsCIDR", truth, [opaque, text], True, lambda n, o: _contains(n, {NETWORK: o})),
        ("containsCIDR", truth, [opaque, opaque], True, _contains),
        ("prefixLength", whole, [opaque], True, lambda n: _network(n).prefixlen),
        ("masked", opaque, [opaque], True, lambda n: {NETWORK: str(_network(n))}),
        ("isQuantity", truth, [text], False, lambda s: _reads(quantity.parse, s)),
        ("quantity", opaque, [text], False, _quantity),
        ("sign", whole, [opaque], True, lambda q: (_value(q) > 0) - (_value(q) < 0)),
        ("isInteger", truth, [opaque], True, lambda q: _value(q).denominator == 1),
        ("asInteger", whole, [opaque], True, _as_integer),
        ("asApproximateFloat", kinds.DOUBLE, [opaque], True, lambda q: float(_value(q))),
        ("add", opaque, [opaque, opaque], True, lambda a, b: _made(_value(a) + _value(b))),
        ("add", opaque, [opaque, whole], True, lambda a, b: _made(_value(a) + b)),
        ("sub", opaque, [opaque, opaque], True, lambda a, b: _made(_value(a) - _value(b))),
        ("sub", opaque, [opaque, whole], True, lambda a, b: _made(_value(a) - b)),
        ("isLessThan", truth, [opaque, opaque], True, lambda a, b: _value(a) < _value(b)),
        ("isGreaterThan", truth, [opaque, opaque], True, lambda a, b: _value(a) > _value(b)),
        ("compareTo", whole, [opaque, opaque], True, _compare),
    ]  # fmt: skip
    return [_declared(cel, name, rows) for name, rows in _by_name(table).items()]


def _by_name(table: list[tuple[str, Any, list[Any], bool, Impl]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name, *row in table:
        found.setdefault(name, []).append(row)
    return found


def _declared(cel: Any, name: str, rows: list[Any]) -> Any:
    overloads = [
        cel.Overload(id=f"k8s_{name}_{i}", return_type=gives, parameters=takes, is_member=member, impl=impl)
        for i, (gives, takes, member, impl) in enumerate(rows)
    ]
    return cel.FunctionDecl(name, overloads)


def _sorted(items: list[Any]) -> bool:
    return all(left <= right for left, right in pairwise(items))


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return all(item in right for item in left) and all(item in left for item in right)


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    regex = compiled(pattern)
    if regex is None:
        raise ValueError(f"Illegal regex: {pattern}")
    found = [match.group() for match in regex.finditer(text)]
    return found if most < 0 else found[:most]


def _reads(reader: Callable[[str], object], text: str) -> bool:
    try:
        reader(text)
    except ValueError:
        return False
    return True


def _checked(text: str, check: Callable[[str], bool], what: str) -> str:
    if not check(text):
        raise ValueError(f"{what} parse error during conversion from string: {text}")
    return text


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return bool(parts.scheme or text.startswith("/")) and not any(c.isspace() for c in text)


def _port(given: Any) -> str:
    port = urlsplit(given[URL]).port
    return "" if port is None else str(port)


def _link_local_multicast(given: Any) -> bool:
    found = ipaddress.ip_address(given[ADDRESS])
    if found.version == 4:
        return found in ipaddress.ip_network("224.0.0.0/24")
    return found in ipaddress.ip_network("ff02::/16")


def _global_unicast(given: Any) -> bool:
    found = ipaddress.ip_address(given[ADDRESS])
    none = found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local
    return not none and str(found) != "255.255.255.255"


def _address(given: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(given[ADDRESS])


def _query(given: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(given[URL]).query, keep_blank_values=True)


def _holds(network: Any, address: Any) -> bool:
    return ipaddress.ip_address(address[ADDRESS]) in _network(network)


def _network(given: Any) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_interface(given[NETWORK]).network


def _contains(outer: Any, inner: Any) -> bool:
    mine, theirs = _network(outer), _network(inner)
    return mine.version == theirs.version and theirs.subnet_of(mine)  # type: ignore[arg-type]


def _quantity(text: str) -> dict[str, Any]:
    return _made(quantity.parse(text))


def _made(value: Fraction) -> dict[str, Any]:
    return {QUANTITY: str(value)}


def _value(given: Any) -> Fraction:
    return Fraction(given[QUANTITY])


def _compare(left: Any, right: Any) -> int:
    return (_value(left) > _value(right)) - (_value(left) < _value(right))


def _as_integer(given: Any) -> int:
    value = _value(given)
    if value.denominator != 1:
        raise ValueError("cannot convert value to integer")
    return int(value)
