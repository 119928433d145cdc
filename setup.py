"""What pyproject.toml can't say: the sample sets beside the package become a part of it."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["dpviz", "dpviz.*"]), "dpviz.sample_data"],
    package_dir={"dpviz.sample_data": "sample_data"},
    package_data={
        "": ["*.json", "*.txt", "*.j2"],
        "dpviz.data": ["natural_earth/*.parquet"],
        "dpviz.sample_data": ["*.csv", "*.parquet", "*.md"],
        "dpviz.ui": ["frontend/*"],
        "dpviz.lessons": ["*.md"],
    },
)
