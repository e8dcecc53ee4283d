"""Pod templates: the user's file with a pod, on top of which Flink puts its own parts.

How such a file is read is told in `template_reader`, which is loaded only where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kubeflink.config import Notice
from kubeflink.objects import JsonObject


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """What a template says.

    `spec` has the containers but for the main one, which is `main_container`, empty where the
    template has none. `text` is the file as it is, for shipping. `contents` names what the template
    brings along, such as `volume data` or `label team`.
    """

    source: str
    text: str
    metadata: JsonObject = field(default_factory=dict)
    spec: JsonObject = field(default_factory=dict)
    main_container: JsonObject = field(default_factory=dict)
    contents: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
