package backend

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"

	"waybill/domain"
)

// The roads of the engine, east of the origin, a hundred metres to a character.
// Every one is straight, and PlaceD to PlaceE and round is the same in both directions.
//
//	                                         g--------h          g-h: 1000
//	            +----------+                 |        |
//	            |          |                 |        |
//	PlaceA-----------PlaceB----------PlaceC------->PlaceD        |        |
//	                       |        |........|        |          ....: bicycles only
//	                       +--------+
//
// From PlaceA it is 2,000 m to PlaceB, by a road of everyone. PlaceB to PlaceC are 1,000 m that are
// closed to trucks, which go round: 3,000 m. PlaceC to PlaceD are 1,000 m in this direction
// only; back it is 2,000 m. PlaceD to PlaceE are 1,000 m by a path for bicycles, and 4,000 m
// by road. PlaceF to PlaceG are 1,000 m on an island. There is no road within 25 km of PlaceAtSea.
const (
	originLatitude  = 5.60
	originLongitude = -0.20

	// earthRadius in metres is the engine's own, the equator's.
	earthRadius = 6378160
)

// The places at which the roads meet.
var (
	PlaceA     = at(0, 0)
	PlaceB     = at(2000, 0)
	PlaceC     = at(3000, 0)
	PlaceD     = at(4000, 0)
	PlaceE     = at(5000, 0)
	PlaceF     = at(20000, 0)
	PlaceG     = at(21000, 0)
	PlaceAtSea = at(0, -30000)
)

// road is a line of the map; all its points are at most a kilometre apart.
type road struct {
	name   string
	points []domain.Coordinates
	tags   map[string]string
}

var roads = []road{
	{"Main Road", []domain.Coordinates{PlaceA, at(1000, 0), PlaceB}, map[string]string{"highway": "primary"}},
	{"Market Street", []domain.Coordinates{PlaceB, PlaceC}, map[string]string{"highway": "tertiary", "hgv": "no"}},
	{"Harbour Road", []domain.Coordinates{PlaceB, at(2000, 1000), at(3000, 1000), PlaceC}, map[string]string{"highway": "tertiary"}},
	{"One Way Street", []domain.Coordinates{PlaceC, PlaceD}, map[string]string{"highway": "tertiary", "oneway": "yes"}},
	{"Back Road", []domain.Coordinates{PlaceD, at(4000, -500), at(3000, -500), PlaceC}, map[string]string{"highway": "tertiary"}},
	{"Lagoon Path", []domain.Coordinates{PlaceD, PlaceE}, map[string]string{"highway": "cycleway"}},
	{"Lagoon Road", []domain.Coordinates{PlaceD, at(4000, 1500), at(5000, 1500), PlaceE}, map[string]string{"highway": "tertiary"}},
	{"Island Road", []domain.Coordinates{PlaceF, PlaceG}, map[string]string{"highway": "tertiary"}},
}

// at is the place so many metres east and north of the origin.
func at(east, north float64) domain.Coordinates {
	const degree = math.Pi / 180
	latitude := originLatitude + north/earthRadius/degree
	return domain.Coordinates{
		Latitude:  latitude,
		Longitude: originLongitude + east/(earthRadius*math.Cos(latitude*degree))/degree,
	}
}

type (
	osm struct {
		XMLName   xml.Name  `xml:"osm"`
		Version   string    `xml:"version,attr"`
		Generator string    `xml:"generator,attr"`
		Nodes     []osmNode `xml:"node"`
		Ways      []osmWay  `xml:"way"`
	}
	osmNode struct {
		ID        int    `xml:"id,attr"`
		Version   int    `xml:"version,attr"`
		Latitude  string `xml:"lat,attr"`
		Longitude string `xml:"lon,attr"`
	}
	osmWay struct {
		ID      int      `xml:"id,attr"`
		Version int      `xml:"version,attr"`
		Nodes   []osmRef `xml:"nd"`
		Tags    []osmTag `xml:"tag"`
	}
	osmRef struct {
		Node int `xml:"ref,attr"`
	}
	osmTag struct {
		Key   string `xml:"k,attr"`
		Value string `xml:"v,attr"`
	}
)

// writeMap writes the roads as OpenStreetMap's XML.
func writeMap(w io.Writer) error {
	document := osm{Version: "0.6", Generator: "waybill tests"}
	known := map[domain.Coordinates]int{}
	for i, r := range roads {
		way := osmWay{ID: i + 1, Version: 1, Tags: []osmTag{{"name", r.name}}}
		for _, p := range r.points {
			if known[p] == 0 {
				known[p] = len(known) + 1
				document.Nodes = append(document.Nodes, osmNode{
					ID: known[p], Version: 1, Latitude: fmt.Sprintf("%.7f", p.Latitude), Longitude: fmt.Sprintf("%.7f", p.Longitude),
				})
			}
			way.Nodes = append(way.Nodes, osmRef{known[p]})
		}
		for key, value := range r.tags {
			way.Tags = append(way.Tags, osmTag{key, value})
		}
		document.Ways = append(document.Ways, way)
	}
	return xml.NewEncoder(w).Encode(document)
}
