"""The smallest changes of request or fleet that would let a request fit."""
