"""otolith sweep --emit slurm on a real slurmctld with two slurmd on loopback, one of which is killed in the middle.

The test starts munged, slurmctld and slurmd itself, with their configuration, state and logs in a temporary folder. It exits with
77 where Slurm or munge is not installed.
"""
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from otolith_case import PATIENCE_S, OtolithCase, free_ports  # noqa: E402

PROGRAMS = {name: shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
            for name in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo")}

CONFIGURATION = """
ClusterName=otolith
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,sched_min_interval=0
SlurmdTimeout=5
KillWait=2
ReturnToService=2
JobRequeue=1
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={port1} CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={port2} CPUs=1 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""

SPEC = f"""
sweep: on a cluster
world: {SOURCE}/configs/worlds/city_drive.yaml
duration_s: 60
seeds: {{first: 10, count: 80}}
vary: {{vehicles.car.nodes.imu.params.gyroscope.noise_density_rad_s_rthz: [1e-4, 1e-3, 1e-2, 3e-2]}}
metrics:
  - {{channel: car/imu, field: angular_velocity.z, compute: [mean, std, p95]}}
  - {{python: held.py, function: held, channels: [car/imu], columns: [held]}}
"""
# Holds the second half of each of the eight shards until the file GO is there, so that none is over before its node is killed.
HELD = """
import os
import time


def held(records, run):
    while run.run % 40 >= 20 and not os.path.exists("GO"):
        time.sleep(0.01)
    return 0
"""


class SweepOnSlurm(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.started = {}
        self.addCleanup(self.stop_cluster)
        self.path.chmod(0o755)  # munge's clients must reach its socket
        port, port1, port2 = free_ports(3)
        (self.path / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.path, host=socket.gethostname().split(".")[0], user=getpass.getuser(), port=port, port1=port1, port2=port2))
        (self.path / "state").mkdir()
        key = self.path / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.environment.update(SLURM_CONF=str(self.path / "slurm.conf"))
        self.environment.pop("TMPDIR")
        self.start("munged", "--foreground", "--force", f"--socket={self.path}/munge.socket", f"--key-file={key}",
                   f"--pid-file={self.path}/munged.pid", f"--log-file={self.path}/munged.log", f"--seed-file={self.path}/munge.seed")
        self.until(lambda: (self.path / "munge.socket").exists(), "munged")
        self.start("slurmctld", "-D", "-i", "-f", self.path / "slurm.conf")
        for node in ("n1", "n2"):
            (self.path / f"spool.{node}").mkdir()
            self.start("slurmd", "-D", "-N", node, "-f", self.path / "slurm.conf", name=node)
        self.until(lambda: self.slurm("sinfo", "-h", "-o", "%t %D") == "idle 2", "two idle nodes")

    def start(self, program, *arguments, name=None):
        log = open(self.path / f"{name or program}.out", "w")
        self.started[name or program] = subprocess.Popen([PROGRAMS[program], *map(str, arguments)], env=self.environment, stdout=log,
                                                         stderr=log, stdin=subprocess.DEVNULL)
        log.close()

    def job_processes(self, job=None):
        """Processes of jobs of this cluster, which have its configuration in their environment: slurmstepd first, then the tasks."""
        mine, steps, tasks = f"SLURM_CONF={self.path}/slurm.conf".encode(), [], []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if mine not in words:  # a job of another cluster, perhaps of this user's work
                continue
            if b"slurmstepd" in command and (job is None or f"[{job}.".encode() in command):
                steps.append(int(entry.name))
            elif any(word.startswith(b"SLURM_JOB_ID=") and job in (None, word.split(b"=")[1].decode()) for word in words):
                tasks.append(int(entry.name))
        return steps + tasks

    def kill_jobs(self, job=None):
        for process in self.job_processes(job):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def stop_cluster(self):
        for name in ("n1", "n2", "slurmctld"):
            if name in self.started:
                self.started[name].terminate()
        self.kill_jobs()
        for name in ("n1", "n2", "slurmctld", "munged"):
            if name in self.started:
                self.started[name].terminate()
                try:
                    self.started[name].wait(timeout=20)
                except subprocess.TimeoutExpired:
                    self.started[name].kill()
                    self.started[name].wait()

    def slurm(self, program, *arguments):
        done = subprocess.run([PROGRAMS[program], *arguments], env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()

    def logs(self):
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in sorted(self.path.glob("*.log"))) + \
            "\n".join(path.read_text() for path in sorted((self.path / "cluster").glob("*.log")))

    def journals(self):
        return {path.parent.name: path.read_bytes().count(b"\n") for path in (self.path / "cluster").glob("journal/*/*.rows")}

    def task_of(self, node):
        """The shard that a node works on, for example "3_of_8", or None."""
        task = self.slurm("squeue", "-h", "-r", "-t", "R", "-w", node, "-o", "%K")
        return f"{task}_of_8" if task.isdigit() else None

    def hurry(self):
        """A requeued task waits two minutes for its old node; this one is dead."""
        for line in self.slurm("squeue", "-h", "-r", "-t", "PD", "-o", "%i %r").splitlines():
            if line.endswith("BeginTime"):
                self.slurm("scontrol", "update", f"JobId={line.split()[0]}", "StartTime=now")
        return self.slurm("squeue", "-h") == ""

    def test_a_sweep_on_two_nodes_survives_the_death_of_one(self):
        spec, go = self.path / "spec.yaml", self.path / "go"
        spec.write_text(SPEC)
        (self.path / "held.py").write_text(HELD.replace("GO", str(go)))
        go.touch()
        self.otolith("sweep", spec, "--out", self.path / "local")
        go.unlink()
        script = self.path / "sweep.sh"
        script.write_text(self.otolith("sweep", spec, "--out", self.path / "cluster", "--emit", "slurm", "--tasks", 8))
        script.chmod(0o755)
        done = subprocess.run(["bash", script], env=dict(self.environment, PATH=f"{os.environ['PATH']}:/usr/bin"), capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)

        def in_the_middle():
            shard = self.task_of("n1")
            return shard is not None and self.journals().get(shard, 0) >= 5
        self.until(in_the_middle, "rows of a task on n1")
        shard, job = self.task_of("n1"), self.slurm("squeue", "-h", "-r", "-t", "R", "-w", "n1", "-o", "%A")
        self.started["n1"].kill()
        self.started["n1"].wait()
        self.kill_jobs(job)
        go.touch()
        try:
            self.until(self.hurry, "the end of all jobs", patience_s=300)
        except AssertionError as error:
            state = self.slurm("squeue", "-r", "-o", "%i %t %r %N %S") + "\n" + self.slurm("sinfo", "-R", "-N", "-o", "%N %t %E")
            raise AssertionError(f"{error}\n{state}\n{self.logs()}") from None
        result = self.path / "cluster" / "result.csv"
        self.assertTrue(result.exists(), self.logs())
        self.assertEqual(result.read_bytes(), (self.path / "local" / "result.csv").read_bytes())
        self.assertEqual((self.path / "cluster" / "summary.csv").read_bytes(), (self.path / "local" / "summary.csv").read_bytes())
        started = [path for path in (self.path / "cluster" / "journal" / shard).iterdir()]
        self.assertGreaterEqual(len(started), 2, "the killed task was started again")


if __name__ == "__main__":
    missing = [name for name, path in PROGRAMS.items() if path is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed (packages munge, slurmctld, slurmd, slurm-client)")
        sys.exit(77)
    unittest.main()
