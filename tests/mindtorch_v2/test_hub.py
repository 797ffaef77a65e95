"""torch.hub: local repositories, and files that come through urllib."""

from __future__ import annotations

import hashlib

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path / "hub"))
    return torch.hub


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "helper.py").write_text("SCALE = 3\n")
    (folder / "hubconf.py").write_text(
        'dependencies = ["numpy"]\nfrom helper import SCALE\n'
        'def model(n, *, bias=True):\n    "A layer."\n    import mindtorch_v2 as torch\n'
        "    return torch.nn.Linear(n, SCALE, bias=bias)\ndef _hidden():\n    pass\n"
    )
    return str(folder)


def test_local_repositories(hub, repository):
    assert hub.list(repository, source="local") == ["model"]
    assert hub.help(repository, "model", source="local") == "A layer."
    made = hub.load(repository, "model", 2, source="local", bias=False)
    assert (made.in_features, made.out_features, made.bias) == (2, 3, None)
    with pytest.raises(RuntimeError, match="Cannot find callable nothing in hubconf"):
        hub.load(repository, "nothing", source="local")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        hub.load(repository, "model", source="web")


def test_missing_dependencies_are_named(hub, tmp_path):
    (tmp_path / "hubconf.py").write_text('dependencies = ["no_such_module"]\ndef model():\n    pass\n')
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_module"):
        hub.load(str(tmp_path), "model", source="local")


def test_downloads_are_checked_and_kept(hub, tmp_path, capsys):
    source = tmp_path / "weights.pth"
    torch.save({"w": torch.arange(3.0)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    named = tmp_path / f"weights-{digest[:8]}.pth"
    source.rename(named)
    assert hub.load_state_dict_from_url(named.as_uri(), check_hash=True)["w"].tolist() == [0.0, 1.0, 2.0]
    assert "Downloading" in capsys.readouterr().err
    named.unlink()
    assert hub.load_state_dict_from_url(named.as_uri())["w"].tolist() == [0.0, 1.0, 2.0], (
        "the second time it comes from the cache"
    )


def test_a_wrong_hash_leaves_no_file(hub, tmp_path):
    source = tmp_path / "file"
    source.write_bytes(b"contents")
    target = tmp_path / "target"
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "0000"'):
        hub.download_url_to_file(source.as_uri(), str(target), hash_prefix="0000", progress=False)
    assert not target.exists() and not list(tmp_path.glob("*.partial"))


def test_strangers_repositories_are_asked_about(hub, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(Exception, match="Untrusted repository"):
        hub.load("someone/something", "model", trust_repo="check")
