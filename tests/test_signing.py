"""Digests, signatures and the key that makes them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from specimens import make_record, make_result

from robust_kbench import signing, store
from robust_kbench.errors import SpecError, UsageError
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import MAX_RECORD_BYTES, RunRecord, Signature, Status
from robust_kbench.signing import PrivateKey, digest_of, is_signed, seal, standing
from robust_kbench.worker import readable

KEY, OTHER = PrivateKey(bytes(range(32))), PrivateKey(bytes(32))


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


def rich_record(**changes: Any) -> RunRecord:
    finding = Finding(guard="clock", severity="warn", message="é \u202e", evidence={"us": 1e-7, "calls": 3})
    case = make_result(errors=(1e-5, 0.0, 3.5), limits=(1e-4, 1.0, 4.0), reason="quoted \"'\\ \n")
    return make_record(**{"findings": (finding,), "cases": (case, case), "author": "Ada", **changes})


def test_the_public_key_is_that_of_rfc_8032() -> None:
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    assert PrivateKey(seed).public == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def test_no_message_shows_a_key() -> None:
    assert KEY.seed.hex() not in f"{KEY!r} {KEY}"


@pytest.mark.parametrize("key", [None, KEY], ids=["a digest", "a signature"])
@pytest.mark.parametrize("record", [make_record(), rich_record(), make_record(status=Status.CRASHED, timings=())])
def test_a_sealed_record_is_intact_and_says_who_signed_it(record: RunRecord, key: PrivateKey | None) -> None:
    sealed = seal(record, key)
    assert standing(sealed) == (True, key.public if key else None)
    assert sealed.model_copy(update={"digest": "", "signature": None}) == record


def test_what_was_never_sealed_stands_for_nothing() -> None:
    assert standing(make_record()) == (None, None)


def test_sealing_again_changes_nothing() -> None:
    sealed = seal(rich_record(), KEY)
    assert seal(sealed, KEY) == sealed
    assert seal(sealed, OTHER).digest == sealed.digest


def _flipped(text: str) -> str:
    return f"{'1' if text[0] == '0' else '0'}{text[1:]}"


_SIGNED = seal(rich_record(), KEY)
_SIGNATURE = _SIGNED.signature or Signature(key="", value="")


@pytest.mark.parametrize(
    "change",
    [
        {"author": "Grace"},
        {"status": Status.INCORRECT},
        {"seed": 8},
        {"cases": ()},
        {"timings": ()},
        {"digest": ""},
        {"digest": f"sha256:{'0' * 64}"},
        {"digest": "<script>"},
        {"signature": Signature(key=_SIGNATURE.key, value=_flipped(_SIGNATURE.value))},
        {"signature": Signature(key=OTHER.public, value=_SIGNATURE.value)},
        {"signature": Signature(key=_SIGNATURE.key.upper(), value=_SIGNATURE.value)},
        {"signature": Signature(key=f" {_SIGNATURE.key}", value=_SIGNATURE.value)},
        {"signature": Signature(key="", value="")},
        {"signature": Signature(key="ff" * 32, value="ff" * 64)},
        {"signature": Signature(key="é" * 64, value="\x00" * 128)},
    ],
    ids=lambda change: str(change)[:60].encode("ascii", "replace").decode(),
)
def test_whatever_is_changed_shows_and_signs_for_nobody(change: dict[str, Any]) -> None:
    altered = _SIGNED.model_copy(update=change)
    assert standing(altered) == (False, None)
    assert standing(altered, store.to_line(altered).rstrip(b"\n")) == (False, None)


def test_a_signature_is_of_a_record_and_of_nothing_else() -> None:
    digest = digest_of(make_record())
    bare = KEY.sign(digest.encode())
    forged = make_record(digest=digest, signature=Signature(key=KEY.public, value=bare))
    assert standing(forged) == (False, None)


@pytest.mark.parametrize("sign", [0x00, 0x80])
@pytest.mark.parametrize(
    "point",
    [
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
    ],
)
def test_a_key_for_which_anybody_can_sign_signs_nothing(point: str, sign: int) -> None:
    key = bytes.fromhex(point)
    key = bytes([*key[:-1], key[-1] | sign])
    of_nothing = "01" + "00" * 63  # the neutral point and zero: true where the message's hash times the key is neutral
    messages = [f"message {number}".encode() for number in range(64)]
    assert not any(is_signed(message, key.hex(), of_nothing) for message in messages)


def test_who_takes_the_signature_off_leaves_a_record_that_nobody_has_signed() -> None:
    assert standing(_SIGNED.model_copy(update={"signature": None})) == (True, None)


def test_the_digest_is_that_of_the_content_as_it_stands_in_the_line() -> None:
    line = store.to_line(_SIGNED)
    content = line.partition(b',"digest":')[0] + b"}"
    assert hashlib.sha256(content).hexdigest() == _SIGNED.digest.removeprefix("sha256:")
    assert (
        json.dumps(json.loads(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == content
    )


def test_a_line_that_was_written_in_another_way_is_intact() -> None:
    data = json.loads(store.to_line(_SIGNED))
    for line in (
        json.dumps(data).encode(),
        json.dumps(dict(reversed(data.items())), indent=None, separators=(" , ", " : ")).encode(),
        json.dumps(store.as_json(_SIGNED)).encode(),
    ):
        record = store.parse_line(line, "x")
        assert record == _SIGNED
        assert standing(record, line) == standing(record) == (True, KEY.public)


def test_what_equals_its_default_does_not_count_so_that_a_key_with_a_default_can_be_added() -> None:
    bare = make_record(author="", reason="", labels=())
    assert {"author", "reason", "labels"}.isdisjoint(json.loads(store.to_line(seal(bare))))


def test_a_key_behind_the_digest_is_no_part_of_what_was_signed() -> None:
    line = store.to_line(_SIGNED).rstrip(b"\n")
    for forged in (
        line[:-1] + b',"author":"Mallory"}',
        line.replace(b',"digest":', b',"author":"Mallory","digest":'),
        line.replace(b',"signature":', b',"author":"Mallory","signature":'),
    ):
        record = store.parse_line(forged, "x")
        assert record.author == "Mallory"
        assert standing(record, forged) == standing(record) == (False, None)


def test_the_line_says_quickly_what_the_record_says_slowly() -> None:
    line = store.to_line(_SIGNED).rstrip(b"\n")
    record = store.parse_line(line, "x")
    assert standing(record, line) == standing(record) == (True, KEY.public)
    assert standing(record, b"{}") == (True, KEY.public)


@pytest.mark.parametrize("key", [None, KEY], ids=["a digest", "a signature"])
def test_a_record_that_hardly_fits_is_sealed_as_it_is_kept(key: PrivateKey | None, tmp_path: Path) -> None:
    room = MAX_RECORD_BYTES - len(store.to_line(make_record(environment={"x": ""}, log="")))
    for spare in (0, 100, 300, 2000):
        sealed = seal(make_record(environment={"x": "y" * (room - spare - 4000)}, log="z" * 4000), key)
        store.append(tmp_path / f"{spare}.jsonl", sealed)
        (kept,) = store.read(tmp_path / f"{spare}.jsonl")
        assert kept == sealed
        assert standing(kept).intact is True


def test_keygen_writes_a_key_for_this_user_alone(config: Path) -> None:
    public = signing.keygen(signing.key_path())
    path = config / "robust-kbench" / "host.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    key = signing.host_key()
    assert key is not None
    assert key.public == public


def test_keygen_never_overwrites() -> None:
    signing.keygen(signing.key_path())
    before = signing.key_path().read_bytes()
    with pytest.raises(UsageError, match="exists already, and a key is never overwritten"):
        signing.keygen(signing.key_path())
    assert signing.key_path().read_bytes() == before


def test_no_two_keys_are_the_same(tmp_path: Path) -> None:
    assert signing.keygen(tmp_path / "a") != signing.keygen(tmp_path / "b")


def test_without_a_key_nothing_is_signed() -> None:
    assert signing.host_key() is None


@pytest.mark.parametrize("told", ["", "relative/path"])
def test_a_setting_that_names_no_folder_is_the_default(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", told)
    monkeypatch.setenv("HOME", "/home/ada")
    assert signing.key_path() == Path("/home/ada/.config/robust-kbench/host.key")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601], ids=oct)
def test_a_key_that_others_may_use_is_refused(mode: int) -> None:
    signing.keygen(signing.key_path())
    signing.key_path().chmod(mode)
    with pytest.raises(SpecError, match=rf"host.key: mode {mode:04o}: others may use this key; chmod 600 "):
        signing.host_key()


@pytest.mark.parametrize("content", [b"", b"secret\n", b"00" * 31, b"00" * 33, b"\xff" * 64, b"GG" * 32])
def test_a_file_that_is_no_key_is_refused(content: bytes) -> None:
    signing.keygen(signing.key_path())
    signing.key_path().write_bytes(content)
    with pytest.raises(SpecError, match="not a key of 64 hex digits"):
        signing.host_key()


def test_a_folder_in_the_place_of_the_key_is_refused() -> None:
    signing.key_path().mkdir(parents=True)
    with pytest.raises(SpecError, match="Is a directory"):
        signing.host_key()


def test_a_key_where_submissions_may_read_is_neither_made_nor_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing.keygen(signing.key_path())
    os.symlink(tmp_path / "config", tmp_path / "link")
    monkeypatch.setattr(readable, "paths", lambda *, own_proc, gpu: ["/usr", str(tmp_path / "link")])
    with pytest.raises(SpecError, match="submissions may read what lies in "):
        signing.host_key()
    with pytest.raises(SpecError, match="submissions may read what lies in "):
        signing.keygen(tmp_path / "config" / "new.key")
    assert not (tmp_path / "config" / "new.key").exists()


def test_trusted_keys_are_told_one_by_one_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"# ours\n{KEY.public}  # the one in the cellar\n\n")
    assert signing.public_keys([str(tmp_path / "keys"), OTHER.public]) == {KEY.public, OTHER.public}
    assert signing.public_keys([]) == frozenset()


@pytest.mark.parametrize("content", ["", "# nobody\n", "mine\n", f"{'0' * 63}\n", "\x00"])
def test_a_file_that_trusts_nobody_or_nothing_is_refused(content: str, tmp_path: Path) -> None:
    # As no key at all, it would rank everything.
    (tmp_path / "keys").write_text(content)
    with pytest.raises(UsageError, match="every line is a public key"):
        signing.public_keys([str(tmp_path / "keys")])


@pytest.mark.parametrize("text", ["", "0" * 63, "A" * 64, "/no/such/file", "\x00"])
def test_text_that_is_no_key_and_no_file_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="neither a public key"):
        signing.public_keys([text])
