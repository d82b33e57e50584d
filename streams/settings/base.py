"""What the settings of all commands share, and those of the connection to Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from .fields import Names, upper

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class Settings(BaseSettings):
    """The settings of a command."""

    model_config = SettingsConfigDict(
        env_prefix="ONWARD_",
        env_prefix_target="all",
        env_ignore_empty=True,
        cli_avoid_json=True,
        cli_exit_on_error=False,
        cli_hide_none_type=True,
        cli_implicit_flags=True,
        cli_kebab_case=True,
        cli_show_env_vars=True,
        frozen=True,
        allow_inf_nan=False,
    )

    has_variables: ClassVar[bool] = True

    @classmethod
    def names(cls) -> dict[str, FieldInfo]:
        """Every setting by the name that its flag and its variable are made of."""
        return {str(field.validation_alias or name): field for name, field in cls.model_fields.items()}


class FlagSettings(Settings):
    """The settings of a command that works on files: it has flags alone.

    The variables of a worker's machine say nothing of what somebody trains, drafts or checks there.
    """

    model_config = SettingsConfigDict(cli_show_env_vars=False)
    has_variables: ClassVar[bool] = False

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, which come before, and what code gives."""
        return (init_settings,)


class BrokerSettings(Settings):
    """The connection to Kafka, and the prefix of the topics."""

    brokers: Names = Field(min_length=1, description="Kafka brokers, HOST:PORT, comma separated.")
    topic_prefix: str = Field(
        "",
        pattern=r"^[a-zA-Z0-9._-]{0,100}$",
        description="Prefix of every topic name; separates installations on one Kafka.",
    )
    security_protocol: Annotated[SecurityProtocol, BeforeValidator(upper)] = Field(
        "PLAINTEXT", description="Security protocol of the broker connections."
    )
    sasl_mechanism: Annotated[SaslMechanism, BeforeValidator(upper)] | None = Field(
        None, description="SASL mechanism; needed with a SASL_... protocol."
    )
    sasl_username: str | None = Field(None, description="User to log in as.")
    sasl_password: SecretStr | None = Field(
        None, description="Its password. Prefer the variable: a flag is visible in the process list."
    )
    ssl_cafile: Path | None = Field(None, description="CA certificates (PEM) to trust; the system's when absent.")
    ssl_certfile: Path | None = Field(None, description="Client certificate (PEM), for mutual TLS.")
    ssl_keyfile: Path | None = Field(None, description="Key of the client certificate (PEM).")
    ssl_keyfile_password: SecretStr | None = Field(None, description="Password of that key, when it has one.")

    @model_validator(mode="after")
    def _security_is_complete(self) -> Self:
        sasl = (self.sasl_mechanism, self.sasl_username, self.sasl_password)
        if self.security_protocol.startswith("SASL_") and None in sasl:
            raise ValueError(
                f"security_protocol {self.security_protocol} needs sasl_mechanism, sasl_username and sasl_password"
            )
        if not self.security_protocol.startswith("SASL_") and sasl != (None, None, None):
            raise ValueError(
                f"sasl_... settings are given, but security_protocol {self.security_protocol} does not log in: "
                "use SASL_SSL or SASL_PLAINTEXT"
            )
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("ssl_certfile and ssl_keyfile belong together: give both or none")
        for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
            path: Path | None = getattr(self, name)
            if path is not None and not path.is_file():
                raise ValueError(f"{name} {path} is not a file")
        return self
