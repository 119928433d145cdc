"""Background lines of a map, cities, and the scale of axes, compared with plain definitions."""

import json
import math
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data import background
from dpviz.data.background import MOST_BYTES, clipped, coastlines, read_background
from dpviz.data.cities import box_around, cities, city_of, city_width
from dpviz.data.scale import METRES_PER_DEGREE, length, scale_of
from dpviz.grid.domain import Domain
from tests.support.tiers import examples

PLACE = st.integers(-40, 40)
LINE = st.lists(st.tuples(PLACE, PLACE), min_size=2, max_size=12, unique=True)
WORLD = Domain(((-180.0, 180.0), (-90.0, 90.0)))


def parts(lines: np.ndarray) -> list[np.ndarray]:
    if not len(lines):
        return []
    breaks = np.nonzero(np.isnan(lines[:, 0]))[0]
    return [one[~np.isnan(one[:, 0])] for one in np.split(lines, breaks)]


@settings(deadline=None)
@given(st.lists(LINE, min_size=1, max_size=4), PLACE, PLACE, st.integers(1, 60), st.integers(1, 60))
def test_clipped_lines_are_the_lines_inside_the_domain(lines, west, south, wide, high):
    domain = Domain(((west, west + wide), (south, south + high)))
    given_lines = np.array([shapely.LineString(one) for one in lines])
    found = parts(clipped(given_lines, domain))
    box = shapely.box(west, south, west + wide, south + high)
    tolerance = (wide + high) / 800
    for one in found:
        assert len(one) >= 2
        assert domain.contains(one).all()
        near = shapely.distance(shapely.MultiLineString(list(given_lines)), shapely.points(one))
        assert near.max() <= 1e-9
    # All lines inside the box are kept, except for parts along its border.
    inside = shapely.intersection(given_lines, box.buffer(-1e-6))
    drawn = shapely.MultiLineString(found).buffer(tolerance)
    assert all(drawn.covers(one) for one in inside if not one.is_empty)


@settings(deadline=None)
@given(st.floats(-180, 150), st.floats(-80, 60), st.floats(0.5, 30))
def test_coastlines_stay_inside_and_swap_with_their_axes(west, south, side):
    domain = Domain(((west, west + side), (south, south + side)))
    lines = coastlines(domain)
    real = lines[~np.isnan(lines).any(axis=1)]
    assert domain.contains(real).all()
    turned = coastlines(Domain(domain.bounds[::-1]), swapped=True)
    np.testing.assert_array_equal(turned, lines[:, ::-1])


def test_longitudes_from_0_to_360_have_the_same_coast():
    east, west = (coastlines(Domain(((lon, lon + 60), (24, 50)))) for lon in (235, -125))
    np.testing.assert_allclose(east - (360, 0), west, atol=1e-6)
    assert 200 < len(west) < len(coastlines(WORLD)) < 10_000


def test_a_coast_is_where_it_is():
    # Land's End, the south-western end of Great Britain.
    lines = coastlines(Domain(((-7, -4), (49.5, 51.5))))
    assert np.nanmin(np.hypot(*(lines - (-5.72, 50.07)).T)) < 0.1


def test_an_own_file_is_lines_and_outlines():
    shapes = [
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
        {"type": "MultiLineString", "coordinates": [[[0, 0], [9, 9]], [[1, 2], [3, 4]]]},
        {"type": "Point", "coordinates": [5, 5]},
    ]
    features = [{"type": "Feature", "properties": None, "geometry": one} for one in shapes]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    own = read_background(text.encode(), "own.geojson")
    assert len(parts(own.within(Domain(((0, 10), (0, 10)))))) == 3
    assert not own.missing(Domain(((0, 10), (0, 10))))
    assert "spans 0 to 9" in own.missing(Domain(((20, 30), (0, 10))))


