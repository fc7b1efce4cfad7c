"""The agents' door, `/agent/v1`: each verb of `computeagent.protocol` as one request of the agent of one host."""
