"""Rules of what users own, without Django: states, transitions, allowed actions, input rules."""
