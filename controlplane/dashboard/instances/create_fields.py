"""The fields of the create form that are the same for everybody, and the parts of the page in which they stand."""

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.dashboard.pairs_field import PairsField
from servers.instances.domain.instance_rules import BEST_EFFORT, METADATA_MAX_ITEMS


class InstanceFields(forms.Form):
    """What a person fills in. Disks, interfaces and files have modules of their own."""

    MAIN = ("name", "flavor", "image", "min_count", "availability_zone")
    MORE = (
        *("networks", "security_groups", "key_name", "group", "hints", "tags", "metadata", "max_count", "batch"),
        "protected",
    )
    # Of ADVANCED, those that become part of another argument.
    NO_ARGUMENTS = ("without_config_drive", "force")
    NEW_KEY = ("new_key_name", "new_public_key")
    USER_DATA = ("user_data", "user_data_as_is")
    ADVANCED = (
        "description",
        "hostname",
        "admin_pass",
        "access_ip_v4",
        "access_ip_v6",
        "disk_config",
        "without_config_drive",
        "trusted_image_certificates",
        "host",
        "hypervisor_hostname",
        "force",
    )
    FOR_ADMINS = ("host", "hypervisor_hostname", "force")

    name = forms.CharField(
        label=_("Name"), help_text=_("Up to 255 characters. Several instances get -1, -2, ... appended."), strip=False
    )
    flavor = forms.ChoiceField(label=_("Flavor"), help_text=_("How many vCPUs, how much memory and disk."))
    image = forms.ChoiceField(label=_("Image"), help_text=_("What it boots from."))
    min_count = forms.IntegerField(
        label=_("How many"),
        initial=1,
        help_text=_("All of them, or none if they do not fit."),
        widget=forms.NumberInput(attrs={"min": 1, "class": "short"}),
    )
    networks = forms.MultipleChoiceField(
        label=_("Networks"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("A network card in each. None marked: the default network, or the only one that there is."),
    )
    security_groups = forms.MultipleChoiceField(
        label=_("Security groups"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Who may reach it. None marked: the project's default group."),
    )
    availability_zone = forms.ChoiceField(label=_("Availability zone"), required=False)
    key_name = forms.ChoiceField(label=_("Key pair"), required=False)
    new_key_name = forms.CharField(label=_("Name of the new key pair"), required=False, strip=False)
    new_public_key = forms.CharField(
        label=_("Its public key"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_("One line, as ~/.ssh/id_ed25519.pub has it. Leave it empty to have a pair made here."),
    )
    group = forms.ChoiceField(label=_("Server group"), required=False)
    hints = PairsField(
        label=_("Scheduler hints"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_(
            "One key = value a line. same_host and different_host take ids of instances, separated by commas; "
            "query and build_near_host_ip, and what plug-ins read, are taken as they are."
        ),
    )
    user_data = forms.CharField(
        label=_("User data"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "class": "mono code", "spellcheck": "false", "wrap": "off"}),
        help_text=_("A script (#!/bin/sh) or a #cloud-config, as plain text. It is checked as you type."),
    )
    user_data_as_is = forms.BooleanField(label=_("Send it as it is, whatever the check says"), required=False)
    tags = forms.CharField(label=_("Tags"), required=False, help_text=_("Words separated by commas."))
    metadata = forms.CharField(
        label=_("Metadata"),
        required=False,
        max_length=METADATA_MAX_ITEMS * 512,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_("One key = value on each line."),
    )
    max_count = forms.IntegerField(
        label=_("At most"),
        required=False,
        help_text=_("As many as the quota allows, up to this number. Empty: as many as “How many” says, or none."),
        widget=forms.NumberInput(attrs={"min": 1, "class": "short"}),
    )
    batch = forms.ChoiceField(
        label=_("If not all of them find a host"),
        required=False,
        choices=[
            ("", _("none is created (all_or_nothing)")),
            (BEST_EFFORT, _("those that find one are created, at least “How many” (best_effort)")),
        ],
    )
    protected = forms.BooleanField(
        label=_("Protected"), required=False, help_text=_("On: nobody deletes it until this is off.")
    )
    description = forms.CharField(label=_("Description"), required=False, max_length=255)
    hostname = forms.CharField(
        label=_("Host name"),
        required=False,
        help_text=_("What the guest calls itself, of a single instance. Made from the name if empty."),
    )
    admin_pass = forms.CharField(
        label=_("Administrator's password"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("The guest finds it on its config drive. Kept encrypted, and forgotten once the guest runs."),
    )
    access_ip_v4 = forms.CharField(
        label=_("Access address, IPv4"), required=False, help_text=_("Where you say it is reached.")
    )
    access_ip_v6 = forms.CharField(label=_("Access address, IPv6"), required=False)
    disk_config = forms.ChoiceField(
        label=_("Root partition"),
        required=False,
        choices=[
            ("", _("as the image does")),
            ("AUTO", _("the guest grows it to the disk (AUTO)")),
            ("MANUAL", _("the guest leaves it (MANUAL)")),
        ],
    )
    without_config_drive = forms.BooleanField(
        label=_("No config drive"),
        required=False,
        help_text=_(
            "Then the guest gets no password, and key and user data from its network's metadata service alone."
        ),
    )
    trusted_image_certificates = forms.MultipleChoiceField(
        label=_("Trusted certificates"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The image must be signed by one of these, or by one that they signed. None marked: as installed."),
    )
    host = forms.CharField(
        label=_("Requested host"),
        required=False,
        help_text=_("The only host that comes into question. It passes all filters, unlike one that is forced."),
    )
    hypervisor_hostname = forms.CharField(
        label=_("Requested node"),
        required=False,
        help_text=_("The same by the name of its hypervisor (hypervisor_hostname)."),
    )
    force = forms.CharField(
        label=_("Forced host"),
        required=False,
        help_text=_("host, host:node or :node. No filter is asked."),
    )
