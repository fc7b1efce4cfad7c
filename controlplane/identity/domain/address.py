"""Where a request comes from, as far as it can be believed."""


def client_address(*, remote: str, forwarded_for: str, trusted_proxies: int) -> str:
    """The client's address: `remote`, or behind `trusted_proxies` proxies the entry the outermost of them added.

    Each trusted proxy appends the address it saw to X-Forwarded-For; entries further left come from the client
    and are not believed.
    """
    hops = [hop.strip() for hop in forwarded_for.split(",") if hop.strip()]
    if trusted_proxies <= 0 or not hops:
        return remote
    return hops[-min(trusted_proxies, len(hops))]
