"""Environment variables with entries of Secrets (EnvSecretsDecorator)."""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.errors import ConfigurationError
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.decorators.init_pod import unknown_fields
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod, variable_from_secret

_FIELDS = ("env", "secret", "key")


class EnvSecrets(Decorator[Parameters]):
    """`kubernetes.env.secretKeyRef`: the value never stands in a configuration file."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        for entry in self.parameters.env_secrets:
            missing = [name for name in _FIELDS if not entry.get(name)]
            if missing:
                shown = ",".join(f"{name}:{value}" for name, value in entry.items())
                key = kubernetes.ENV_SECRET_KEY_REF.key
                raise ConfigurationError(
                    f"{key}: {shown!r} has no {' and no '.join(missing)}",
                    option=key,
                    origin=self.parameters.configuration.origin(key),
                    hint="Each entry has the form env:NAME,secret:SECRET,key:KEY.",
                )
            pod = pod.note(*unknown_fields("variable from a Secret", entry, _FIELDS))
            pod = pod.add_env(variable_from_secret(entry["env"], entry["secret"], entry["key"]))
        return pod
