"""The manifests for Kubernetes, checked without a cluster: by its schemas, and against what the worker is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import kubernetes_validate
import pytest
from aiohttp import web
from ruamel.yaml import YAML

from onward.streams.cli.console import ServeSettings
from onward.streams.cli.process.leftover_threads import GRACE_SECONDS
from onward.streams.console.web import make_site
from onward.streams.kafka.consume.worker import STOP_SECONDS
from onward.streams.kafka.produce.publisher import CLOSE_SECONDS
from onward.streams.metrics import Metrics
from onward.streams.settings import Settings, WorkerSettings
from onward.streams.snapshots.scheduler import LAST_SECONDS
from onward.streams.worker.readiness import Readiness
from onward.streams.worker.web import make_app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
MANIFESTS = sorted(path.name for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")
CONSOLE = [f"console/{path.name}" for path in (FOLDER / "console").glob("*.yaml") if path.name != "kustomization.yaml"]
VERSIONS = ["1.31.0", kubernetes_validate.latest_version()]


def read(path: str) -> Any:
    return YAML(typ="safe").load((FOLDER / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def kustomization() -> Any:
    return read("kustomization.yaml")


@pytest.fixture(scope="module")
def workers() -> Any:
    return read("statefulset.yaml")["spec"]


@pytest.fixture(scope="module")
def pod(workers: Any) -> Any:
    return workers["template"]["spec"]


@pytest.fixture(scope="module")
def container(pod: Any) -> Any:
    [container] = pod["containers"]
    return container


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [*MANIFESTS, *CONSOLE])
def test_a_manifest_is_valid(name: str, version: str) -> None:
    kubernetes_validate.validate(read(name), version, strict=True)


def test_the_validation_refuses_what_kubernetes_does_not_know() -> None:
    wrong = read("statefulset.yaml")
    wrong["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_every_manifest_is_applied_and_selects_the_workers(kustomization: Any, workers: Any) -> None:
    assert sorted(kustomization["resources"]) == MANIFESTS
    labels = workers["template"]["metadata"]["labels"]
    by_labels = {"matchLabels": labels}
    assert workers["selector"] == by_labels
    assert workers["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"] == by_labels
    assert read("poddisruptionbudget.yaml")["spec"]["selector"] == by_labels
    assert read("networkpolicy.yaml")["spec"]["podSelector"] == by_labels
    service = read("service.yaml")
    assert service["spec"]["selector"] == labels
    assert workers["serviceName"] == service["metadata"]["name"]


def test_every_manifest_of_the_console_is_applied_and_selects_its_one_pod() -> None:
    assert {f"console/{name}" for name in read("console/kustomization.yaml")["resources"]} == {*CONSOLE}
    console = read("console/statefulset.yaml")["spec"]
    labels = console["template"]["metadata"]["labels"]
    assert console["replicas"] == 1, "its file has one writer"
    assert console["selector"] == read("console/networkpolicy.yaml")["spec"]["podSelector"] == {"matchLabels": labels}
    assert labels != read("statefulset.yaml")["spec"]["template"]["metadata"]["labels"]
    pages, office = read("console/service.yaml"), read("console/office-service.yaml")
    assert pages["spec"]["selector"] == office["spec"]["selector"] == labels
    assert console["serviceName"] == office["metadata"]["name"]
    ports = {port["name"] for port in console["template"]["spec"]["containers"][0]["ports"]}
    assert {pages["spec"]["ports"][0]["targetPort"], office["spec"]["ports"][0]["targetPort"]} == ports
    monitoring = read("console/networkpolicy.yaml")["spec"]["ingress"][1]
    assert monitoring["ports"] == [{"port": "office"}]


def settings_of(kustomization: Any, container: Any) -> Mapping[str, str]:
    [generated] = kustomization["configMapGenerator"]
    own = dict(literal.split("=", 1) for literal in generated["literals"])
    given = {variable["name"]: variable.get("value", "onward-0") for variable in container["env"]}
    assert container["envFrom"][0]["configMapRef"]["name"] == generated["name"]
    return {name: value for name, value in {**own, **given}.items() if name.startswith("ONWARD_")}


def test_the_variables_are_settings_of_a_worker(
    kustomization: Any, container: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = settings_of(kustomization, container)
    assert variables.keys() <= {f"ONWARD_{name.upper()}" for name in WorkerSettings.names()}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = WorkerSettings()  # type: ignore[call-arg]  # they are in the environment
    assert settings.group_instance_id == "onward-0"
    mounts = {PurePosixPath(mount["mountPath"]) for mount in container["volumeMounts"]}
    for path in (settings.state_dir, *settings.spec):
        assert mounts & set(PurePosixPath(path).parents), path
    [port] = container["ports"]
    assert port["containerPort"] == settings.web_port == read("service.yaml")["spec"]["ports"][0]["port"]
    assert settings.web_host == "0.0.0.0", "the probes call it"


def test_the_probes_ask_pages_that_there_are(container: Any) -> None:
    app = make_app(Metrics(), lambda: Readiness(True))
    pages = {resource.canonical for resource in app.router.resources()}
    names = {port["name"] for port in container["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in pages
        assert asked["port"] in names


def test_a_worker_has_the_time_to_end_and_to_come_back(kustomization: Any, pod: Any, container: Any) -> None:
    longest = STOP_SECONDS + LAST_SECONDS + CLOSE_SECONDS + GRACE_SECONDS
    assert pod["terminationGracePeriodSeconds"] > longest
    variables = settings_of(kustomization, container)
    assert 20 <= float(variables["ONWARD_SESSION_TIMEOUT_SECONDS"]) <= 30


@pytest.mark.parametrize("folder", ["", "console/"])
def test_a_pod_is_the_user_of_the_image_and_may_write_to_its_volumes_only(folder: str) -> None:
    spec = read(f"{folder}statefulset.yaml")["spec"]
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    [uid] = re.findall(r"--uid (\d+)", (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8"))
    assert pod["securityContext"]["runAsUser"] == int(uid)
    assert pod["securityContext"]["runAsNonRoot"]
    own = container["securityContext"]
    assert own["readOnlyRootFilesystem"]
    assert own["capabilities"] == {"drop": ["ALL"]}
    assert not own["allowPrivilegeEscalation"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["resources"]["limits"].keys() == {"memory", "ephemeral-storage"}
    assert read(f"{folder}networkpolicy.yaml")["spec"]["policyTypes"] == ["Ingress", "Egress"]
    claims = {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == claims | {own["name"] for own in pod["volumes"]}


def test_the_variables_are_settings_of_a_console_whose_office_asks_who_somebody_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [container] = read("console/statefulset.yaml")["spec"]["template"]["spec"]["containers"]
    variables = settings_of(read("console/kustomization.yaml"), container)
    assert variables.keys() <= {f"ONWARD_{name.upper()}" for name in ServeSettings.names()}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = ServeSettings()  # type: ignore[call-arg]  # they are in the environment
    assert settings.auth_jwks is not None
    mounts = {PurePosixPath(mount["mountPath"]) for mount in container["volumeMounts"]}
    for path in (settings.state_dir, *settings.spec):
        assert mounts & set(PurePosixPath(path).parents), path
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"pages": settings.port, "office": settings.office_port}
    assert read("console/office-service.yaml")["spec"]["ports"][0]["port"] == settings.office_port


def test_the_probes_of_a_console_ask_what_it_serves_whether_or_not_kafka_is_there() -> None:
    [container] = read("console/statefulset.yaml")["spec"]["template"]["spec"]["containers"]
    served = {resource.canonical for resource in make_site(web.RouteTableDef(), no_page, None).router.resources()}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in served
        assert asked["port"] == "pages"


def no_page(_: web.Request, status: int) -> web.StreamResponse:
    return web.Response(status=status)


@pytest.mark.parametrize(
    ("name", "folder", "known"),
    [("operations.md", "", WorkerSettings), ("how-to/serve-the-console.md", "console/", ServeSettings)],
)
def test_the_folder_that_a_page_shows_fits(name: str, folder: str, known: type[Settings]) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    [shown] = [
        block for block in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "resources" in block
    ]
    pod = read(f"{folder}statefulset.yaml")["spec"]["template"]["spec"]
    own = YAML(typ="safe").load(shown)
    settings, specs, *words = own["configMapGenerator"]
    assert settings["name"] == read(f"{folder}kustomization.yaml")["configMapGenerator"][0]["name"]
    assert settings["behavior"] == "merge"
    given = dict(literal.split("=", 1) for literal in settings["literals"])
    assert given.keys() <= {f"ONWARD_{name.upper()}" for name in known.names()}
    mounted = {volume.get("configMap", {}).get("name") for volume in pod["volumes"]}
    assert {specs["name"], *(one["name"] for one in words)} <= mounted
    files = {f"/etc/onward/specs/{Path(file).name}" for file in specs["files"]}
    assert set(given["ONWARD_SPEC"].split(",")) == files
    assert [image["name"] for image in own["images"]] == [container["image"] for container in pod["containers"]]
