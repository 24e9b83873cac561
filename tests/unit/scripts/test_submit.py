"""What spark-submit.sh and the image's entrypoint would run, as tests/golden/outputs/submit.txt has it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest

from builders.submit_commands import make_repo
from entrypoint import command_for
from spark_options import OptionError, split_options
from submit import Command, build_command
from tools.golden_output import expect

REPO = Path(__file__).resolve().parents[3]
YARN = "--properties-file conf/yarn.conf --principal sync@R --keytab /k/sync.keytab --files dc1.password --conf my.yaml"
KUBERNETES = "--master k8s://https://h:6443 --properties-file conf/kubernetes/spark-submit.conf"
IN_POD = "/etc/offset-sync/conf/offset-sync.yaml"
UPLOAD = "--conf spark.kubernetes.file.upload.path=s3a://b/u"
GIVEN, SHOWN, JARS = "{repo}/given.conf", "--conf spark.ui.enabled=true", "--jars x.jar --py-files y.zip,z/z.py"
DRIVER = "spark.driver.extraJavaOptions"
# As Spark 4.2 calls the image: DriverCommandFeatureStep and BasicExecutorFeatureStep.
OF_EXECUTOR = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@d:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "exec-3",
    "SPARK_EXECUTOR_MEMORY": "2048m",
    "SPARK_JAVA_OPT_10": "-Dten=1",
    "SPARK_JAVA_OPT_2": "-Dtwo=a b",
    "SPARK_HOME": "/opt/offset-sync/spark",
    "JAVA_HOME": "/opt/java",
}
OF_DRIVER = {"SPARK_HOME": "/opt/spark", "SPARK_CONF_DIR": "{repo}/mounted", "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.2"}
CLASS = "driver --properties-file {repo}/mounted/spark.properties --class org.apache.spark.deploy.PythonRunner"
Case = tuple[str, str, str, Mapping[str, str]]
"""A title, the job, its words, and the environment."""
CASES: list[Case] = [
    ("on this machine, without a web page", "sync_offsets", "--conf two.yaml --once", {}),
    ("what the user sets wins over every default", "sync_offsets", f"{SHOWN} --master local[1] --name mine", {}),
    ("a properties file does not switch our defaults off", "sync_offsets", f"--properties-file {GIVEN}", {}),
    (
        "jars and Python files are added to ours",
        "sync_offsets",
        f"{JARS} --py-files y.zip,z/z.py",
        {"PYTHONPATH": "/p"},
    ),
    ("run starts each driver by its own name", "run", "--conf 'my file.yaml' --master local[2] --name x", {}),
    ("the user's options of the driver's JVM", "index_records", f"--conf {DRIVER}=-Dx", {}),
    ("YARN in cluster mode, as the recipe says", "sync_offsets", YARN, {}),
    ("Kubernetes, as the recipe says", "sync_offsets", f"{KUBERNETES} --conf {IN_POD} --dry-run", {}),
    (
        "what the user adds goes along to the image, and the pod has another name",
        "sync_offsets",
        f"{KUBERNETES} --jars local:///x.jar --conf spark.kubernetes.driver.pod.name=mine --conf {IN_POD}",
        {},
    ),
    ("Kubernetes takes all from here", "sync_offsets", f"{KUBERNETES} {UPLOAD} --conf my.yaml", {}),
    ("in the image: a job", "", "sync_offsets --once", {}),
    (
        "in the image: a driver is no child of the JVM",
        "",
        f'{CLASS} local://{{repo}}/jobs/sync_offsets.py --conf /etc/x.yaml --dry-run --name "job\'s"',
        OF_DRIVER,
    ),
    ("in the image: a script from elsewhere", "", f"{CLASS} s3a://b/upload-1/sync_offsets.py --conf x.yaml", OF_DRIVER),
    ("in the image: an executor", "", "executor", OF_EXECUTOR),
]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in a folder whose name has a blank, with what Kubernetes mounts beside it; the project is here."""
    made = make_repo(tmp_path / "a repo")
    for name in ("jobs/run.py", "jobs/index_records.py"):
        (made / name).write_text('"""Do it."""\n')
    shutil.copytree(REPO / "conf", made / "conf")
    (made / "given.conf").write_text("spark.master=yarn\n")
    properties = "spark.master=k8s\\://https\\://10.0.0.1\\:443\nspark.app.name=offset-sync-sync-offsets\n"
    (made / "mounted").mkdir()
    (made / "mounted" / "spark.properties").write_text(properties)
    monkeypatch.chdir(REPO)
    return made


def build(repo: Path, case: Case) -> Command:
    _, job, text, given = case
    words = [word.replace("{repo}", str(repo)) for word in shlex.split(text)]
    environ = {name: value.replace("{repo}", str(repo)) for name, value in given.items()}
    return build_command(repo, job, split_options(words), environ) if job else command_for(repo, words, environ)


def test_the_commands_are_those_of_the_golden_file(repo: Path) -> None:
    lines = list[str]()
    for case in CASES:
        built = build(repo, case)
        told = [shlex.join(built.words), *(f"  {name}={value}" for name, value in built.environment.items())]
        lines += [f"\n# {case[0]}", *told]
    text = "\n".join(lines)
    places = {"spark": Path(pyspark.__file__).parent, "repo": repo, "python": sys.executable}
    for name, place in (places | {"bin": Path(sys.executable).parent, "here": REPO}).items():
        text = text.replace(str(place), f"{{{name}}}")
    expect("submit.txt", text.lstrip())


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (("", "sync_offsets", "--once --master", {}), "--master: its value is missing"),
        (("", "sync_offsets", "--properties-file absent.conf", {}), r"absent\.conf"),
        (("", "run", "--deploy-mode cluster", {}), "start each by its name"),
        (("", "sync_offsets", f"{KUBERNETES} --conf my.yaml", {}), r"my\.yaml: on Kubernetes this is a file in the"),
        (("", "", "executor", {}), "not set"),
    ],
)
def test_what_cannot_be_started_is_refused_with_the_remedy(repo: Path, case: Case, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        build(repo, case)
