"""ServiceAccount tokens: signed claims (ES256) about who a process is, for whom, and until when.

A token is only as good as the ServiceAccount it names: a deleted or re-made account, or a deleted
object it is bound to, ends it before its time.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from forge.embedded.api.values import Json

ISSUER = "https://kubernetes.default.svc.cluster.local"
ALGORITHM = "ES256"
_SIZE = 32  # bytes of each number of P-256


@dataclass(frozen=True, slots=True)
class Claims:
    """expires_at: seconds since the epoch. bound: kind, name and uid of an object, or None."""

    namespace: str
    account: str
    uid: str
    audiences: tuple[str, ...]
    expires_at: int
    identifier: str
    bound: tuple[str, str, str] | None = None


class Signer:
    """Makes and reads tokens with one key."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        der = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.key_id = _encode(hashlib.sha256(der).digest())

    def sign(self, claims: Claims, issued_at: int) -> str:
        header = {"alg": ALGORITHM, "kid": self.key_id}
        text = f"{_encode_json(header)}.{_encode_json(_payload(claims, issued_at))}"
        numbers = utils.decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        # RFC 7518, 3.4: the two numbers one after the other, not their ASN.1 form.
        return f"{text}.{_encode(b''.join(n.to_bytes(_SIZE) for n in numbers))}"

    def read(self, token: str) -> Claims | None:
        """The claims of a token of this signer; None for anything else, whatever its age."""
        text, _, signature = token.rpartition(".")
        try:
            raw = _decode(signature)
            if len(raw) != 2 * _SIZE:
                return None
            numbers = int.from_bytes(raw[:_SIZE]), int.from_bytes(raw[_SIZE:])
            self._key.public_key().verify(
                utils.encode_dss_signature(*numbers), text.encode(), ec.ECDSA(hashes.SHA256())
            )
            payload = json.loads(_decode(text.split(".")[1]))
        except (InvalidSignature, ValueError, IndexError):
            return None
        return _claims(payload)

    def key_set(self) -> Json:
        """The public key as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        key = {"use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": ALGORITHM}
        return {"keys": [key | {"x": _number(numbers.x), "y": _number(numbers.y)}]}


def _payload(claims: Claims, issued_at: int) -> Json:
    inner: Json = {"namespace": claims.namespace}
    if claims.bound is not None:
        kind, name, uid = claims.bound
        inner[kind.lower()] = {"name": name, "uid": uid}
    inner["serviceaccount"] = {"name": claims.account, "uid": claims.uid}
    return {
        "aud": list(claims.audiences),
        "exp": claims.expires_at,
        "iat": issued_at,
        "iss": ISSUER,
        "jti": claims.identifier,
        "kubernetes.io": inner,
        "nbf": issued_at,
        "sub": f"system:serviceaccount:{claims.namespace}:{claims.account}",
    }


def _claims(payload: Any) -> Claims | None:
    inner = payload.get("kubernetes.io")
    bound = None
    for kind in ("pod", "secret", "node"):
        if kind in inner:
            bound = (kind.capitalize(), inner[kind]["name"], inner[kind]["uid"])
    account = inner["serviceaccount"]
    return Claims(
        inner["namespace"], account["name"], account["uid"], tuple(payload["aud"]), payload["exp"],
        payload["jti"], bound,
    )  # fmt: skip


def _encode_json(value: Json) -> str:
    return _encode(json.dumps(value, separators=(",", ":")).encode())


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _number(value: int) -> str:
    return _encode(value.to_bytes(_SIZE))
