"""Digests and signatures, which show if a record was changed and which host vouches for it.

The digest finds changes by accident; a change on purpose makes a new record. The signature is by the host that
evaluated. It says which host vouches for the record, and nothing about whether that host can be trusted. A reader
decides that (`--trusted`) or tries it (`kbench verify`).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from robust_kbench.errors import SpecError, UsageError
from robust_kbench.schema.documents import canonical
from robust_kbench.schema.record import RunRecord, Signature
from robust_kbench.store import SEAL, as_kept, parse_line, seal_of
from robust_kbench.worker import readable

_DOMAIN = b"robust-kbench record v1\n"  # what else the key may sign can never be taken for a record
_KEY = re.compile(r"[0-9a-f]{64}")
_VALUE = re.compile(r"[0-9a-f]{128}")
_SEED_BYTES = 32
_SMALL_ORDER = frozenset(
    bytes.fromhex(each)
    for each in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
"""Points of order up to eight, without the sign. For such a key anybody finds signatures of many messages.

No key that was generated is among them (Chalkias, Garillot and Nikolaenko 2020, Taming the many EdDSAs, section 3).
"""
_OF_OTHERS = 0o077


@dataclass(frozen=True)
class PrivateKey:
    """Ed25519 key: the seed of RFC 8032, which no message shows."""

    seed: bytes = field(repr=False)

    @property
    def public(self) -> str:
        """Public key in 64 hex digits."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """Sign `message`, and return the signature in 128 hex digits."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(message).hex()


def is_signed(message: bytes, key: str, value: str) -> bool:
    """Tell if the owner of the public `key` has signed `message`. False also for a malformed key or signature."""
    if not (_KEY.fullmatch(key) and _VALUE.fullmatch(value)) or _is_anybodys(bytes.fromhex(key)):
        return False
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(value), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _is_anybodys(key: bytes) -> bool:
    return bytes([*key[:-1], key[-1] & 0x7F]) in _SMALL_ORDER


def digest_of(record: RunRecord) -> str:
    """Return the digest of all that `record` says, without its own digest and signature."""
    return _digest(canonical(record, without=set(SEAL)))


def _digest(*content: bytes | memoryview) -> str:
    found = hashlib.sha256()
    for part in content:
        found.update(part)
    return f"sha256:{found.hexdigest()}"


def seal(record: RunRecord, key: PrivateKey | None = None) -> RunRecord:
    """Return `record` as it will be read back from a store, with its digest and, if there is a key, a signature.

    Seal last: content that a store would cut off a record that is too long is cut off here, and any later change shows.
    """
    kept = as_kept(record)
    digest = digest_of(kept)
    signature = Signature(key=key.public, value=key.sign(_DOMAIN + digest.encode())) if key else None
    return kept.model_copy(update={"digest": digest, "signature": signature})


class Standing(NamedTuple):
    """Standing of a record. `intact`: digest and signature are right; None without any.

    `signer`: the key of a right signature; None without one.
    """

    intact: bool | None
    signer: str | None


def standing(record: RunRecord, line: bytes | None = None) -> Standing:
    """Check digest and signature without running anything again.

    `line`: the line of a store that the record was read from. It saves time, and is needed where `record` is only a
    view (`store.view_line`).
    """
    signature = record.signature
    if not record.digest and signature is None:
        return Standing(None, None)
    if not (_stands_in(line, record) or record.digest == digest_of(whole(record, line))):
        return Standing(False, None)
    if signature is None:
        return Standing(True, None)
    is_right = is_signed(_DOMAIN + record.digest.encode(), signature.key, signature.value)
    return Standing(is_right, signature.key if is_right else None)


def whole(record: RunRecord, line: bytes | None) -> RunRecord:
    """Return the model itself, where `record` may be only a view of `line`."""
    return record if isinstance(record, RunRecord) or line is None else parse_line(line, record.submission)


def _stands_in(line: bytes | None, record: RunRecord) -> bool:
    """Tell if `line` is the content of the record's digest, followed by nothing but the record's own seal."""
    if line is None:
        return False
    end = seal_of(record)
    text = line.rstrip(b"\n")
    return text.endswith(end) and _digest(memoryview(text)[: -len(end)], b"}") == record.digest


def key_path() -> Path:
    """Return the path of this user's key: `robust-kbench/host.key` in $XDG_CONFIG_HOME, by default ~/.config."""
    config = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (config if config.is_absolute() else Path.home() / ".config") / "robust-kbench" / "host.key"


def host_key() -> PrivateKey | None:
    """Read this user's key; None if there is none. Raises SpecError if others may have read it, or it is malformed."""
    path = key_path()
    try:
        return read_key(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_key(path: Path) -> PrivateKey:
    """Read the key in a file.

    Raises FileNotFoundError, and SpecError if others may have read it, or it is malformed.
    """
    try:
        with path.open("rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(_SEED_BYTES * 4)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None
    if mode & _OF_OTHERS:
        remedy = f"chmod 600 {path}, if nobody else has read it, or move it away and run `kbench keygen`"
        raise SpecError(f"{path}: mode {stat.S_IMODE(mode):04o}: others may use this key; {remedy}")
    _check_place(path)
    text = content.decode(errors="replace").strip()
    if not _KEY.fullmatch(text):
        raise SpecError(f"{path}: not a key of 64 hex digits; move it away and run `kbench keygen`")
    return PrivateKey(bytes.fromhex(text))


def keygen(path: Path) -> str:
    """Write a new key that only this user can read, and return the public key. Raises UsageError; never overwrites."""
    _check_place(path)
    key = PrivateKey(secrets.token_bytes(_SEED_BYTES))
    public = key.public
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "x", opener=_privately, encoding="ascii") as file:
            file.write(f"{key.seed.hex()}\n")
    except FileExistsError:
        raise UsageError(f"{path}: exists already, and a key is never overwritten; move it away first") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    return public


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _check_place(path: Path) -> None:
    """Check that submissions cannot read a place. Raises SpecError where they may."""
    real = Path(os.path.realpath(path))
    for folder in readable.paths(own_proc=False, gpu=True):
        if real.is_relative_to(os.path.realpath(folder)):
            remedy = "have XDG_CONFIG_HOME name another folder"
            raise SpecError(f"{path}: submissions may read what lies in {folder}; {remedy}")


def public_keys(texts: Sequence[str]) -> frozenset[str]:
    """Return public keys from texts: a key of 64 hex digits, or a file with one in each line (# begins a remark).

    Raises UsageError for any other text.
    """
    return frozenset(key for text in texts for key in _keys_in(text))


def _keys_in(text: str) -> list[str]:
    if _KEY.fullmatch(text):
        return [text]
    try:
        told = Path(text).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise UsageError(f"{text}: neither a public key of 64 hex digits nor a file of such") from None
    found = [line.partition("#")[0].strip() for line in told.splitlines()]
    keys = [line for line in found if line]
    if not keys or not all(map(_KEY.fullmatch, keys)):
        raise UsageError(f"{text}: every line is a public key of 64 hex digits, or a remark after #; one at least")
    return keys