def test_features_without_a_geometry_are_left_out():
    line = {"type": "LineString", "coordinates": [[0, 0], [9, 9]]}
    features = [
        {"type": "Feature", "properties": None, "geometry": one} for one in (None, line, None)
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    own = read_background(text.encode(), "own.geojson")
    assert len(parts(own.within(Domain(((0, 10), (0, 10)))))) == 1
    features[1]["geometry"] = line | {"coordinates": [[0, 0]]}
    text = json.dumps({"type": "FeatureCollection", "features": features})
    with pytest.raises(InputError, match=r"feature 2 of own\.geojson has an unreadable geometry"):
        read_background(text.encode(), "own.geojson")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x,y\n1,2\n", "is not GeoJSON"),
        (b"\xff\xfe", "is not GeoJSON"),
        (b"[" * 100_000, "is not GeoJSON"),
        (b"[1]", "is not GeoJSON"),
        (b'{"type": "Topology", "objects": {}}', "is not GeoJSON"),
        (b'{"type": "FeatureCollection", "features": 7}', "is not GeoJSON"),
        (b'{"type": "FeatureCollection", "features": [7]}', "feature 1 of"),
        (b'{"type": ["Point"]}', "is not GeoJSON"),
        (b'{"type": "Feature", "geometry": null}', "no lines and no polygons"),
        (b'{"type": "Point", "coordinates": [1, 2]}', "no lines and no polygons"),
        (b'{"type": "FeatureCollection", "features": []}', "no lines and no polygons"),
        (b'{"type": "LineString", "coordinates": []}', "no lines and no polygons"),
        (b" " * (MOST_BYTES + 1), "more than 5 MB"),
    ],
)
def test_a_file_without_lines_is_refused_in_one_sentence(content, said):
    with pytest.raises(InputError, match=said) as refused:
        read_background(content, "own.geojson")
    assert "own.geojson" in str(refused.value)
    assert "\n" not in str(refused.value)


@settings(deadline=None)
@given(st.sampled_from(sorted(cities())), st.floats(1, 500), st.booleans())
def test_a_box_around_a_city_is_as_wide_as_asked(title, width, swapped):
    city = cities()[title]
    reach = width / 2 / (METRES_PER_DEGREE / 1000) / math.cos(math.radians(city.lat))
    if abs(city.lat) > 80 or abs(city.lon) + reach > 180:
        return
    lon, lat = box_around(city, width, swapped=swapped).bounds[:: -1 if swapped else 1]
    metres = METRES_PER_DEGREE / 1000
    assert (lat[1] - lat[0]) * metres == pytest.approx(width, abs=0.12)
    across = (lon[1] - lon[0]) * metres * math.cos(math.radians(city.lat))
    assert across == pytest.approx(width, abs=0.12)
    assert lon[0] < city.lon < lon[1] or width < 1.2


@settings(deadline=None)
@given(st.sampled_from(sorted(cities())), st.integers(1, 500), st.booleans())
def test_a_box_tells_its_city_and_width_and_another_box_tells_none(title, width, swapped):
    city = cities()[title]
    with suppress(InputError):
        box = box_around(city, width, swapped=swapped)
        assert city_of(box, swapped=swapped) == (city, width)
        (low, high), other = box.bounds
        assert city_of(Domain(((low + 0.002, high + 0.002), other)), swapped=swapped) is None


def test_the_box_of_a_city_has_the_size_of_the_city():
    """By the rank of its population; no city has a wider box than a more populous one."""
    widths = [city_width(one) for one in list(cities().values())[::100]]
    assert widths == sorted(widths, reverse=True)
    assert (widths[0], widths[-1]) == (120, 15)
    assert city_width(cities()["Berlin, Germany"]) == 40
    assert city_width(cities()["Leipzig, Sachsen, Germany"]) == 20


def test_a_box_over_a_pole_is_refused():
    north = next(one for one in cities().values() if one.lat > 75)
    with pytest.raises(InputError, match="choose a smaller width"):
        box_around(north, 5000)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_box_over_the_180th_meridian_is_refused(swapped):
    east = max(cities().values(), key=lambda one: one.lon)
    with pytest.raises(InputError, match="over the 180th meridian"):
        box_around(east, 2000, swapped=swapped)
    assert box_around(east, 1, swapped=swapped).bounds[swapped][1] < 180


@given(st.floats(-85, 60), st.floats(0.01, 20))
def test_degrees_are_true_to_scale_in_the_middle(south, side):
    domain = Domain(((0, side), (south, south + side)))
    middle = math.radians(min(abs(south + side / 2), 89))
    if 1 / math.cos(middle) > 8:
        return
    scale = scale_of(("lon", "lat"), domain)
    assert scale.ratio == pytest.approx(1 / math.cos(middle))
    assert scale.panel(domain) == pytest.approx(1 / math.cos(middle))
    turned = scale_of(("lat", "lon"), Domain(domain.bounds[::-1]))
    assert turned.ratio == pytest.approx(math.cos(middle))
    assert (scale.degrees, turned.degrees) == ("lonlat", "latlon")
    assert scale.lengths((1, 1)) == " × ".join(reversed(turned.lengths((1, 1)).split(" × ")))


