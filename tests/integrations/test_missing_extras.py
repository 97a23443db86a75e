"""Without its framework an integration still imports, and names the install command when it is used."""

import importlib.util
import sys
from pathlib import Path

import pytest

import diverset.integrations
from diverset._extras import found
from diverset.errors import MissingExtraError

FOLDER = Path(diverset.integrations.__file__).parent
CASES = [
    ("sklearn", "sklearn", "DiverseSelector", "sklearn"),
    ("sklearn", "sklearn", "SubsetFit", "sklearn"),
    ("langchain", "langchain_core", "DiverseReranker", "langchain"),
    ("langchain", "langchain_core", "DiverseRetriever", "langchain"),
    ("haystack", "haystack", "DiverseReranker", "haystack"),
    ("llama_index", "llama_index.core", "DiverseReranker", "llama-index"),
    ("llama_index", "llama_index.core", "DiverseRetriever", "llama-index"),
]


@pytest.mark.parametrize(("module", "framework", "name", "extra"), CASES)
def test_the_install_command_is_named(monkeypatch, module, framework, name, extra):
    monkeypatch.setitem(sys.modules, framework, None)
    spec = importlib.util.spec_from_file_location("integration_without_framework", FOLDER / f"{module}.py")
    integration = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(integration)
    stand_in = getattr(integration, name)
    command = rf'{name} needs .*: pip install "diverset\[{extra}\]"'
    with pytest.raises(MissingExtraError, match=command):
        stand_in(5, diversity=0.3)
    with pytest.raises(MissingExtraError, match=command):
        type("Mine", (stand_in,), {})
    assert "pip install" in stand_in.__doc__


def test_absent_packages_are_seen():
    assert found("numpy")
    assert not found("no_such_package")
    assert not found("no_such_package.inner")
