"""Names and bounds decide which columns are longitude and latitude; users' mistakes are found."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz import EUGkM
from dpviz.base.errors import InputError
from dpviz.data.cities import check_not_exchanged, city_words, exchanged, title_words
from dpviz.data.dataset import Dataset
from dpviz.data.geographic import (
    axes_words,
    in_degrees,
    lon_first,
    map_axes,
    mixed_up,
    placed,
)
from dpviz.data.reading.proposal import words_of
from dpviz.data.stored import stored
from dpviz.grid.domain import Domain
from tests.support.tiers import examples

NAMES = [
    ("lon", "lat"),
    ("lng", "lat"),
    ("Long.", "Lat."),
    ("longitude", "latitude"),
    ("LONGITUDE", "LATITUDE"),
    ("pickup_longitude", "start lat"),
    ("GPS_LON", "GPS_LAT"),
    ("GPSLng", "GPSLat"),
    ("decimalLongitude", "decimalLatitude"),
    ("lon2", "lat2"),
    ("longitudeE7", "latitudeE7"),
    ("Longitude (deg)", "Latitude (deg)"),
    ("x_lon", "y_lat"),
    ("XLONG", "XLAT"),
    ("pickuplongitude", "pickuplatitude"),
    ("clon", "clat"),
    ("lons", "lats"),
    ("Längengrad", "Breitengrad"),
    ("La\u0308ngengrad", "Breitengrad"),
    ("Laenge", "Breite"),
    ("geographische Länge", "geographische Breite"),
    ("longitud", "latitud"),
    ("longitudine", "latitudine"),
    ("lengtegraad", "breedtegraad"),
    ("længdegrad", "breddegrad"),
    ("długość geograficzna", "szerokość geograficzna"),
    ("boylam", "enlem"),
    ("долгота", "широта"),
    ("经度", "纬度"),
    ("Longtitude", "Lattitude"),
    ("kinh độ", "vĩ độ"),
    ("kinh_do", "vi_do"),
    ("خط الطول", "خط العرض"),
    ("طول", "عرض"),
    ("קו אורך", "קו רוחב"),
]
PLANES = [
    ("x", "y"),
    ("X", "Y"),
    ("coord_x", "coord_y"),
    ("POINT_X", "POINT_Y"),
    ("xcoord", "ycoord"),
    ("x1", "y1"),
    ("pickup_x", "pickup_y"),
    ("posX", "posY"),
    ("easting", "northing"),
    ("Eastings", "Northings"),
    ("utm_e", "utm_n"),
    ("E", "N"),
    ("Rechtswert", "Hochwert"),
]
OTHERS = [
    ("max", "may"),
    ("x1", "y2"),
    ("x", "northing"),
    ("x", "x2"),
    ("east side", "west side"),
    ("lat", "time"),
    ("lon", "depth"),
    ("lat_lon_0", "lat_lon_1"),
    ("lat_1", "lat_2"),
    ("Kelch Länge", "Kelch Breite"),
    ("length", "width"),
    ("plateau", "belong"),
    ("column 1", "column 2"),
]


BOUND = st.floats(-400, 400).map(lambda value: round(value, 2))
BOX = st.tuples(BOUND, st.floats(0.1, 200)).map(lambda one: (one[0], round(one[0] + one[1], 2)))


@pytest.mark.parametrize("pair", NAMES, ids="-".join)
def test_names_say_which_is_which_in_either_order(pair):
    assert (placed(pair), placed(pair[::-1])) == ("lonlat", "latlon")
    assert lon_first(pair) == lon_first(pair[::-1]) == list(pair)
    assert lon_first([*pair[::-1], "time"]) == [*pair, "time"]


@pytest.mark.parametrize("pair", PLANES, ids="-".join)
def test_the_axes_of_a_plane_have_an_order_but_no_degrees(pair):
    assert placed(pair) == placed(pair[::-1]) == ""
    assert lon_first(pair) == lon_first(pair[::-1]) == list(pair)
    bounds = ((51.2, 51.5), (12.2, 12.6))
    for one in (pair, pair[::-1]):
        assert f"Maps show {pair[0]} to the right (x) and {pair[1]} upwards" in axes_words(
            one, bounds
        )
        # Names are used before bounds, because a hall may be 50 wide and 100 long.
        assert [one[axis] for axis in map_axes(one, ((0, 50), (0, 100)))] == list(pair)


@given(BOX, BOX)
def test_bounds_of_degrees_place_columns_that_names_do_not(one, other):
    """A latitude is at most 90. If the bounds are not clear, columns keep their order."""
    turned = map_axes("ab", (one, other)) == (1, 0)
    low, high = min(one[0], other[0]), max(one[1], other[1])
    is_up = [bounds[0] >= -90 and bounds[1] <= 90 for bounds in (one, other)]
    assert turned == (low >= -360 and high <= 360 and is_up == [True, False])
    words = axes_words("ab", (one, other))
    assert words.startswith("Maps show b to the right" if turned else "Maps show a to the right")
    assert map_axes(("lon", "lat"), (one, other)) == (0, 1)
    assert map_axes(("lat", "lon"), (one, other)) == (1, 0)


@pytest.mark.parametrize("pair", OTHERS, ids="-".join)
def test_other_names_keep_their_order(pair):
    assert placed(pair) == placed(pair[::-1]) == ""
    assert lon_first(pair[::-1]) == [*pair[::-1]]


WORDS = st.sampled_from(
    ["lon", "LAT", "long", "Latitude", "start", "x", "2", "GPS", "Breite", "la"]
)
NAME = st.tuples(st.sampled_from(["", "_", " "]), st.lists(WORDS, max_size=3)).map(
    lambda one: one[0].join(one[1])
)


@examples(200)
@given(NAME, NAME)
def test_any_names_have_one_order_or_none(one, other):
    orders = placed((one, other)), placed((other, one))
    assert orders in {("", ""), ("lonlat", "latlon"), ("latlon", "lonlat")}


def test_numbers_of_rows_are_still_words():
    assert [words_of(name) for name in ("IDs", "pickupLat_2", "userID")] == [
        ("ids",), ("pickup", "lat", "2"), ("user", "id")
    ]  # fmt: skip


@given(BOX, BOX)
def test_a_latitude_beyond_90_degrees_is_a_mistake_in_either_order(lon, lat):
    said = mixed_up(("lon", "lat"), Domain((lon, lat)))
    turned = mixed_up(("lat", "lon"), Domain((lat, lon)))
    assert bool(said) == bool(turned)
    is_latitude = lat[0] >= -90 and lat[1] <= 90
    of_degrees = all(-360 <= end <= 360 for end in (*lon, *lat))
    assert bool(said) == (of_degrees and not is_latitude)
    assert in_degrees(("lon", "lat"), (lon, lat)) == (of_degrees and is_latitude)
    assert in_degrees(("lat", "lon"), (lat, lon)) == (of_degrees and is_latitude)
    # The domain that the message proposes is valid.
    for columns, sentence in ((("lon", "lat"), said), (("lat", "lon"), turned)):
        if sentence:
            assert not mixed_up(columns, Domain.parse(sentence.split('"')[1]))
    # A domain that is computed from the data is never refused, nor is a domain of other columns.
    assert not mixed_up(("lon", "lat"), Domain((lon, lat), declared=False))
    assert not mixed_up(("Länge", "Breite"), Domain((lon, lat)))


def test_one_pair_among_many_columns_is_enough():
    domain = Domain.parse("0,9;-180,180;-90,90")
    assert "domain of lat is -180,180" in mixed_up(("hour", "lat", "lon"), domain)
    assert not mixed_up(("hour", "lon", "lat"), domain)
    assert not mixed_up(("hour", "lat", "depth"), domain)


WRONG = "-180,180;-90,90"


def test_python_keeps_the_order_of_the_columns_and_refuses_mixed_bounds(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.normal((51.3, 12.3), 0.02, (3000, 2))
    frame = pd.DataFrame(points, columns=["lat", "lon"])
    model = EUGkM(n_clusters=1, epsilon=5, domain="51,52;12,13", random_state=0).fit(frame)
    assert model.cluster_centers_[0] == pytest.approx([51.3, 12.3], abs=0.05)
    assert set(model.predict(frame)) == {0}
    path = tmp_path / "points.parquet"
    frame.to_parquet(path)
    said = "domain of lat is -180,180, but latitudes are between -90 and 90"
    wrong = EUGkM(n_clusters=1, domain=WRONG)
    for data in (frame, path):
        with pytest.raises(InputError, match=said):
            wrong.fit(data)
    with pytest.raises(InputError, match=said):
        stored(path, domain=Domain.parse(WRONG))
    # An array has no column names, so the mistake is not found.
    EUGkM(n_clusters=1, domain=WRONG).fit(points)


def test_exchanged_values_are_said_aloud():
    rng = np.random.default_rng(0)
    said = "Are the values of lat and lon exchanged? It looks so: "
    for place, why in (
        ((139.7, 35.7), "most latitudes are beyond 90. "),
        ((12.37, 51.34), "no city is where most records are, but Leipzig, Sachsen, Germany "),
    ):
        points = rng.normal(place, 0.1, (500, 2))
        points[0] = place[0], 513412  # an impossible value is another mistake
        right = (("lon", "lat"), points), (("lat", "lon"), points[:, ::-1])
        assert not any(exchanged(*one) for one in right)
        assert exchanged(("lat", "lon"), points).startswith(said + why)
        assert why in exchanged(("lon", "lat"), points[:, ::-1])
        assert exchanged(("x", "y"), points) == ""
    far = rng.normal((5e6, 3e5), 10, (50, 2))
    assert exchanged(("lat", "lon"), far) == exchanged(("lat", "lon"), far[:0]) == ""


def test_a_city_shows_what_is_where():
    leipzig = (12.2, 12.6), (51.2, 51.5)
    for columns, bounds in ((("lon", "lat"), leipzig), (("lat", "lon"), leipzig[::-1])):
        assert (
            city_words(columns, bounds) == "The largest city inside is Leipzig, Sachsen, Germany."
        )
        said = city_words(columns[::-1], bounds)
        assert "exchanged, Leipzig, Sachsen, Germany would be inside" in said
        check_not_exchanged(columns, Domain(bounds))
        with pytest.raises(InputError) as caught:
            check_not_exchanged(columns[::-1], Domain(bounds))
        # The domain that the message proposes contains the city.
        other = Domain.parse(str(caught.value).split('"')[-2])
        check_not_exchanged(columns[::-1], other)
        assert "Leipzig" in city_words(columns[::-1], other.bounds)
        assert "maps show lon to the right and lat upwards" in axes_words(columns, bounds)
        assert "GeoJSON has [lon, lat]" in axes_words(columns, bounds)
    assert city_words(("lon", "lat"), ((0, 1), (0, 1))) == "No city is inside."
    assert "Nuku" in city_words(("lon", "lat"), ((184, 185), (-22, -20)))
    assert city_words(("x", "y"), leipzig) == ""
    assert "to the right (x) and b upwards" in axes_words(("a", "b"), leipzig)
    assert axes_words(("a", "b", "c"), leipzig) == ""
    assert "not in degrees" in axes_words(("lat", "lon"), ((0, 5e8), (0, 5e8)))


def test_bounds_in_the_wrong_order_are_named_with_their_columns():
    data = Dataset(name="b", points=np.array([[52.5, 13.4]]), columns=("Breite", "Länge"))
    with pytest.raises(InputError, match="gives Breite 13 to 14, Länge 52 to 53; declare"):
        data.check_some_inside(Domain.parse("13,14;52,53"), 1)


def test_a_title_with_a_city_fits_the_box() -> None:
    columns, sea = ("lon", "lat"), ((3.0, 3.2), (55.0, 55.2))
    leipzig, suburb = ((12.266, 12.554), (51.245, 51.425)), ((12.28, 12.3), (51.3, 51.32))
    assert title_words("Rides in Leipzig", columns, sea) == (
        "The title names Leipzig, but the box lies elsewhere. No city is inside."
    )
    assert "The largest city inside is Leipzig" in title_words("Berlin", columns, leipzig)
    for title, box in (("Rides in Leipzig", suburb), ("", sea), ("Nice rides", sea)):
        assert title_words(title, columns, box) == ""
    # Two cities have this name; the title fits the box of either.
    ohio = ((-84.4, -84.0), (39.0, 39.3))
    assert title_words("Cincinnati", columns, ohio) == ""
    assert title_words("Rides in Leipzig", ("x", "y"), sea) == ""
