from __future__ import annotations

from typing import Any

import pytest

from robust_kbench.errors import SpecError
from robust_kbench.schema.documents import parse
from robust_kbench.schema.submission import ABIS, Submission, SubmissionFile

FILE: dict[str, Any] = {"task": "norm/rmsnorm", "language": "cpp", "entry_point": "kernel.cpp::rmsnorm"}
ENTRY = {"python": "kernel.py::f", "triton": "kernel.py::f", "cpp": "kernel.cpp::f", "cuda": "kernel.cu::f"}


def _file(**changes: Any) -> SubmissionFile:
    return parse(SubmissionFile, {**FILE, **changes}, "submission.yaml")


def _refusal(**changes: Any) -> str:
    with pytest.raises(SpecError) as caught:
        _file(**changes)
    return str(caught.value).removeprefix("submission.yaml: ")


def _submission(name: str = "mine", sources: dict[str, str] | None = None, **changes: Any) -> Submission:
    return Submission(name=name, file=_file(**changes), sources=sources or {"kernel.cpp": "int x;"})


@pytest.mark.parametrize(
    "flag",
    [
        "-O0", "-O3", "-Ofast", "-ffast-math", "-fno-math-errno", "-funroll-loops", "-fopenmp", "-march=native",
        "-mavx2", "-mavx512f", "-mavx512vnni", "-mfma", "-mf16c", "-std=c++17", "-std=gnu++20", "-DNDEBUG",
        "-DTILE=128", "-DA_1=0", "--use_fast_math", "-maxrregcount=64", "--expt-relaxed-constexpr",
    ],
)  # fmt: skip
def test_a_flag_that_only_changes_code_generation_is_allowed(flag: str) -> None:
    assert _file(build=[flag]).build == (flag,)


@pytest.mark.parametrize(
    "flag",
    [
        "", " ", "-", "-o", "-ofile", "-c", "-S", "-E", "-I/etc", "-I", "-isystem/etc", "-iquote.", "-include",
        "-imacros", "-L/lib", "-lm", "-Wl,-rpath,/tmp", "-Wl,--wrap=malloc", "-Wa,--defsym", "-Wp,-MD,/tmp/x",
        "-Xlinker", "-Xcompiler", "-Xptxas", "-fplugin=evil.so", "-fplugin-arg-x-y", "-wrapper", "-B/tmp",
        "-specs=evil", "@file", "--sysroot=/", "-x", "-pipe", "-save-temps", "-MF/tmp/x", "-fdump-tree-all",
        "-frandom-seed=1", "-static", "-fprofile-use=/tmp/x", "-ccbin=/tmp/g++", "--compiler-bindir",
        "-gencode", "-march=x86-64", "-O4", "-O", "-O3 -o", "-O3\n", "\n-O3", " -O3", "-O3;id", "-mavx512",
        "-mavx512abcde", "-std=c++11", "-D", "-Dx", "-Dname=1", '-DX="a"', "-DX='a'", "-DX=a", "-DX=-1",
        "-DX=1.0", "-DX=0x10", "-DX=$(id)", "-DX=`id`", "-DX=1;", "-DX(a)=1", "-DX=1234567890", "-D" + "A" * 32,
        "-UNDEBUG", "-maxrregcount=1000", "kernel.cpp", "/etc/passwd", "-D\N{FULLWIDTH DIGIT ONE}",
        "-DX=\N{ARABIC-INDIC DIGIT ONE}",
    ],
)  # fmt: skip
def test_a_flag_that_is_not_on_the_allow_list_is_refused(flag: str) -> None:
    assert _refusal(build=[flag]).startswith(f"build: flag {flag!r:.60} is not on the allow-list")


def test_one_bad_flag_among_good_ones_is_enough_to_refuse() -> None:
    assert "'-lm'" in _refusal(build=["-O3", "-lm", "-DNDEBUG"])


def test_there_are_at_most_sixteen_flags() -> None:
    assert len(_file(build=["-O3"] * 16).build) == 16
    assert _refusal(build=["-O3"] * 17).startswith("build: ")


@pytest.mark.parametrize("language", ["python", "triton"])
def test_flags_for_a_language_that_is_not_compiled_are_refused(language: str) -> None:
    assert _refusal(language=language, build=["-O3"]) == f"build: {language} is not compiled, remove the flags"


@pytest.mark.parametrize("language", ABIS)
@pytest.mark.parametrize("abi", ["value", "destination", "c", "torch"])
def test_a_calling_convention_must_exist_for_the_language(language: str, abi: str) -> None:
    known = {
        "python": "value or destination",
        "triton": "value or destination",
        "cpp": "c or torch",
        "cuda": "c or torch or launch",
    }
    if abi in known[language]:
        assert _file(language=language, abi=abi, entry_point=ENTRY[language]).abi == abi
    else:
        assert (
            _refusal(language=language, abi=abi) == f"abi {abi!r} does not exist for {language}; use {known[language]}"
        )


@pytest.mark.parametrize(
    ("language", "abi"), [("python", "destination"), ("triton", "destination"), ("cpp", "c"), ("cuda", "c")]
)
def test_each_language_has_a_default_calling_convention(language: str, abi: str) -> None:
    assert _submission(language=language, entry_point=ENTRY[language]).abi == abi


