"""FileCheck: conditions on texts."""

import pytest

from mindtorch_v2.testing import FileCheck


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (FileCheck().check("a").check("c"), "a b c"),
        (FileCheck().check("a").check_next("b"), "a\nb"),
        (FileCheck().check("a").check_same("c"), "a b c"),
        (FileCheck().check("a").check_not("b").check("c"), "a c b"),
        (FileCheck().check_dag("b").check_dag("a").check("c"), "a b c"),
        (FileCheck().check_count("x", 2, exactly=True), "x x"),
        (FileCheck().check_regex(r"\d+ ops"), "found 12 ops"),
        (FileCheck().check_source_highlighted("bad"), "a bad name\n  ~~~\n"),
    ],
)
def test_conditions_that_are_met(check: FileCheck, text: str) -> None:
    check.run(text)


@pytest.mark.parametrize(
    ("check", "text", "message"),
    [
        (FileCheck().check("z"), "abc", 'Expected to find "z" but did not find it'),
        (FileCheck().check("b").check("a"), "a b", 'Expected to find "a"'),
        (FileCheck().check("a").check_next("b"), "a\nc\nb", "From CHECK-NEXT: b"),
        (FileCheck().check("a").check_next("b"), "a b", "did not find it"),
        (FileCheck().check("a").check_same("b"), "a\nb", "From CHECK-SAME: b"),
        (FileCheck().check_not("b"), "abc", 'Expected to not find "b" but found it\nabc\n ~'),
        (FileCheck().check_count("b", 3), "b b", "From CHECK-COUNT-3: b"),
        (FileCheck().check_count("b", 1, exactly=True), "b b", 'Expected to not find "b"'),
        (FileCheck().check_regex("x+"), "abc", "From CHECK-REGEX"),
        (FileCheck().check_source_highlighted("bad"), "a bad name", "HIGHLIGHTED: bad"),
    ],
)
def test_conditions_that_are_not(check: FileCheck, text: str, message: str) -> None:
    with pytest.raises(RuntimeError) as error:
        check.run(text)
    assert message in str(error.value)


def test_conditions_in_comments() -> None:
    FileCheck().run("# CHECK: a\n# CHECK-NEXT: b\n# CHECK-COUNT-2: c", "a\nb\nc c")
    with pytest.raises(RuntimeError, match="CHECK-NOT: d"):
        FileCheck().run("# CHECK: a\n# CHECK-NOT: d", "a d")
    with pytest.raises(RuntimeError, match="unknown condition CHECK-NONE"):
        FileCheck().run("# CHECK-NONE: a", "a")
