"""Assembling programs from their specs and first models, and loading the models that are announced to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from ...schemas.events import Model
from ...schemas.spec import ProgramSpec
from ...schemas.specfile import LoadedSpec
from ..errors import ModelError, UsageError
from .bundle.loader import ModelBundle, load_bundle, read_manifest
from .bundle.manifest import Manifest
from .encoding import codec_of
from .model_fit import Asked, ModelFacts, misfit
from .objective import nu_of
from .program import Program, cost_of
from .spec_check import policy_faults


def check_fits(bundle: ModelBundle, spec: ProgramSpec, manifest: str) -> None:
    """Raise ``ModelError`` where a model of a program does not fit its spec."""
    if fault := misfit(ModelFacts.from_bundle(bundle), spec):
        raise ModelError(f"{manifest}: {fault}")


def check_model(bundle: ModelBundle, model: Model, spec: ProgramSpec) -> None:
    """Raise ``ModelError`` when a bundle does not fit the spec, or is of another version or program than its event."""
    check_fits(bundle, spec, model.manifest)
    if bundle.version != model.version:
        raise ModelError(f"{model.manifest}: its version is {bundle.version!r}, the event says {model.version!r}")
    check_identity(bundle.manifest, model.program, model.manifest)


def check_identity(manifest: Manifest, program: str, address: str) -> None:
    """Raise ``ModelError`` when a manifest is of another program, or its version cannot be printed."""
    if manifest.program != program:
        raise ModelError(
            f"{address}: it was trained for program {manifest.program}: train or import it with the spec of {program}"
        )
    if not manifest.version.isprintable():
        raise ModelError(f"{address}: its version {manifest.version!a} cannot be printed: train or import it again")


def assemble(loaded: LoadedSpec, *, has_begun: bool = False) -> Program:
    """Build a program from its spec and first model; raise ``UsageError`` or ``ModelError`` when they do not fit.

    A spec under which the program ``has_begun`` is not asked what its model may read, nor what people may be shown:
    what was answered stays.
    """
    spec = loaded.spec
    for _, fault in policy_faults(spec):
        raise UsageError(f"{loaded.path}: {fault}")
    address = address_of(loaded)
    manifest, digest = _first_manifest(address, loaded)
    check_identity(manifest, spec.program, address)
    codec = codec_of(spec, manifest)
    bundle = load_bundle(address, sha256=digest, columns=codec.columns, codec=codec, redirects=True)
    check_first(ModelFacts.from_bundle(bundle), loaded, Asked.USE if has_begun else Asked.ALL)
    instances = tuple(bundle.instances[: spec.candidates])
    for number, problem in enumerate(map(codec.check, instances)):
        if problem is not None:
            raise UsageError(
                f"{loaded.path}: instance {number} of model {bundle.version} does not fit the spec: {problem.detail}"
            )
    points = codec.encode_many(instances)
    cost = cost_of(codec, bundle.reference)
    nu = nu_of(spec, codec.dimension)
    return Program(spec, codec, bundle, instances, points, cost, nu)


def assemble_all(specs: Sequence[LoadedSpec], *, has_begun: bool = False) -> Mapping[str, Program]:
    """Build every program of a worker; names must differ."""
    programs: dict[str, Program] = {}
    for loaded in specs:
        program = assemble(loaded, has_begun=has_begun)
        if program.name in programs:
            raise UsageError(f"{loaded.path}: program {program.name!r} is given twice; each needs its own name")
        programs[program.name] = program
    return programs


def check_first(facts: ModelFacts, loaded: LoadedSpec, asked: Asked = Asked.ALL) -> None:
    """Raise ``UsageError`` where a program's first model does not fit its spec, as far as it is known."""
    if fault := misfit(facts, loaded.spec, is_first=True, asked=asked):
        raise UsageError(f"{loaded.path}: {fault}")


def _first_manifest(address: str, loaded: LoadedSpec) -> tuple[Manifest, str]:
    try:
        return read_manifest(address, redirects=True)
    except ModelError as error:
        if "://" in address or Path(address).exists():
            raise
        command = f"onward train DATA.csv --spec {quote(str(loaded.path))} --output {quote(str(Path(address).parent))}"
        raise ModelError(f"{error}: train the model first, as in `{command}`") from None


def address_of(loaded: LoadedSpec) -> str:
    """The address of the manifest that a spec names."""
    manifest = loaded.spec.model.manifest
    if "://" in manifest or Path(manifest).is_absolute():
        return manifest
    return str(Path(loaded.path).parent / manifest)
