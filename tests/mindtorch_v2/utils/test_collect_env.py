"""`torch.utils.collect_env`: facts about the machine, from commands whose answers are given here."""

from mindtorch_v2.utils import collect_env


def answers(**known):
    """A stand-in for `run`: the answers of some commands by their first word; others are not found."""

    def run(command):
        return (0, known[command.split()[0]], "") if command.split()[0] in known else (127, "", "not found")

    return run


def test_versions_are_what_the_tools_print():
    run = answers(gcc="gcc (Debian 12.2.0) 12.2.0\nfree software", cmake="cmake version 3.25.1\n\nmaintained")
    assert collect_env.get_gcc_version(run) == "(Debian 12.2.0) 12.2.0"
    assert collect_env.get_cmake_version(run) == "version 3.25.1"
    assert collect_env.get_clang_version(run) is None


def test_processor_with_and_without_lscpu(monkeypatch):
    monkeypatch.setattr(collect_env.shutil, "which", lambda name: "/bin/" + name)
    assert collect_env.get_cpu_info(answers(lscpu="CPU(s): 7")) == "CPU(s): 7"
    assert collect_env.get_cpu_info(answers()) is None
    monkeypatch.setattr(collect_env.shutil, "which", lambda name: None)
    monkeypatch.setattr(collect_env.platform, "processor", lambda: "a processor")
    assert collect_env.get_cpu_info(answers(lscpu="CPU(s): 7")) == "a processor"


def test_distributions_are_chosen_by_patterns():
    pip, lines = collect_env.get_pip_packages(answers(), {"numpy", "no-such-distribution"})
    assert pip == "pip3" and [line.partition("==")[0] for line in lines.splitlines()] == ["numpy"]
    listed = answers(conda="# packages\nnumpy 2.4 py\nzlib 1.3 h")
    assert collect_env.get_conda_packages(listed, {"numpy"}) == "numpy 2.4 py"
    assert collect_env.get_conda_packages(answers()) is None


def test_facts_and_their_text():
    info = collect_env.get_env_info()
    assert (info.is_cuda_available, info.cuda_runtime_version, info.is_xpu_available) == ("False", None, "False")
    text = collect_env.pretty_str(info._replace(gcc_version="9.9", clang_version=None, cpu_info="a processor"))
    lines = text.splitlines()
    assert lines[0] == f"PyTorch version: {info.torch_version}" and "GCC version: 9.9" in lines
    assert "Clang version: Could not collect" in lines and lines[lines.index("CPU:") + 1] == "a processor"
    assert any(line.startswith("NPU available: ") for line in lines)


def test_other_devices_are_not_here():
    for name in ("get_gpu_info", "get_nvidia_driver_version", "get_running_cuda_version", "get_cudnn_version"):
        assert getattr(collect_env, name)(collect_env.run) is None
