"""What to ask whoever pasted the text, where the text leaves the cause open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashdoctor.engine.candidates import GUESSED, HINT, Candidate
from flashdoctor.model.finding import Question
from flashdoctor.model.snapshot import Snapshot

_MAX_QUESTIONS = 2
_COLLECT_ENV = Question(
    command="python -m torch.utils.collect_env",
    why="names torch, its CUDA, the driver, the GPU and the packages",
)
_NVIDIA_SMI = Question(command="nvidia-smi", why="names the driver, what it supports and the GPUs")
_BESIDE_NVCC = Question(
    command=_COLLECT_ENV.command,
    why="names torch and the CUDA that it brings; nvcc is the compiler, which only builds use",
)

_TELLS = (
    ("compute_cap", "gpu.compute_capability"),
    ("get_device_capability", "gpu.compute_capability"),
    ("nvidia-smi | head", "driver.version"),
    ("nvcc --version", "toolkit.version"),
    ("ldd --version", "os.glibc"),
    ("vllm --version", "vllm.version"),
    ("vllm.__version__", "vllm.version"),
    ("transformers.__version__", "transformers.version"),
    ("flash_attn.__version__", "flash_attn.version"),
    ("torch.__version__", "torch.version"),
    ("torch.version.cuda", "torch.cuda"),
    ("get_arch_list", "torch.arch_list"),
    ("_GLIBCXX_USE_CXX11_ABI", "torch.cxx11_abi"),
)
"""What stands in a command, and the fact that its output would tell."""

_LISTS = ("pip list", "pip freeze", "conda list", "collect_env")


def ask(ranked: Sequence[Candidate], kinds: Sequence[str], facts: Snapshot) -> tuple[Question, ...]:
    """Return up to two commands whose output would decide between the first causes.

    None where the first cause is plain: borne out better than the second, or its explanation.
    What the paste tells already is not asked for; `kinds` names the tools whose output it holds.
    """
    serious = [item for item in ranked if item.finding.severity != "info"]
    if not serious:
        return ()
    first, others = serious[0], serious[1:2]
    close = [item for item in others if _is_close(first, item)]
    if first.standing < HINT and not close:
        return ()
    found: dict[str, Question] = {}
    for item in (first, *close):
        for question in _questions(item, kinds, facts):
            found.setdefault(question.command, question)
            if close:
                break
    return tuple(found.values())[:_MAX_QUESTIONS]


def what_to_paste(facts: Snapshot) -> tuple[Question, ...]:
    """Return what tells most about a stack of which too little is known for a verdict."""
    if facts["toolkit.version"].is_known:
        return _BESIDE_NVCC, _NVIDIA_SMI
    return _COLLECT_ENV, _NVIDIA_SMI


def _is_close(first: Candidate, second: Candidate) -> bool:
    return (
        first.standing == second.standing
        and first.finding.severity == second.finding.severity
        and first.cause not in second.explained_by
    )


def _questions(item: Candidate, kinds: Sequence[str], facts: Snapshot) -> Iterator[Question]:
    for command in item.ask:
        if not _is_answered(command, kinds, facts):
            yield Question(command=command, why=f"would confirm: {item.finding.title}")


def _is_answered(command: str, kinds: Sequence[str], facts: Snapshot) -> bool:
    if command in kinds:
        return True
    if "pip list" in command:
        return any(name in kind for kind in kinds for name in _LISTS)
    told = [path for mark, path in _TELLS if mark in command]
    return bool(told) and all(_is_stated(path, facts) for path in told)


def _is_stated(path: str, facts: Snapshot) -> bool:
    guessed = path != "torch.version" and GUESSED in facts["torch.cuda"].source
    return facts[path].is_known and not (path.startswith("torch.") and guessed)
