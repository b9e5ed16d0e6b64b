# ruff: noqa: ANN001, ANN201, ANN202 - Python 2.7 must parse this file, and it has no annotations
"""What an interpreter gets on its standard input before any agent; Python 2.7 syntax.

An interpreter that is too old then says so in words instead of with a syntax error. `''` leaves
`sys.path`, so that no folder of the working directory hides the standard library. File descriptor
1 becomes standard error: what sitecustomize or an imported package prints is not ours; the reports
go to the real one, a line each.
"""

import os
import sys


def open_channel():
    """Return a function that writes one line of ASCII JSON behind the sentinel."""
    real = os.dup(1)
    os.dup2(2, 1)

    def send(line):
        # In two pieces: an interpreter that merely echoes its input must not seem to report.
        # The leading newline ends whatever was printed before without one.
        data = ("\nFLASHDOCTOR" + "-AGENT-V1 " + line + "\n").encode("ascii")
        while data:
            data = data[os.write(real, data) :]

    return send


def refuse(send):
    """Report the version of an interpreter that is too old for the agents."""
    send('{"agent": "too-old", "version": "%d.%d.%d"}' % tuple(sys.version_info[:3]))


def magic_number():
    """Return what marks the bytecode of this interpreter, in hexadecimal; empty where unknown."""
    machinery = sys.modules.get("_frozen_importlib_external")
    return getattr(machinery, "MAGIC_NUMBER", b"").hex()


def code_of(name, text, code):
    """Return the code of a part: from bytecode where there is some, else from its text."""
    import binascii
    import marshal

    if code:
        return marshal.loads(binascii.a2b_base64(code))  # noqa: S302 - ours, from our own pipe
    return compile(text, "<flashdoctor " + name + ">", "exec")


def start(send, magic, parts, options):
    """Run `main` of the last part; each is (name, text, bytecode for `magic`), on its own."""
    import json
    import types

    same = magic == magic_number()
    modules = types.SimpleNamespace()
    for name, text, code in parts:
        module = types.ModuleType("flashdoctor_agent_" + name)
        exec(code_of(name, text, same and code), module.__dict__)  # noqa: S102 - sent by flashdoctor itself
        setattr(modules, name, module)

    def emit(body):
        send(json.dumps(body))

    getattr(modules, parts[-1][0]).main(modules, json.loads(options), emit)


def run(magic, parts, options):
    """Report and end at once: nothing that torch does at exit may spoil a finished report."""
    sys.path[:] = [entry for entry in sys.path if entry]
    send = open_channel()
    if sys.version_info < (3, 8):
        refuse(send)
    else:
        start(send, magic, parts, options)
    os._exit(0)
