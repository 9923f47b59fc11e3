"""The corpus of requests that try to be read differently by two parsers, each with the only answer allowed.

A row is (name, bytes, status, served): the status of the first final answer, and how many requests may reach
the backend. A refused one (4xx or 5xx) closes the connection, unless it was a whole request; a served one is
answered and whatever followed it is judged on its own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """status: of the first answer. served: requests that reach the backend."""

    name: str
    raw: bytes
    status: int
    served: int


def _get(line: bytes = b"GET / HTTP/1.1", *fields: bytes, host: bytes | None = b"Host: a") -> bytes:
    lines = [line, *([host] if host is not None else []), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _post(*fields: bytes, body: bytes = b"", line: bytes = b"POST / HTTP/1.1") -> bytes:
    return _get(line, *fields) + body


CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"


def _te(field: bytes, body: bytes = CHUNKS, line: bytes = b"POST / HTTP/1.1") -> bytes:
    return _post(field, body=body, line=line)


def _chunks(body: bytes) -> bytes:
    return _te(b"Transfer-Encoding: chunked", body)


def _length(value: bytes, body: bytes = b"hello") -> bytes:
    return _post(b"Content-Length:" + value, body=body)


NEXT = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

LENGTHS = [
    Row("length 5", _length(b" 5"), 200, 1),
    Row("length without a space", _length(b"5"), 200, 1),
    Row("length with blanks round it", _length(b" \t5 \t"), 200, 1),
    Row("length with a leading zero", _length(b" 05"), 200, 1),
    Row("length 0 before a second request", _length(b" 0", NEXT), 200, 2),
    Row("length 5 before a second request", _length(b" 5", b"hello" + NEXT), 200, 2),
    Row("length twice, the same", _post(b"Content-Length: 5", b"Content-Length: 5", body=b"hello"), 400, 0),
    Row("length twice, different", _post(b"Content-Length: 5", b"Content-Length: 6", body=b"hello!"), 400, 0),
    Row(
        "length twice in two cases", _post(b"content-length: 5", b"CONTENT-LENGTH: 5", body=b"hello"), 400, 0
    ),
    Row("length as a list of equals", _length(b" 5, 5"), 400, 0),
    Row("length as a list", _length(b" 5,6"), 400, 0),
    Row("length plus five", _length(b" +5"), 400, 0),
    Row("length minus five", _length(b" -5"), 400, 0),
    Row("length in hexadecimal", _length(b" 0x5"), 400, 0),
    Row("length in octal", _length(b" 0o5"), 400, 0),
    Row("length with an underscore", _length(b" 5_0"), 400, 0),
    Row("length of two numbers", _length(b" 5 5"), 400, 0),
    Row("length with a fraction", _length(b" 5.0"), 400, 0),
    Row("length with an exponent", _length(b" 5e0"), 400, 0),
    Row("length empty", _length(b""), 400, 0),
    Row("length blank", _length(b"   "), 400, 0),
    Row("length in full-width digits", _length(" \uff15".encode()), 400, 0),
    Row("length with a NUL", _length(b" 5\x00"), 400, 0),
    Row("length with a vertical tab", _length(b" \x0b5"), 400, 0),
    Row("length over 64 bits", _length(b" 18446744073709551621"), 400, 0),
    Row("length of forty digits", _length(b" " + b"1" * 40), 400, 0),
    Row("length in quotes", _length(b' "5"'), 400, 0),
    Row("length with a semicolon", _length(b" 5;"), 400, 0),
    Row("length with a comment", _length(b" 5 (five)"), 400, 0),
    Row("blank before the colon of length", _post(b"Content-Length : 5", body=b"hello"), 400, 0),
    Row("tab before the colon of length", _post(b"Content-Length\t: 5", body=b"hello"), 400, 0),
    Row("NUL before the colon of length", _post(b"Content-Length\x00: 5", body=b"hello"), 400, 0),
    Row("blank before the name of length", _get(b"POST / HTTP/1.1\r\n Content-Length: 5") + b"hello", 400, 0),
    Row("length folded", _post(b"Content-Length:\r\n 5", body=b"hello"), 400, 0),
    Row(
        "length with an underscore in its name, no body then",
        _post(b"Content_Length: %d" % len(NEXT), body=NEXT),
        200,
        2,
    ),
    Row("length on a GET", _post(b"Content-Length: 5", body=b"hello", line=b"GET / HTTP/1.1"), 200, 1),
    Row("length on a HEAD", _post(b"Content-Length: 5", body=b"hello", line=b"HEAD / HTTP/1.1"), 200, 1),
    Row(
        "length nominated by Connection is still the length",
        _post(b"Connection: content-length", b"Content-Length: %d" % len(NEXT), body=NEXT),
        200,
        1,
    ),
    Row("length of a shorter body, then a second request", _length(b" 2", b"he" + NEXT), 200, 2),
    Row("length over the bound", _length(b" 99999999999"), 413, 0),
]

CODINGS = [
    Row("chunked", _te(b"Transfer-Encoding: chunked"), 200, 1),
    Row("chunked without a space", _te(b"Transfer-Encoding:chunked"), 200, 1),
    Row("chunked in capitals", _te(b"TRANSFER-ENCODING: CHUNKED"), 200, 1),
    Row("chunked with blanks round it", _te(b"Transfer-Encoding: \t chunked \t "), 400, 0),
    Row("chunked before a second request", _te(b"Transfer-Encoding: chunked", CHUNKS + NEXT), 200, 2),
    Row(
        "length, then chunked",
        _post(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=CHUNKS),
        400,
        0,
    ),
    Row(
        "chunked, then length",
        _post(b"Transfer-Encoding: chunked", b"Content-Length: 5", body=CHUNKS),
        400,
        0,
    ),
    Row(
        "chunked and length 0, a request behind",
        _post(b"Content-Length: 0", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + NEXT),
        400,
        0,
    ),
    Row(
        "chunked twice in two fields",
        _post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=CHUNKS),
        400,
        0,
    ),
    Row("chunked twice in one field", _te(b"Transfer-Encoding: chunked, chunked"), 400, 0),
    Row(
        "chunked, then identity in two fields",
        _post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", body=CHUNKS),
        400,
        0,
    ),
    Row(
        "identity, then chunked in two fields",
        _post(b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked", body=CHUNKS),
        501,
        0,
    ),
    Row("gzip, chunked", _te(b"Transfer-Encoding: gzip, chunked"), 501, 0),
    Row("chunked, gzip", _te(b"Transfer-Encoding: chunked, gzip"), 400, 0),
    Row("gzip alone", _te(b"Transfer-Encoding: gzip"), 400, 0),
    Row("identity alone", _te(b"Transfer-Encoding: identity"), 400, 0),
    Row("identity, chunked", _te(b"Transfer-Encoding: identity, chunked"), 501, 0),
    Row("chunked, identity", _te(b"Transfer-Encoding: chunked, identity"), 400, 0),
    Row("xchunked", _te(b"Transfer-Encoding: xchunked"), 400, 0),
    Row("x chunked", _te(b"Transfer-Encoding: x chunked"), 400, 0),
    Row("chunkedx", _te(b"Transfer-Encoding: chunkedx"), 400, 0),
    Row("chunked with a parameter", _te(b"Transfer-Encoding: chunked;q=1"), 400, 0),
    Row("chunked with a trailing comma", _te(b"Transfer-Encoding: chunked,"), 400, 0),
    Row("chunked with a leading comma", _te(b"Transfer-Encoding: ,chunked"), 501, 0),
    Row("chunked in quotes", _te(b'Transfer-Encoding: "chunked"'), 400, 0),
    Row("chunked in single quotes", _te(b"Transfer-Encoding: 'chunked'"), 400, 0),
    Row("chunked after a vertical tab", _te(b"Transfer-Encoding: \x0bchunked"), 400, 0),
    Row("chunked before a form feed", _te(b"Transfer-Encoding: chunked\x0c"), 400, 0),
    Row("chunked after a NUL", _te(b"Transfer-Encoding: \x00chunked"), 400, 0),
    Row("chunked before a NUL", _te(b"Transfer-Encoding: chunked\x00"), 400, 0),
    Row("chunked after a CR", _te(b"Transfer-Encoding: \rchunked"), 400, 0),
    Row("chunked folded", _te(b"Transfer-Encoding:\r\n chunked"), 400, 0),
    Row("chunked folded with a tab", _te(b"Transfer-Encoding:\r\n\tchunked"), 400, 0),
    Row("a fold that ends in chunked", _te(b"Transfer-Encoding: x,\r\n chunked"), 400, 0),
    Row("coding empty", _te(b"Transfer-Encoding: "), 400, 0),
    Row("blank before the colon of the coding", _te(b"Transfer-Encoding : chunked"), 400, 0),
    Row("tab before the colon of the coding", _te(b"Transfer-Encoding\t: chunked"), 400, 0),
    Row("the colon on the next line", _te(b"Transfer-Encoding\r\n: chunked"), 400, 0),
    Row("a blank inside the coding's name", _te(b"Transfer Encoding: chunked"), 400, 0),
    Row("an underscore in the coding's name, no body then", _te(b"Transfer_Encoding: chunked", NEXT), 200, 2),
    Row("a coding hidden in another value by a bare LF", _te(b"X: a\nTransfer-Encoding: chunked"), 400, 0),
    Row("a coding hidden in another value by a bare CR", _te(b"X: a\rTransfer-Encoding: chunked"), 400, 0),
    Row(
        "chunked nominated by Connection is still chunked",
        _post(b"Connection: transfer-encoding", b"Transfer-Encoding: chunked", body=CHUNKS),
        200,
        1,
    ),
    Row("chunked on a GET", _te(b"Transfer-Encoding: chunked", line=b"GET / HTTP/1.1"), 200, 1),
    Row("chunked in HTTP/1.0", _te(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0"), 400, 0),
    Row(
        "chunked and kept alive in HTTP/1.0",
        _post(b"Connection: keep-alive", b"Transfer-Encoding: chunked", body=CHUNKS, line=b"POST / HTTP/1.0"),
        400,
        0,
    ),
]

CHUNKING = [
    Row("a size with leading zeros", _chunks(b"00000003\r\nabc\r\n0\r\n\r\n"), 200, 1),
    Row("a size in capitals", _chunks(b"A\r\n0123456789\r\n0\r\n\r\n"), 200, 1),
    Row("a last chunk of many zeros", _chunks(b"3\r\nabc\r\n000\r\n\r\n"), 200, 1),
    Row("an extension", _chunks(b"3;a\r\nabc\r\n0\r\n\r\n"), 200, 1),
    Row("an extension with a value", _chunks(b"3;a=b\r\nabc\r\n0\r\n\r\n"), 200, 1),
    Row("an extension with a quoted value", _chunks(b'3;a="b;c"\r\nabc\r\n0\r\n\r\n'), 200, 1),
    Row("an extension on the last chunk", _chunks(b"3\r\nabc\r\n0;a=b\r\n\r\n"), 200, 1),
    Row("a trailer", _chunks(b"3\r\nabc\r\n0\r\nX: y\r\n\r\n"), 200, 1),
    Row("a trailer that names a length", _chunks(b"3\r\nabc\r\n0\r\nContent-Length: 99\r\n\r\n"), 400, 0),
    Row(
        "a trailer that names a coding", _chunks(b"3\r\nabc\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n"), 400, 0
    ),
    Row("a trailer that names a host", _chunks(b"3\r\nabc\r\n0\r\nHost: b\r\n\r\n"), 200, 1),
    Row("no chunk but the last", _chunks(b"0\r\n\r\n"), 200, 1),
    Row("a size in 0x", _chunks(b"0x3\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size with plus", _chunks(b"+3\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size with minus", _chunks(b"-3\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size after a blank", _chunks(b" 3\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size with a letter", _chunks(b"3g\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("no size", _chunks(b"\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("only an extension", _chunks(b";a\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size past 64 bits", _chunks(b"ffffffffffffffff3\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size that wraps to 3", _chunks(b"10000000000000003\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size ended by LF", _chunks(b"3\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size ended by CR", _chunks(b"3\rabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size with an underscore", _chunks(b"1_0\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("a size with a NUL", _chunks(b"3\x00\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("an extension with a LF", _chunks(b"3;a\nb\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("an extension with a CR", _chunks(b"3;a\rb\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("an extension with a NUL", _chunks(b"3;a\x00b\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row("data longer than the size", _chunks(b"3\r\nabcd\r\n0\r\n\r\n"), 400, 0),
    Row("data ended by LF", _chunks(b"3\r\nabc\n0\r\n\r\n"), 400, 0),
    Row("data ended by CR", _chunks(b"3\r\nabc\r0\r\n\r\n"), 400, 0),
    Row("data ended by nothing", _chunks(b"3\r\nabc0\r\n\r\n"), 400, 0),
    Row("the last chunk ended by LF", _chunks(b"3\r\nabc\r\n0\n\r\n"), 400, 0),
    Row("the trailer ended by LF", _chunks(b"3\r\nabc\r\n0\r\n\n"), 400, 0),
    Row("a trailer without a colon", _chunks(b"3\r\nabc\r\n0\r\nnonsense\r\n\r\n"), 400, 0),
    Row("a folded trailer", _chunks(b"3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n"), 400, 0),
    Row("an extension of 200,000 bytes", _chunks(b"3;" + b"a" * 200_000 + b"\r\nabc\r\n0\r\n\r\n"), 400, 0),
    Row(
        "trailers of 200,000 bytes",
        _chunks(b"3\r\nabc\r\n0\r\n" + b"X: yyyyyyyy\r\n" * 16_000 + b"\r\n"),
        400,
        0,
    ),
]

LINES = [
    Row("a plain request", _get(), 200, 1),
    Row("a blank line before it", b"\r\n" + _get(), 200, 1),
    Row("HTTP/1.0", _get(b"GET / HTTP/1.0"), 200, 1),
    Row("a query", _get(b"GET /a?b=c&d HTTP/1.1"), 200, 1),
    Row("two slashes", _get(b"GET //a/b HTTP/1.1"), 200, 1),
    Row("an encoded NUL", _get(b"GET /%00 HTTP/1.1"), 200, 1),
    Row("an encoded CRLF", _get(b"GET /%0d%0aX:%20y HTTP/1.1"), 200, 1),
    Row("OPTIONS *", _get(b"OPTIONS * HTTP/1.1"), 200, 1),
    Row("GET *", _get(b"GET * HTTP/1.1"), 400, 0),
    Row("an absolute target", _get(b"GET http://a/ HTTP/1.1"), 400, 0),
    Row("an absolute target of another host", _get(b"GET http://evil/ HTTP/1.1"), 400, 0),
    Row("an absolute target in https", _get(b"GET https://a/ HTTP/1.1"), 400, 0),
    Row("a target without a slash", _get(b"GET a HTTP/1.1"), 400, 0),
    Row("a target that is only a query", _get(b"GET ?a HTTP/1.1"), 400, 0),
    Row("a fragment", _get(b"GET /a#b HTTP/1.1"), 400, 0),
    Row("a NUL in the target", _get(b"GET /\x00 HTTP/1.1"), 400, 0),
    Row("a DEL in the target", _get(b"GET /\x7f HTTP/1.1"), 400, 0),
    Row("bytes over 127 in the target", _get("GET /é HTTP/1.1".encode()), 400, 0),
    Row("a blank in the target", _get(b"GET /a b HTTP/1.1"), 400, 0),
    Row("a tab in the target", _get(b"GET /a\tb HTTP/1.1"), 400, 0),
    Row("two blanks after the method", _get(b"GET  / HTTP/1.1"), 200, 1),
    Row("two blanks after the target", _get(b"GET /  HTTP/1.1"), 200, 1),
    Row("tabs for blanks", _get(b"GET\t/\tHTTP/1.1"), 501, 0),
    Row("a blank after the version", _get(b"GET / HTTP/1.1 "), 400, 0),
    Row("a blank before the method", b" " + _get(), 501, 0),
    Row("HTTP/2.0", _get(b"GET / HTTP/2.0"), 505, 0),
    Row("HTTP/0.9", _get(b"GET / HTTP/0.9"), 505, 0),
    Row("HTTP/1.2", _get(b"GET / HTTP/1.2"), 400, 0),
    Row("HTTP/1.10", _get(b"GET / HTTP/1.10"), 400, 0),
    Row("HTTP/01.1", _get(b"GET / HTTP/01.1"), 400, 0),
    Row("HTTP/1,1", _get(b"GET / HTTP/1,1"), 400, 0),
    Row("HTTP/1.", _get(b"GET / HTTP/1."), 400, 0),
    Row("http in small letters", _get(b"GET / http/1.1"), 400, 0),
    Row("no version", b"GET /\r\n\r\n", 505, 0),
    Row("the HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 0),
    Row("a method in small letters", _get(b"get / HTTP/1.1"), 501, 0),
    Row("an unknown method", _get(b"SMUGGLE / HTTP/1.1"), 501, 0),
    Row("a method with a NUL", _get(b"GE\x00T / HTTP/1.1"), 501, 0),
    Row("TRACE", _get(b"TRACE / HTTP/1.1"), 501, 0),
    Row("a WebDAV method", _get(b"PROPFIND / HTTP/1.1"), 501, 0),
    Row("CONNECT", _get(b"CONNECT a:443 HTTP/1.1"), 501, 0),
    Row("CONNECT, a request behind", _get(b"CONNECT a:443 HTTP/1.1") + NEXT, 501, 0),
    Row("lines ended by LF", b"GET / HTTP/1.1\nHost: a\n\n", 400, 0),
    Row("lines ended by CR", b"GET / HTTP/1.1\rHost: a\r\r", 400, 0),
    Row("the head ended by LF LF", b"GET / HTTP/1.1\r\nHost: a\n\n", 400, 0),
    Row("the head ended by CRLF LF", b"GET / HTTP/1.1\r\nHost: a\r\n\n", 400, 0),
    Row("a target of 9,000 bytes", _get(b"GET /" + b"a" * 9_000 + b" HTTP/1.1"), 414, 0),
    Row("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 501, 0),
    Row("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n\r\n", 501, 0),
]

HOSTS = [
    Row("a host with a port", _get(host=b"Host: a:80"), 200, 1),
    Row("an IPv6 host", _get(host=b"Host: [::1]:80"), 200, 1),
    Row("HTTP/1.0 without a host", _get(b"GET / HTTP/1.0", host=None), 200, 1),
    Row("no host", _get(host=None), 400, 0),
    Row("two hosts, the same", _get(b"GET / HTTP/1.1", b"Host: a"), 400, 0),
    Row("two hosts, different", _get(b"GET / HTTP/1.1", b"Host: b"), 400, 0),
    Row("two hosts in two cases", _get(b"GET / HTTP/1.1", b"HOST: a"), 400, 0),
    Row("an empty host", _get(host=b"Host:"), 400, 0),
    Row("a host with a blank", _get(host=b"Host: a b"), 400, 0),
    Row("a list of hosts", _get(host=b"Host: a, b"), 400, 0),
    Row("a host with a path", _get(host=b"Host: a/b"), 400, 0),
    Row("a host with a user", _get(host=b"Host: u@a"), 400, 0),
    Row("a host with a query", _get(host=b"Host: a?b"), 400, 0),
    Row("a host with a fragment", _get(host=b"Host: a#b"), 400, 0),
    Row("a host with a backslash", _get(host=b"Host: a\\b"), 400, 0),
    Row("a port that is no number", _get(host=b"Host: a:b"), 400, 0),
    Row("a port of eight digits", _get(host=b"Host: a:99999999"), 400, 0),
    Row("a bracket that does not close", _get(host=b"Host: [::1"), 400, 0),
    Row("a host with a NUL", _get(host=b"Host: a\x00"), 400, 0),
    Row("a host over 127", _get(host="Host: é".encode()), 400, 0),
    Row("a host of 300 bytes", _get(host=b"Host: " + b"a" * 300), 400, 0),
    Row("a blank before the colon of the host", _get(host=b"Host : a"), 400, 0),
    Row("a folded host", _get(host=b"Host:\r\n a"), 400, 0),
]

FIELDS = [
    Row("bytes over 127 in a value", _get(b"GET / HTTP/1.1", "X: é".encode()), 200, 1),
    Row("an empty value", _get(b"GET / HTTP/1.1", b"X:"), 200, 1),
    Row("Connection with strange options", _get(b"GET / HTTP/1.1", b"Connection: x, ,y,,"), 200, 1),
    Row("a field without a colon", _get(b"GET / HTTP/1.1", b"nonsense"), 400, 0),
    Row("a field without a name", _get(b"GET / HTTP/1.1", b": x"), 400, 0),
    Row("a blank in a name", _get(b"GET / HTTP/1.1", b"X Y: z"), 400, 0),
    Row("brackets in a name", _get(b"GET / HTTP/1.1", b"X(Y): z"), 400, 0),
    Row("a NUL in a name", _get(b"GET / HTTP/1.1", b"X\x00: z"), 400, 0),
    Row("bytes over 127 in a name", _get(b"GET / HTTP/1.1", "é: z".encode()), 400, 0),
    Row("a NUL in a value", _get(b"GET / HTTP/1.1", b"X: a\x00b"), 400, 0),
    Row("a control character in a value", _get(b"GET / HTTP/1.1", b"X: a\x01b"), 400, 0),
    Row("a DEL in a value", _get(b"GET / HTTP/1.1", b"X: a\x7fb"), 400, 0),
    Row("a bare CR in a value", _get(b"GET / HTTP/1.1", b"X: a\rb"), 400, 0),
    Row("a bare LF in a value", _get(b"GET / HTTP/1.1", b"X: a\nb: c"), 400, 0),
    Row("a folded value", _get(b"GET / HTTP/1.1", b"X: a\r\n b"), 400, 0),
    Row("a fold first of all", b"GET / HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n", 400, 0),
    Row("150 fields", _get(b"GET / HTTP/1.1", *(b"X-%d: y" % n for n in range(150))), 431, 0),
    Row("a head of 20,000 bytes", _get(b"GET / HTTP/1.1", b"X: " + b"y" * 20_000), 431, 0),
    Row("a head of 200,000 bytes", _get(b"GET / HTTP/1.1", b"X: " + b"y" * 200_000), 431, 0),
    Row(
        "a head of many fields that never ends",
        b"GET / HTTP/1.1\r\n" + b"X: yyyyyyyyyyy\r\n" * 20_000,
        431,
        0,
    ),
    Row("a name of 20,000 bytes", _get(b"GET / HTTP/1.1", b"x" * 20_000 + b": y"), 431, 0),
    Row("expects what nobody knows", _post(b"Expect: 200-ok", b"Content-Length: 0"), 417, 0),
    Row(
        "expects twice", _post(b"Expect: 100-continue", b"Expect: 100-continue", b"Content-Length: 0"), 417, 0
    ),
    Row("a websocket", _get(b"GET / HTTP/1.1", b"Connection: Upgrade", b"Upgrade: websocket"), 501, 0),
    Row(
        "h2c",
        _get(
            b"GET / HTTP/1.1", b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: x"
        ),
        501,
        0,
    ),
    Row(
        "h2c, a request behind",
        _get(b"GET / HTTP/1.1", b"Connection: Upgrade", b"Upgrade: h2c") + NEXT,
        501,
        0,
    ),
    Row("an upgrade Connection does not name", _get(b"GET / HTTP/1.1", b"Upgrade: h2c"), 501, 0),
]

CORPUS = [*LENGTHS, *CODINGS, *CHUNKING, *LINES, *HOSTS, *FIELDS]
