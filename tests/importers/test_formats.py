"""Files that are problems, their names, and the faults of files that are none. Nothing is executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import foreign
import pytest
from specimens import nest

from robust_kbench.errors import SpecError
from robust_kbench.hostile_folders import discard
from robust_kbench.importers import flashinfer, kernelbench, task_folders, workload_lines
from robust_kbench.importers.definitions import Definition
from robust_kbench.importers.description import Unread
from robust_kbench.importers.foreign_files import MAX_SOURCE_BYTES, files_below, parse_json, read_source
from robust_kbench.schema.documents import parse


def test_problems_of_kernelbench_are_found_by_level_and_number(tmp_path: Path) -> None:
    for place in ("level1/10_Affine_.py", "level1/2_Loss.py", "level2/1_A_B.py", "level1/notes.py", "tools/3_x.py"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(foreign.AFFINE)
    (tmp_path / "level1/4_no_problem.py").write_text("def get_inputs():\n    return []\n")
    found = kernelbench.find(tmp_path)
    assert [each.request.name for each in found] == [
        "kernelbench_level1/p002_loss", "kernelbench_level1/p010_affine", "kernelbench_level2/p001_a_b",
        "kernelbench/p003_x",
    ]  # fmt: skip
    assert found[0].request.summary == "KernelBench level1/2_Loss.py: Loss."
    assert [each.request.name for each in kernelbench.find(tmp_path, "level2")] == ["kernelbench_level2/p001_a_b"]


@pytest.mark.parametrize("name", ["1_\udcff.py", "/".join(["d" * 200] * 5) + "/1_long.py"], ids=["bytes", "long"])
def test_a_path_that_no_record_can_hold_costs_only_its_problem(tmp_path: Path, name: str) -> None:
    for place in (name, "2_Honest.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(foreign.AFFINE)
    unread: list[Unread] = []
    found = kernelbench.find(tmp_path, unread=unread)
    assert [each.request.name for each in found] == ["kernelbench/p002_honest"]
    assert ["its path is too long, or no text" in each.error for each in unread] == [True]
    assert all(each.place.encode() for each in unread)


def test_configurations_are_counted_and_not_multiplied_out() -> None:
    many: tuple[dict[str, str], ...] = ({},) * 2000
    data = {f"{kind}_{what}_configs": many for kind in ("single", "multi") for what in ("input", "init", "shared")}
    assert parse(task_folders.Configurations, data, "config.json").pairs() == [({}, {})]


def test_a_key_that_comes_twice_among_many_is_found_at_once() -> None:
    text = "{" + ", ".join(f'"{number}": 0' for number in range(60_000)) + ', "59999": 1}'
    with pytest.raises(SpecError, match="duplicate key '59999'"):
        parse_json(text, "x.json")


def test_a_single_file_is_a_problem_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(foreign.AFFINE)
    (found,) = kernelbench.find(tmp_path / "mine.py")
    assert found.request.name == "kernelbench/mine"


def test_links_are_not_followed_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(foreign.AFFINE)
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/1_x.py").symlink_to(tmp_path / "elsewhere.py")
    assert kernelbench.find(tmp_path / "level1") == []


@pytest.mark.parametrize("stem", ["???", "", "123"])
def test_a_name_of_which_nothing_is_left_is_refused(stem: str) -> None:
    with pytest.raises(SpecError, match="rename the file"):
        kernelbench.op_name(stem)


def test_both_directions_of_a_task_folder_are_problems(tmp_path: Path) -> None:
    foreign.write_task_folder(tmp_path / "rms_scale", foreign.FORWARD)
    foreign.write_task_folder(tmp_path / "rms_scale", foreign.BACKWARD, "backward")
    backward, forward = task_folders.find(tmp_path)
    assert (forward.request.name, forward.request.what) == ("robust_kbench/rms_scale", "function")
    assert (backward.request.name, backward.request.title) == ("robust_kbench/rms_scale_backward", "rms_scale/backward")
    assert forward.request.options["configurations"][0] == (
        {"rows": 64, "columns": 32}, {"eps": 0.001, "columns": 32},
    )  # fmt: skip


def test_folders_of_the_same_name_in_several_levels_are_several_problems(tmp_path: Path) -> None:
    for level in ("level_1", "level_2"):
        foreign.write_task_folder(tmp_path / level / "task_1", foreign.FORWARD)
    names = [found.request.name for found in task_folders.find(tmp_path)]
    assert names == ["robust_kbench/level_1_task_1", "robust_kbench/level_2_task_1"]


def test_of_configurations_that_are_alike_one_is_kept() -> None:
    settings = parse(
        task_folders.Configurations, {**foreign.CONFIGURATIONS, "multi_input_configs": [{"rows": 64}] * 9}, "config"
    )
    assert len(settings.pairs()) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"single_input_configs": [{"rows": [1]}]}, "single_input_configs"),
        ({"single_inputs": []}, "single_inputs: unknown key; did you mean 'single_input_configs'"),
        ({"multi_init_configs": None}, "multi_init_configs"),
    ],
    ids=["a list", "another key", "nothing"],
)
def test_a_wrong_configuration_names_the_place(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    folder = foreign.write_task_folder(tmp_path / "x", foreign.FORWARD, **changes)
    with pytest.raises(SpecError, match="config_forward.json") as raised:
        task_folders.find(folder)
    assert words in str(raised.value)


def test_a_definition_comes_with_the_largest_sizes_of_its_workloads(tmp_path: Path) -> None:
    foreign.write_definition(tmp_path / "one")
    foreign.write_definition(tmp_path / "two")
    (found,) = flashinfer.find(tmp_path)
    assert found.request.name == "flashinfer/scaled_rows_h"
    assert found.request.title == "scaled_rows_h64"
    assert (found.request.options["sizes"], found.request.options["numbers"]) == ({"rows": 96}, {"eps": 0.001})


def test_workloads_may_stand_elsewhere_and_name_their_definition(tmp_path: Path) -> None:
    folder = foreign.write_definition(tmp_path / "definitions/norm")
    (folder / "workload.jsonl").unlink()
    (tmp_path / "workloads").mkdir()
    lines = [{"definition": "scaled_rows_h64", "workload": foreign.WORKLOADS[0]}, {"definition": "b", "workload": {}}]
    (tmp_path / "workloads/all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (found,) = flashinfer.find(tmp_path)
    assert found.request.options["sizes"] == {"rows": 48}


OWN = b'{"definition": "scaled_rows_h64", '
BROKEN_LINES = [
    pytest.param(OWN + b'"workload": {"axes"', "Expecting", id="cut off"),
    pytest.param(OWN + b'"workload": 3}', "object", id="no mapping"),
    pytest.param(OWN + b'"axes": {"rows": "9"}}', "axes.rows", id="a text"),
    pytest.param(OWN + b'"axes": {"rows": -9}}', "axes.rows", id="negative"),
    pytest.param(OWN + b'"workload": {"inputs": {}}}', "axes: missing", id="no axes"),
    pytest.param(OWN + b'"workload": {"axes": {}}}', "axes.rows: missing", id="no rows"),
    pytest.param(OWN + b'"axes": {"rows": %s}}' % (b"9" * 4000), "axes.rows", id="huge"),
    pytest.param(OWN + b'"axes": {"rows": %s}}' % (b"9" * 9000), "digits", id="too huge for Python"),
    pytest.param(OWN + b'"axes": {"rows": 9}, "inputs": {"eps": {"value": 1}}}', "inputs.eps.type", id="no type"),
    *(
        pytest.param(
            OWN + b'"axes": {"rows": 9}, "inputs": {"eps": {"type": "scalar", "value": %s}}}' % value,
            "inputs.eps.value",
            id=f"a value of {len(value)} characters",
        )
        for value in (b"1e999", b"9" * 4000)
    ),
    pytest.param(OWN + b'"axes": {"rows": 9}, "uuid": "\xff"}', "not UTF-8", id="bytes"),
    pytest.param(OWN + b'"a": ' + b"[" * 100_000, "recursion", id="deep"),
]


@pytest.mark.parametrize("is_beside", [True, False], ids=["beside it", "elsewhere"])
@pytest.mark.parametrize(("line", "words"), BROKEN_LINES)
def test_a_line_that_cannot_be_read_costs_only_itself(tmp_path: Path, line: bytes, words: str, is_beside: bool) -> None:
    own = foreign.write_definition(tmp_path / "definitions/own")
    foreign.write_definition(tmp_path / "definitions/other", name="other_rows")
    file = own / "workload.jsonl"
    if not is_beside:
        for folder in ("own", "other"):
            (tmp_path / f"definitions/{folder}/workload.jsonl").unlink()
        file = tmp_path / "workloads/all.jsonl"
        file.parent.mkdir()
    named = (
        {"definition": name, "workload": each}
        for name in ("scaled_rows_h64", "other_rows")
        for each in foreign.WORKLOADS
    )
    lines = [json.dumps(each).encode() for each in named]
    file.write_bytes(b"\n".join([lines[0], line, *lines[1:]]))
    unread: list[Unread] = []
    found = flashinfer.find(tmp_path, unread=unread)
    assert [each.request.options["sizes"] for each in found] == [{"rows": 96}] * 2
    assert [each.request.digest[:7] for each in found] == ["sha256:"] * 2
    (told,) = unread
    assert told.place == f"{file}:2"
    assert told.error.startswith("workload of scaled_rows_h64: ")
    assert words in told.error


def test_a_file_of_workloads_is_its_definitions_by_its_name_where_its_lines_are_broken(tmp_path: Path) -> None:
    folder = foreign.write_definition(tmp_path / "definitions")
    (folder / "workload.jsonl").unlink()
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads/scaled_rows_h64.jsonl").write_text('[\n{"workload": {"axes": {"rows": 7}}}\n')
    (tmp_path / "workloads/notes.jsonl").write_text('{"of": "something else"}\n3\n{"definition": 3}\n')
    (tmp_path / "workloads/long.jsonl").write_text(" " * (MAX_SOURCE_BYTES + 1))
    unread: list[Unread] = []
    (found,) = flashinfer.find(tmp_path, unread=unread)
    assert found.request.options["sizes"] == {"rows": 7}
    told = [(each.place.removeprefix(f"{tmp_path}/workloads/"), each.error.partition(":")[0]) for each in unread]
    assert told == [
        ("scaled_rows_h64.jsonl:1", "workload of scaled_rows_h64"),
        ("long.jsonl", f"larger than {MAX_SOURCE_BYTES:,} bytes"),
        ("notes.jsonl:2", "not a mapping of keys to values"),
        ("notes.jsonl:3", "its definition is no name"),
    ]


def test_of_a_file_that_is_broken_throughout_some_lines_are_told_and_the_others_counted(tmp_path: Path) -> None:
    folder = foreign.write_definition(tmp_path)
    (folder / "workload.jsonl").write_text("{\n" * 1000)
    unread: list[Unread] = []
    assert len(flashinfer.find(tmp_path, unread=unread)) == 1
    assert [each.place.rpartition(":")[2] for each in unread[:-1]] == [str(number) for number in range(1, 21)]
    assert unread[-1] == Unread(str(folder / "workload.jsonl"), "980 more of its lines cannot be read")


def test_a_file_of_lines_without_end_is_read_in_part_and_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = foreign.write_definition(tmp_path)
    written = (folder / "definition.json").read_text()
    for number in range(4):
        (folder / f"more{number}.json").write_text(written.replace("scaled_rows_h64", f"scaled_rows_h{number}"))
    (folder / "workload.jsonl").write_text("{}\n" * 12_000)
    parsed = list[str]()
    own = workload_lines._parsed_work

    def counted(line: Any) -> Any:
        parsed.append(line.place)
        return own(line)

    monkeypatch.setattr(workload_lines, "_parsed_work", counted)
    unread: list[Unread] = []
    flashinfer.find(tmp_path, unread=unread)
    assert len(parsed) == len(set(parsed)) <= 10_001
    assert any("more of its lines cannot be read" in each.error for each in unread)


def test_folders_nested_a_thousand_deep_end_no_search(tmp_path: Path) -> None:
    nest(tmp_path, 1200)
    (tmp_path / "d/a.py").write_text("")
    try:
        assert files_below(tmp_path, "*.py") == [tmp_path / "d/a.py"]
    finally:
        discard(tmp_path / "d")  # Python's own way of deleting them recurses


def test_who_asks_for_one_definition_is_told_of_its_lines_alone(tmp_path: Path) -> None:
    for name in ("own", "other"):
        folder = foreign.write_definition(tmp_path / name, name=name)
        (folder / "workload.jsonl").write_text("{\n")
    unread: list[Unread] = []
    flashinfer.find(tmp_path, "/own/", unread)
    assert [each.place for each in unread] == [f"{tmp_path}/own/workload.jsonl:1"]
    with pytest.raises(SpecError, match=r"own/workload\.jsonl:1: workload of own: Expecting"):
        flashinfer.find(tmp_path / "own")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"axes": {"rows": {"type": "vary"}}}, "axes.rows.type"),
        ({"inputs": {}}, "inputs"),
        ({"inputs": {"x y": {"shape": [], "dtype": "float32"}}}, "inputs"),
        ({"inputs": {"x": {"shape": ["rows"], "dtype": "float8_e4m3fn"}}}, "float8_e4m3fn: kbench has none such"),
        ({"reference": 3}, "reference"),
    ],
    ids=["an axis", "no inputs", "a name", "a dtype", "a reference"],
)
def test_a_wrong_definition_names_the_place(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    folder = foreign.write_definition(tmp_path / "x", **changes)
    with pytest.raises(SpecError, match="definition.json") as raised:
        flashinfer.find(folder)
    assert words in str(raised.value)


def test_a_file_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    good, bad = tmp_path / "level1/1_Good.py", tmp_path / "level1/2_Bad.py"
    good.parent.mkdir()
    good.write_text(foreign.AFFINE)
    bad.write_bytes(b"class Model\xff")
    foreign.write_task_folder(tmp_path / "good", foreign.FORWARD)
    foreign.write_task_folder(tmp_path / "bad", foreign.FORWARD, multi_init_configs=None)
    foreign.write_definition(tmp_path / "definitions/good")
    foreign.write_definition(tmp_path / "definitions/bad", inputs={"x": {"shape": ["rows"], "dtype": "float8_e4m3fn"}})
    (tmp_path / "definitions/other.json").write_text("{" * 5000)
    for name in ("level1/3_Long.py", "bad/func_backward.py", "bad/config_backward.json", "definitions/good/x.jsonl"):
        (tmp_path / name).symlink_to("a" * 300)
    (tmp_path / "definitions/long.json").symlink_to("a" * 300)
    finders = (
        (kernelbench.find, tmp_path, ["not UTF-8 text"]),
        (task_folders.find, tmp_path, ["multi_init_configs"]),
        (flashinfer.find, tmp_path / "definitions", ["float8_e4m3fn", "Expecting"]),
    )
    for find, folder, expected in finders:
        unread: list[Unread] = []
        assert len(find(folder, "", unread)) == 1
        assert len(unread) == len(expected)
        assert all(word in each.error for word, each in zip(expected, unread, strict=True))
        assert all(each.place.startswith(str(tmp_path)) for each in unread)


def test_expressions_of_axes_are_arithmetic_and_nothing_else() -> None:
    definition = parse(Definition, foreign.DEFINITION, "definition")
    assert definition.sizes({"rows": 5}) == {"rows": 5, "hidden": 64, "half": 32}
    for text in ("__import__('os')", "hidden.bit_length()", "other + 1"):
        axes = {**foreign.DEFINITION["axes"], "half": {"type": "expr", "expression": text}}
        with pytest.raises(ValueError, match=r"."):
            parse(Definition, {**foreign.DEFINITION, "axes": axes}, "definition").sizes({"rows": 5})


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"a": 1, "a": 2}', "duplicate key 'a'"), ("[" * 200_000, ""), ('{"a": NaN}', "NaN is no number"), ("{", "")],
    ids=["twice", "deep", "no number", "cut off"],
)
def test_json_is_read_strictly(text: str, words: str) -> None:
    with pytest.raises(SpecError, match="file.json") as raised:
        parse_json(text, "file.json")
    assert words in str(raised.value)


def test_foreign_files_are_text_of_a_bounded_size(tmp_path: Path) -> None:
    for name, content, words in (
        ("large.py", b"#" * (MAX_SOURCE_BYTES + 1), "larger than"),
        ("bytes.py", b"\xff\xfe\xff", "not UTF-8"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SpecError, match=words):
            read_source(tmp_path / name)
    with pytest.raises(SpecError, match="not a regular file"):
        read_source(tmp_path)
