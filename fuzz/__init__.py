"""Attacks on soffit: random data, damaged and forged files, interrupts. See `python -m fuzz -h`."""
