"""Consoles that people type into: sessions, who may have them, and how they end."""
