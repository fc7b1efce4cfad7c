"""What answers of the Identity API hold."""

from typing import Literal, NotRequired, TypedDict

from controlplane.openstack.shapes import LinkJson, MediaType

NoOptions = dict[str, object]


class SelfLink(TypedDict):
    self: str


class ListLinks(TypedDict):
    """Every list is one page."""

    self: str
    next: None
    previous: None


class DomainName(TypedDict):
    id: str
    name: str


class DomainJson(TypedDict):
    """The only domain."""

    id: str
    name: str
    description: str
    enabled: bool
    tags: list[str]
    options: NoOptions
    links: SelfLink


class DomainShown(TypedDict):
    domain: DomainJson


class DomainsShown(TypedDict):
    domains: list[DomainJson]
    links: ListLinks


class ProjectJson(TypedDict):
    """A project, which is of the one domain, and below none."""

    id: str
    name: str
    domain_id: str
    description: str
    enabled: bool
    parent_id: str
    is_domain: bool
    tags: list[str]
    options: NoOptions
    links: SelfLink


class ProjectShown(TypedDict):
    project: ProjectJson


class ProjectsShown(TypedDict):
    projects: list[ProjectJson]
    links: ListLinks


class UserJson(TypedDict):
    id: str
    name: str
    domain_id: str
    enabled: bool
    email: str | None
    default_project_id: str | None
    password_expires_at: None
    options: NoOptions
    links: SelfLink


class UserShown(TypedDict):
    user: UserJson


class UsersShown(TypedDict):
    users: list[UserJson]
    links: ListLinks


class RoleJson(TypedDict):
    """A role, whose id is its name."""

    id: str
    name: str
    domain_id: None
    description: None
    options: NoOptions
    links: SelfLink


class RoleShown(TypedDict):
    role: RoleJson


class RolesShown(TypedDict):
    roles: list[RoleJson]
    links: ListLinks


class GroupJson(TypedDict):
    id: str
    name: str
    domain_id: str
    description: str
    links: SelfLink


class GroupShown(TypedDict):
    group: GroupJson


class GroupsShown(TypedDict):
    groups: list[GroupJson]
    links: ListLinks


class WholeSystem(TypedDict):
    all: Literal[True]


class NamedJson(TypedDict):
    """Names and domains where `include_names` asks for them."""

    id: str
    name: NotRequired[str]
    domain: NotRequired[DomainName]


class NamedRole(TypedDict):
    id: str
    name: NotRequired[str]


class AssignmentScope(TypedDict, total=False):
    """One of the two."""

    project: NamedJson
    system: WholeSystem


class AssignmentLinks(TypedDict):
    """`membership`: by which group an effective assignment comes."""

    assignment: str
    membership: NotRequired[str]


class RoleHolder(TypedDict, total=False):
    """One of the two."""

    user: NamedJson
    group: NamedJson


class AssignmentJson(RoleHolder):
    """Who has which role where."""

    role: NamedRole
    scope: AssignmentScope
    links: AssignmentLinks


class AssignmentsShown(TypedDict):
    role_assignments: list[AssignmentJson]
    links: ListLinks


class CredentialRole(TypedDict):
    id: str
    name: str
    domain_id: None


class CredentialJson(TypedDict):
    """An application credential, without its secret."""

    id: str
    name: str
    description: str | None
    user_id: str
    project_id: str
    system: None
    roles: list[CredentialRole]
    expires_at: str | None
    unrestricted: bool
    links: SelfLink


class NewCredentialJson(CredentialJson):
    """With its secret, which no later answer has."""

    secret: str


class CredentialShown(TypedDict):
    application_credential: CredentialJson


class NewCredentialShown(TypedDict):
    application_credential: NewCredentialJson


class CredentialsShown(TypedDict):
    application_credentials: list[CredentialJson]
    links: ListLinks


class RegionJson(TypedDict):
    id: str
    description: str
    parent_region_id: None
    links: SelfLink


class RegionShown(TypedDict):
    region: RegionJson


class RegionsShown(TypedDict):
    regions: list[RegionJson]
    links: ListLinks


class ServiceJson(TypedDict):
    """The service of a door."""

    id: str
    type: str
    name: str
    enabled: bool
    links: SelfLink


class ServiceShown(TypedDict):
    service: ServiceJson


class ServicesShown(TypedDict):
    services: list[ServiceJson]
    links: ListLinks


class EndpointRow(TypedDict):
    id: str
    interface: str
    region: str
    region_id: str
    service_id: str
    url: str
    enabled: bool


class EndpointJson(EndpointRow):
    """An address of a service."""

    links: SelfLink


class EndpointShown(TypedDict):
    endpoint: EndpointJson


class EndpointsShown(TypedDict):
    endpoints: list[EndpointJson]
    links: ListLinks


class CatalogEndpoint(TypedDict):
    id: str
    interface: str
    region: str
    region_id: str
    url: str


class CatalogEntry(TypedDict):
    """A service and its addresses, as a token carries them."""

    id: str
    type: str
    name: str
    endpoints: list[CatalogEndpoint]


class CatalogShown(TypedDict):
    catalog: list[CatalogEntry]
    links: ListLinks


class SystemShown(TypedDict):
    """Empty for whoever has no role in the system."""

    system: list[WholeSystem]
    links: ListLinks


class TokenUser(TypedDict):
    id: str
    name: str
    domain: DomainName
    password_expires_at: None


class TokenProject(TypedDict):
    id: str
    name: str
    domain: DomainName


class TokenRole(TypedDict):
    id: str
    name: str


class TokenCredential(TypedDict):
    """The application credential that the token was issued by."""

    id: str
    name: str
    restricted: bool


class TokenScope(TypedDict, total=False):
    """A project, or the system."""

    project: TokenProject
    is_domain: bool
    system: WholeSystem


class TokenJson(TokenScope):
    """A token. One without a scope has neither roles nor a catalog."""

    methods: list[str]
    user: TokenUser
    audit_ids: list[str]
    issued_at: str
    expires_at: str
    application_credential: NotRequired[TokenCredential]
    roles: NotRequired[list[TokenRole]]
    catalog: NotRequired[list[CatalogEntry]]


class TokenShown(TypedDict):
    token: TokenJson


IdentityVersionJson = TypedDict(
    "IdentityVersionJson",
    {"id": str, "status": str, "updated": str, "links": list[LinkJson], "media-types": list[MediaType]},
)


class IdentityVersionShown(TypedDict):
    version: IdentityVersionJson


class VersionValues(TypedDict):
    values: list[IdentityVersionJson]


class IdentityVersionsShown(TypedDict):
    versions: VersionValues
