"""What a notebook shows of clusters, jobs and results."""

from __future__ import annotations

from html.parser import HTMLParser

from kubeflink import Job, JobOutcome, SessionCluster, sync
from kubeflink.cluster import display
from kubeflink.cluster.description import ClusterDescription, ClusterSummary, PodSummary
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.cluster.remote import RemoteCluster
from kubeflink.rest.models import JobSummary

JOB = "0123456789abcdef0123456789abcdef"


class Text(HTMLParser):
    """The text of a page, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shown(value: object) -> list[str]:
    return Text(value._repr_html_()).words  # type: ignore[attr-defined]


def test_clusters_and_jobs_show_what_they_are() -> None:
    cluster = RemoteCluster("example.com", 8081)
    faces = (cluster, sync.SessionCluster(cluster))

    assert all(shown(face) == ["RemoteCluster example.com:8081"] for face in faces)
    assert shown(Job(cluster, JOB)) == [f"Job {JOB}", "cluster", "example.com:8081"]
    assert shown(sync.Job(Job(cluster, JOB))) == shown(Job(cluster, JOB))
    assert isinstance(cluster, SessionCluster)


def test_an_outcome_shows_its_cause_and_nothing_that_it_has_not() -> None:
    failed = JobOutcome(JOB, "count", "FAILED", 1500, "IOException: disk <full>")
    finished = JobOutcome(JOB, "count", "FINISHED", 1500)

    assert shown(failed) == [
        *("Job count", "id", JOB, "state", "FAILED", "duration", "1.5 s"),
        *("cause", "IOException: disk <full>"),
    ]
    assert "cause" not in shown(finished)


def test_a_description_shows_pods_jobs_and_troubles() -> None:
    summary = ClusterSummary("demo", "default", "session", "flink:2.3", None, 1, 1, 0)
    trouble = Diagnosis("pending", "No node has room for pod demo-1", "Ask for less memory")
    words = shown(
        ClusterDescription(
            summary,
            None,
            (PodSummary("demo-1", "jobmanager", "Pending", None, 2, trouble),),
            (trouble,),
            None,
            (JobSummary(JOB, "count", "RUNNING"),),
        )
    )

    assert {"Cluster demo", "Ready", "demo-1", "2", JOB, "RUNNING"} <= set(words)
    assert {trouble.sentence, trouble.hint} <= set(words)


def test_whatever_a_value_is_it_cannot_become_markup() -> None:
    words = Text(display.card("<b>", {"<i>": "<script>"})).words

    assert words == ["<b>", "<i>", "<script>"]