@pytest.mark.parametrize(
    ("columns", "domain", "axes", "ratio"),
    [
        (("x", "y"), "0,1;0,7", "auto", 1),
        (("x", "y"), "0,1;0,9", "auto", None),
        (("x_km", "y_km"), "0,1;0,7", "auto", 1),
        (("temp_min", "wind_min"), "0,1;0,7", "auto", None),
        (("easting", "northing"), "0,1;0,7", "auto", 1),
        (("income", "expenses"), "0,10;0,8", "auto", 1),
        (("eruption", "waiting"), "1,5;40,100", "auto", None),
        (("eruption", "waiting"), "1,5;40,100", "equal", 1),
        (("x", "y"), "0,1;0,1", "free", None),
        (("a", "b"), "10,11;59.5,60.5", "lonlat", 2),
        # The coordinates are from a plane, although the names mean degrees.
        (("lon", "lat"), "0,5000;0,5000", "auto", 1),
    ],
)
def test_names_and_extents_decide_unless_a_person_does(columns, domain, axes, ratio):
    assert scale_of(columns, Domain.parse(domain), axes).ratio == pytest.approx(ratio)


def test_lengths_read_as_people_write_them():
    said = [length(one) for one in (0.4, 9.96, 340.4, 994, 4210, 99_600, 1.23e6)]
    assert said == ["0.40 m", "10 m", "340 m", "990 m", "4.2 km", "100 km", "1,200 km"]


def test_a_long_zigzag_does_not_end_the_program():
    """GEOS simplifies lines by recursion, so 60,000 of these points would overflow the stack."""
    program = """
import json, threading
from dpviz.data.background import read_background
from dpviz.grid.domain import Domain
n = 60_000
points = [[i / n / 1000, 0.5 + (-1) ** i * (1 - 0.9 * i / n) / 2] for i in range(n)]
content = json.dumps({"type": "LineString", "coordinates": points}).encode()
def draw():
    print(len(read_background(content, "zigzag").within(Domain(((0.0, 1.0), (0.0, 1.0))))))
thread = threading.Thread(target=draw)
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 100


@given(seed=st.integers(0, 2**32 - 1), piece=st.integers(1, 7))
@examples(50)
def test_pieces_of_a_line_are_one_line(seed, piece):
    rng = np.random.default_rng(seed)
    lines = shapely.linestrings(
        rng.random((40, 2)), indices=np.repeat(np.arange(4), rng.permutation([2, 3, 14, 21]))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "_PIECE", piece)
        patch.setattr(background, "_DETAIL", 0.0)
        found = clipped(lines, Domain(((0.0, 1.0), (0.0, 1.0))))
    whole = np.split(found, np.flatnonzero(np.isnan(found[:, 0])))
    drawn = [part[~np.isnan(part[:, 0])] for part in whole]
    assert len(drawn) == 4
    for one, line in zip(drawn, lines, strict=True):
        # Points on a straight line may be removed; all other points stay.
        np.testing.assert_allclose(one, shapely.get_coordinates(shapely.simplify(line, 0)))


#: Latitude and longitude of main squares, town halls and main stations.
CENTRES = {
    "London": (51.5074, -0.1278), "Paris": (48.8566, 2.3522), "Berlin": (52.52, 13.405),
    "Leipzig": (51.3397, 12.3731), "Munich": (48.1374, 11.5755), "Hamburg": (53.5511, 9.9937),
    "Madrid": (40.4168, -3.7038), "Vienna": (48.2082, 16.3738), "Prague": (50.0875, 14.4213),
    "New York": (40.7128, -74.006), "Chicago": (41.8781, -87.6298), "Tokyo": (35.6812, 139.7671),
    "Los Angeles": (34.0522, -118.2437), "Beijing": (39.9042, 116.4074),
    "Moscow": (55.7558, 37.6173), "Sydney": (-33.8688, 151.2093), "Toronto": (43.6532, -79.3832),
    "Istanbul": (41.0082, 28.9784), "Cairo": (30.0444, 31.2357), "Stockholm": (59.3293, 18.0686),
    "Warsaw": (52.2297, 21.0122), "Mumbai": (18.9388, 72.8354), "Delhi": (28.6139, 77.209),
    "Melbourne": (-37.8136, 144.9631), "Cologne": (50.9375, 6.9603),
}  # fmt: skip


def test_the_box_of_a_city_has_its_centre_in_the_middle():
    """A point of a map of the world would be several kilometres off, for half of these cities."""
    shares = {}
    for name, (lat, lon) in CENTRES.items():
        city = next(one for one in cities().values() if one.name == name)
        lons, lats = box_around(city, city_width(city)).bounds
        off = [abs(2 * (at - low) / (high - low) - 1)
               for at, (low, high) in ((lon, lons), (lat, lats))]  # fmt: skip
        shares[name] = max(off)
    # The middle part is half as wide as the box; for nearly all cities the centre is much nearer.
    assert max(shares.values()) < 0.5, shares
    assert sorted(shares.values())[-4] < 0.15, shares
    assert shares["Leipzig"] < 0.05