@pytest.mark.parametrize(
    "entry_point",
    [
        "/etc/passwd::f", "../kernel.cpp::f", "a/../../kernel.cpp::f", "a/..::f", "..::f", "//kernel.cpp::f",
        "kernel.cpp", "kernel.cpp:f", "kernel.cpp::", "::f", "kernel.cpp::1f", "kernel.cpp::f()",
        "kernel.cpp::f;g", "kernel.cpp::a.b", "kernel.cpp::f::g", "my kernel.cpp::f", "kernel.cpp::f\n",
        "kernel.cpp ::f", "",
    ],
)  # fmt: skip
def test_an_entry_point_outside_the_directory_or_the_format_is_refused(entry_point: str) -> None:
    assert _refusal(entry_point=entry_point).startswith("entry_point: ")


def test_an_entry_point_names_a_file_and_a_symbol() -> None:
    submission = _submission(entry_point="src/kernel.v2.cpp::_norm_2")
    assert (submission.entry_file, submission.symbol) == ("src/kernel.v2.cpp", "_norm_2")


@pytest.mark.parametrize(
    ("language", "names"),
    [
        (
            "cpp",
            ["k.ld", "k.so", "k.a", "k.o", "k.s", "k.S", "k.i", "k.ii", "k.f90", "k.h", "k.c", "k.cu", "k", ".cpp"],
        ),
        ("cpp", ["k.CPP", "k.cpp.ld", "cpp", "k.cpp/k", "k."]),
        ("cuda", ["k.ptx", "k.cubin", "k.fatbin", "k.o", "k.a", "k.so", "k.lib", "k.cuh", "k.res", "k"]),
        ("python", ["k.so", "k.pyc", "k.cpp", "k"]),
        ("triton", ["k.so", "k.pyc", "k.cu", "k"]),
    ],
)
def test_an_entry_point_is_a_source_of_its_language(language: str, names: list[str]) -> None:
    """To g++ a file of another name is input of the linker, which may be a script."""
    for name in names:
        refused = _refusal(language=language, entry_point=f"{name}::f")
        assert refused.startswith(f"entry_point: {name!r} is no source of {language}; its name must end in .")


@pytest.mark.parametrize(
    ("language", "name"),
    [("cpp", "a/k.cpp"), ("cpp", "k.cc"), ("cpp", "k.v2.cxx"), ("cuda", "k.cu"), ("cuda", "k.cc"), ("triton", "k.py")],
)
def test_every_suffix_of_a_source_is_allowed(language: str, name: str) -> None:
    assert _submission(language=language, entry_point=f"{name}::f").entry_file == name


@pytest.mark.parametrize("path", ["../evil.h", "/tmp/evil.h", "a/../../evil.h"])
def test_a_source_outside_the_submissions_directory_is_refused(path: str) -> None:
    # Agents make submissions in memory; their sources are written below a build folder.
    with pytest.raises((SpecError, ValueError), match="evil.h"):
        _submission(sources={"kernel.cpp": "", path: ""})


@pytest.mark.parametrize(
    "path", ["a/./b.h", "a//b.h", "./b.h", "b.h/", "\N{GRINNING FACE}" * 70, "a\nb.h"], ids=lambda path: ascii(path[:9])
)
def test_a_source_has_one_spelling_and_a_name_that_a_file_can_have(path: str) -> None:
    with pytest.raises(ValueError, match=r"another spelling of|no usable name"):
        _submission(sources={"kernel.cpp": "", path: ""})


@pytest.mark.parametrize("dtypes", [[], ["float32", "float32"], ["float31"], ["int64"]])
def test_dtypes_are_named_once_each_and_are_floating_point(dtypes: list[str]) -> None:
    assert _refusal(dtypes=dtypes).startswith("dtypes")


@pytest.mark.parametrize(
    "changes",
    [
        {"build": ["-O3"]},
        {"build": ["-O2"]},
        {"abi": "torch"},
        {"language": "cuda"},
        {"task": "norm/layernorm"},
        {"entry_point": "kernel.cpp::other"},
        {"dtypes": ["float32"]},
        {"precision": "tf32_ok"},
        {"sources": {"kernel.cpp": "int y;"}},
        {"sources": {"other.cpp": "int x;"}},
        {"sources": {"kernel.cpp": "int x;", "more.h": ""}},
    ],
    ids=str,
)
def test_the_digest_changes_with_what_is_executed(changes: dict[str, Any]) -> None:
    assert _submission(**changes).digest != _submission().digest


@pytest.mark.parametrize(
    "changes",
    [{"author": "somebody"}, {"name": "other-directory"}, {"abi": "c"}],
    ids=["author", "name", "default abi"],
)
def test_the_digest_ignores_what_does_not_change_the_kernel(changes: dict[str, Any]) -> None:
    assert _submission(**changes).digest == _submission().digest


def test_the_digest_does_not_depend_on_the_order_of_the_sources() -> None:
    one = _submission(sources={"a.h": "1", "kernel.cpp": "2"})
    assert one.digest == _submission(sources={"kernel.cpp": "2", "a.h": "1"}).digest


def test_moving_text_from_one_source_to_another_changes_the_digest() -> None:
    one = _submission(sources={"a.h": "xy", "kernel.cpp": ""})
    assert one.digest != _submission(sources={"a.h": "x", "kernel.cpp": "y"}).digest


def test_the_digest_of_a_published_submission_stays_what_it_was() -> None:
    # Records name submissions by it, so a change would orphan every published record.
    assert _submission().digest == "sha256:ee4b9e0f7ed88023a2c1bf9dc08e1e832080d54609ea9d868712ca4780b1936b"
