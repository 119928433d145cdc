"""Settings that pyproject.toml can't express: files outside of the package become part of it."""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class BuildPy(build_py):
    """Includes app.py, but no other Python file of the top folder."""

    def find_package_modules(self, package, package_dir):
        """List a package's modules."""
        found = super().find_package_modules(package, package_dir)
        return [one for one in found if package != "dpviz.app" or one[1] == "app"]


setup(
    cmdclass={"build_py": BuildPy},
    packages=[
        *find_packages(include=["dpviz", "dpviz.*"]),
        "dpviz.sample_data",
        "dpviz.app",
        "dpviz.app.pages",
    ],
    # As in a checkout, app.py, pages and Streamlit's options are in the same folder.
    package_dir={
        "dpviz.sample_data": "sample_data",
        "dpviz.app": ".",
        "dpviz.app.pages": "pages",
    },
    # Only these files, because the top folder has many files that are not part of the app.
    include_package_data=False,
    package_data={
        "dpviz": ["py.typed"],
        "dpviz.app": [".streamlit/config.toml"],
        "dpviz.audit": ["*.json", "*.toml"],
        "dpviz.base": ["*.toml"],
        "dpviz.commands": ["*.toml"],
        "dpviz.data": ["*.toml", "natural_earth/*.parquet"],
        "dpviz.docs": ["*.css", "*.j2", "*.js", "*.toml", "pages/*", "methods/*.md"],
        "dpviz.experiments": ["*.json", "*.toml"],
        "dpviz.family": ["*.toml"],
        "dpviz.kmeans": ["*.toml", "methods/*.toml"],
        "dpviz.teaching.game": ["*.toml"],
        "dpviz.teaching.lessons": ["*.toml"],
        "dpviz.papers": ["*.json", "*.toml"],
        "dpviz.privacy": ["*.toml", "*.txt"],
        "dpviz.release": ["*.json", "*.j2", "*.toml", "templates/*"],
        "dpviz.sample_data": ["*.csv", "*.json", "*.md", "*.parquet"],
        "dpviz.ui": ["frontend/*", "frontend/pictures/*", "reference/*.toml"],
        "dpviz.wavecluster": ["*.toml", "methods/*.toml"],
    },
)
