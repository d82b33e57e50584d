"""docker-compose.yml and the files it mounts, checked without Docker."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from onward.streams.cli import COMMANDS
from onward.streams.cli.console import ServeSettings
from onward.streams.cli.simulate import SimulateSettings
from onward.streams.cli.topics import TopicSettings
from onward.streams.settings import WorkerSettings

ROOT = Path(__file__).parents[2]
KNOWN = {
    f"ONWARD_{name.upper()}"
    for settings in (WorkerSettings, TopicSettings, SimulateSettings, ServeSettings)
    for name in settings.names()
}


def read(path: str) -> Any:
    return YAML(typ="safe").load((ROOT / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def compose() -> Any:
    return read("docker-compose.yml")


def mounts(compose: Any) -> Iterator[tuple[str, str]]:
    for service in compose["services"].values():
        for mount in service.get("volumes", []):
            yield tuple(mount.split(":")[:2])


def test_every_image_is_pinned_and_every_service_that_serves_is_watched(compose: Any) -> None:
    for name, service in compose["services"].items():
        tag = service["image"].partition(":")[2]
        assert tag not in ("", "latest"), name
        assert "ports" not in service or "healthcheck" in service, name


@pytest.mark.attack
def test_no_service_has_more_rights_or_room_than_it_needs(compose: Any) -> None:
    for name, service in compose["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["mem_limit"], name
        assert service["pids_limit"] <= 512, name
        # Kafka's image writes its settings into its own folders.
        assert service.get("read_only") or name == "kafka", name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


def test_dependencies_volumes_and_settings_exist(compose: Any) -> None:
    services = compose["services"]
    for name, service in services.items():
        for other, condition in service.get("depends_on", {}).items():
            needs_check = condition["condition"] == "service_healthy"
            assert other in services, name
            assert "healthcheck" in services[other] or not needs_check, f"{name} waits for {other} to be healthy"
        unknown = {key for key in service.get("environment", {}) if key.startswith("ONWARD_")} - KNOWN
        assert not unknown, name
    for source, _ in mounts(compose):
        assert source in compose["volumes"] or (ROOT / source).exists(), source


def test_snapshots_outlive_the_volume_of_the_ledgers(compose: Any) -> None:
    worker = compose["services"]["worker"]
    places = {place: source for source, place in (mount.split(":")[:2] for mount in worker["volumes"])}
    environment = worker["environment"]
    assert places[environment["ONWARD_SNAPSHOTS"]] != places[environment["ONWARD_STATE_DIR"]]


@pytest.mark.attack
def test_the_office_of_the_console_is_open_to_nobody_without_a_token(
    compose: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = compose["services"]["console"]
    for name, value in console["environment"].items():
        monkeypatch.setenv(name, str(value).rpartition(":-")[2].removesuffix("}"))
    settings = ServeSettings()  # type: ignore[call-arg]  # they are in the environment
    assert settings.auth_jwks is not None
    assert console["ports"] == [f"127.0.0.1:{settings.port}:{settings.port}"]
    folders = {place for _, place in (mount.split(":")[:2] for mount in console["volumes"])}
    assert str(settings.state_dir) in folders
    assert "console" in re.findall(r"mkdir -m 700 (.*?) &&", (ROOT / "deploy" / "Dockerfile").read_text())[0].split()


@pytest.mark.parametrize("service", ["topics", "worker", "simulator", "console"])
def test_commands_exist(compose: Any, service: str) -> None:
    assert compose["services"][service]["command"][0] in COMMANDS


def test_prometheus_and_grafana_find_what_they_need(compose: Any) -> None:
    jobs = {job["job_name"]: job for job in read("deploy/prometheus/prometheus.yml")["scrape_configs"]}
    ports = {
        "onward": WorkerSettings.names()["web_port"].default,
        "simulator": SimulateSettings.names()["web_port"].default,
        "console": ServeSettings.names()["office_port"].default,
    }
    for name, port in ports.items():
        host, _, scraped = jobs[name]["static_configs"][0]["targets"][0].partition(":")
        assert host in compose["services"]
        assert scraped == str(port)
    # A port of a container can be reached by others only where its server listens on every address.
    assert "ONWARD_WEB_HOST=0.0.0.0" in (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    in_container = {target: source for source, target in mounts(compose)}
    for rules in read("deploy/prometheus/prometheus.yml")["rule_files"]:
        assert (ROOT / in_container[f"/etc/prometheus/{rules}"]).is_file()
    (source,) = read("deploy/grafana/provisioning/datasources/prometheus.yml")["datasources"]
    assert source["url"].split("//")[1].split(":")[0] in compose["services"]
    (provider,) = read("deploy/grafana/provisioning/dashboards/onward.yml")["providers"]
    assert (ROOT / in_container[provider["options"]["path"]] / "onward.json").is_file()
