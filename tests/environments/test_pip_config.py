"""What the user told pip reaches uv, in pip's order of strength; what they told uv wins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kbench.environments import pip_config


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user with a pip.conf of their own, and nothing else in the environment."""
    config = tmp_path / ".config" / "pip" / "pip.conf"
    config.parent.mkdir(parents=True)
    config.write_text(
        "[global]\nindex-url = https://mirror.example/simple\n"
        "extra_index_url =\n    https://a.example/simple\n    file:///srv/b/simple\n"
        "trusted-host = a.example b.example\n"
        "[install]\nfind-links = /srv/wheels /srv/more\n"
    )
    return {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "none")}


def test_mirrors_and_wheel_folders_reach_uv(environ: dict[str, str]) -> None:
    told = pip_config.uv_variables(environ)
    assert told["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    assert told["UV_INDEX"] == "https://a.example/simple file:///srv/b/simple"
    assert told["UV_FIND_LINKS"] == "/srv/wheels,/srv/more"
    assert told["UV_INSECURE_HOST"] == "a.example b.example"
    assert told["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_pips_variables_are_stronger_than_its_files(environ: dict[str, str]) -> None:
    environ |= {"PIP_INDEX_URL": "https://other.example/simple"}
    told = pip_config.uv_variables(environ)
    assert told["UV_DEFAULT_INDEX"] == "https://other.example/simple"


def test_the_file_that_pip_config_file_names_is_stronger_than_the_users(
    environ: dict[str, str], tmp_path: Path
) -> None:
    named = tmp_path / "named.conf"
    named.write_text("[global]\nindex-url = https://named.example/simple\n")
    environ["PIP_CONFIG_FILE"] = str(named)
    assert pip_config.uv_variables(environ)["UV_DEFAULT_INDEX"] == "https://named.example/simple"
    environ["PIP_CONFIG_FILE"] = os.devnull
    assert "UV_DEFAULT_INDEX" not in pip_config.uv_variables(environ)


def test_what_is_set_for_uv_already_wins(environ: dict[str, str]) -> None:
    environ |= {"UV_INDEX_URL": "https://mine.example/simple", "UV_INDEX_STRATEGY": "first-index"}
    told = pip_config.uv_variables(environ)
    assert "UV_DEFAULT_INDEX" not in told
    assert "UV_INDEX_STRATEGY" not in told


def test_proxies_certificates_and_no_index_are_translated(environ: dict[str, str]) -> None:
    environ |= {
        "PIP_PROXY": "proxy.example:3128",
        "PIP_CERT": "/srv/ca.pem",
        "PIP_CLIENT_CERT": "/srv/me.pem",
        "PIP_NO_INDEX": "true",
    }
    told = pip_config.uv_variables(environ)
    assert told["HTTPS_PROXY"] == told["HTTP_PROXY"] == "http://proxy.example:3128"
    assert told["SSL_CERT_FILE"] == "/srv/ca.pem"
    assert told["SSL_CLIENT_CERT"] == "/srv/me.pem"
    assert told["UV_NO_INDEX"] == "1"
    assert "HTTPS_PROXY" not in pip_config.uv_variables({**environ, "https_proxy": "http://own"})


def test_a_broken_pip_configuration_is_no_reason_to_stop(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".config/pip/pip.conf").write_text("not a configuration")
    assert "UV_DEFAULT_INDEX" not in pip_config.uv_variables(environ)
