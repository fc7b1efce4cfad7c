"""What a person needs to know once everything runs."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from controlplane.identity.openstack.clouds_yaml import CLOUD, FILE_NAME, clouds_yaml
from controlplane.identity.services import AdminBootstrap
from controlplane.launcher.seed import SeedImage

NO_HYPERVISOR = "No hypervisor runs here. docs/hypervisor.md says how one comes."


@dataclass(frozen=True, slots=True)
class Welcome:
    """Address, login, and the commands that create a first VM."""

    port: int
    admin: AdminBootstrap
    image: SeedImage | None
    flavor: str = "m1.nano"
    password_file: Path | None = None
    hypervisors: int = 1
    state_dir: Path | None = None

    @property
    def address(self) -> str:
        """Where the pages are."""
        return f"http://127.0.0.1:{self.port}/"

    def lines(self) -> list[str]:
        """The whole text, ready to be pasted from."""
        return [
            "",
            f"Kilonova runs at {self.address}",
            f"  log in as       admin, password {self.password_text()}",
            f"  API and docs    {self.address}api/docs/",
            *self._openstack(),
            "",
            *(self._first_vm() if self.hypervisors else [NO_HYPERVISOR]),
            "",
            "Ctrl-C stops everything but guests, which the next start finds again. `make down` stops guests, too.",
        ]

    def clouds_yaml(self) -> str:
        """For OpenStack's clients on this machine: admin, in the first project."""
        return clouds_yaml(base=self.address.rstrip("/"), username="admin", project="demo")

    def _openstack(self) -> list[str]:
        if self.state_dir is None:
            return []
        file = shlex.quote(str(self.state_dir / FILE_NAME))
        return [f"  openstack CLI   OS_CLIENT_CONFIG_FILE={file} openstack --os-cloud {CLOUD} server list"]

    def _first_vm(self) -> list[str]:
        return [
            "Create a VM:",
            "",
            f"  {self.token_command()}",
            f"  {self.create_command()}",
            "",
            "and see it come up on its page, or with",
            "",
            f"  curl -s -H \"X-Auth-Token: $TOKEN\" '{self.address}api/instances/?name=first'",
        ]

    def password_text(self) -> str:
        """The password when it was made now: it is stored as a hash only."""
        if self.password_file is not None and self.password_file.exists():
            return f"in {self.password_file}"
        if self.admin.created and self.admin.password:
            return self.admin.password
        return "as told by the first start (new one: manage.py changepassword admin)"

    def token_command(self) -> str:
        """Shell that puts an API token into TOKEN. It asks for the password: a shell keeps what is pasted."""
        has_file = self.password_file is not None and self.password_file.exists()
        password = f"open({str(self.password_file)!r}).readline().strip()" if has_file else "getpass.getpass()"
        ask = f"import getpass,json; print(json.dumps({{'username': 'admin', 'password': {password}}}))"
        read = "import json,sys; print(json.load(sys.stdin)['token'])"
        send = f"curl -s {self.address}api/tokens/ --json @-"
        return f"TOKEN=$(python3 -c {shlex.quote(ask)} | {send} | python3 -c {shlex.quote(read)})"

    def create_command(self) -> str:
        """Shell that creates a VM."""
        image = self.image.name if self.image else ""
        body = shlex.quote(json.dumps({"name": "first", "flavor": self.flavor, "image": image}))
        return f'curl -s -H "X-Auth-Token: $TOKEN" {self.address}api/instances/ --json {body}'
