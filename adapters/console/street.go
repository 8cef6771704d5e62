package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/adapters/web"
	"waybill/domain"
	"waybill/ports"
)

const (
	streetAt = "/map/street"
	// withoutStreets names the parameter of people who chose the map without streets.
	withoutStreets = "streets"
	// mostBeside limits the deliveries listed next to the street map.
	mostBeside = 50
	// mostTiles limits the tiles in progress. Each is in memory until it was sent.
	mostTiles = 16
	// mostUnpacked limits the size of an unpacked tile, for browsers without gzip.
	mostUnpacked = 8 << 20
)

type streetView struct {
	mapAsk
	drawing              // for browsers that cannot draw streets
	Plain         string // the map without streets
	Points, Tiles string
	Map           ports.StreetMap
	Layers        string
	Legend        []legendView
	Attribution   []pages.Link
	Rows          []mapRowView
	All           int64
	First, Last   int
	Next          string
	More          bool
	At            time.Time
}

// legendView holds a status with its CSS class and letter.
type legendView struct{ Status, Text, Letter string }

// showStreet shows the street map, with a list of its deliveries.
func (p *Console) showStreet(c *call) error {
	if p.options.Streets == nil {
		return p.showMapWithout(c, "None is set up here: the setting WAYBILL_MAP_FILE names its file.")
	}
	m, err := p.options.Streets.StreetMap()
	if err != nil {
		p.options.Log.WarnContext(c.Ctx(), "the street map cannot be read", "setting", "map_file", "error", err)
		return p.showMapWithout(c, "Its file cannot be read. The log says why, and so does the command waybill doctor.")
	}
	a, err := p.askMap(c)
	if err != nil {
		return err
	}
	snapshot, open, err := p.selected(c, &a)
	if err != nil {
		return err
	}
	a.Filters = a.filters(c, streetAt)
	a.look(c, open, p.Map.Area())
	sort.SliceStable(open, func(i, j int) bool { return open[i].Since.Before(open[j].Since) })
	page, err := strconv.Atoi(c.Query("page"))
	if err != nil || page < 1 || page > len(open)/mostBeside+1 {
		page = 1
	}
	v := streetView{
		mapAsk: a, Plain: p.plainMap(c, &a.narrowing), Points: a.address(c, "/map/points"),
		Tiles: c.At("/map/tiles/{z}/{x}/{y}?v=" + m.Version), Map: m, Layers: strings.Join(m.Layers, " "), Attribution: credits(m.Attribution),
		All: int64(len(open)), First: (page-1)*mostBeside + 1, Last: min(len(open), page*mostBeside), More: snapshot.More, At: snapshot.At,
	}
	v.drawing, _ = p.draw(c, &a, open)
	for _, s := range domain.OpenStatuses() {
		text := capital(string(s))
		v.Legend = append(v.Legend, legendView{string(s), text, text[:1]})
	}
	if v.Last < len(open) {
		v.Next = a.address(c, streetAt, "page", strconv.Itoa(page+1))
	}
	for _, d := range open[min(len(open), v.First-1):v.Last] {
		v.Rows = append(v.Rows, mapRowView{
			ID: string(d.ID), Reference: string(d.Reference), Href: c.At("/deliveries/" + string(d.ID)), Status: capital(string(d.Status)), Tone: pages.StatusTones[d.Status],
			Customer: cmp.Or(a.names[d.BusinessID], string(d.BusinessID)), Municipality: d.Municipality, Since: d.Since,
		})
	}
	return p.Show(c, http.StatusOK, "street", "Street map", v)
}

var (
	anchor = regexp.MustCompile(`(?is)<a\b[^>]*?\bhref\s*=\s*["']?(https?://[^"'\s>]+)[^>]*>(.*?)</a>`)
	tag    = regexp.MustCompile(`<[^>]*>`)
)

// credits returns the texts and web links of an attribution. It drops all other HTML.
func credits(attribution string) (all []pages.Link) {
	add := func(text, href string) {
		if text = html.UnescapeString(tag.ReplaceAllString(text, "")); text != "" {
			all = append(all, pages.Link{Text: text, Href: href})
		}
	}
	end := 0
	for _, at := range anchor.FindAllStringSubmatchIndex(attribution, -1) {
		add(attribution[end:at[0]], "")
		add(attribution[at[4]:at[5]], html.UnescapeString(attribution[at[2]:at[3]]))
		end = at[1]
	}
	add(attribution[end:], "")
	return all
}

// showTile sends a tile of the street map. Browsers cache it for a day: the address contains the
// version of the map.
func (p *Console) showTile(c *call) error {
	at := [3]int{}
	for i, name := range []string{"zoom", "column", "row"} {
		n, err := strconv.Atoi(c.Param(name))
		if err != nil || strconv.Itoa(n) != c.Param(name) {
			return domain.ErrNotFound
		}
		at[i] = n
	}
	if p.options.Streets == nil {
		return domain.ErrNotFound
	}
	select {
	case p.tiles <- struct{}{}:
		defer func() { <-p.tiles }()
	case <-c.Ctx().Done():
		return &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable,
			Message: "Too many parts of the street map are asked for at once. Reload the page in a moment.", Err: c.Ctx().Err()}
	}
	tile, err := p.options.Streets.Tile(at[0], at[1], at[2])
	if errors.Is(err, ports.ErrNoTile) {
		c.Header("Cache-Control", "private, max-age=3600")
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return nil
	}
	if err != nil {
		p.options.Log.WarnContext(c.Ctx(), "a tile of the street map cannot be read", "setting", "map_file", "error", err)
		return &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable,
			Message: "The street map cannot be read now.", Err: err}
	}
	tag := `W/"` + tile.Version + `"`
	c.Header("ETag", tag)
	c.Header("Cache-Control", "private, max-age=86400")
	c.Header("Vary", "Accept-Encoding")
	if slices.Contains(strings.Split(strings.ReplaceAll(c.GetHeader("If-None-Match"), " ", ""), ","), tag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	body := tile.Content
	if tile.Packed && web.TakesGzip(c.Request.Header) {
		c.Header("Content-Encoding", "gzip")
	} else if tile.Packed {
		if body, err = unpack(body); err != nil {
			return domain.Internal(err)
		}
	}
	c.Header("Content-Length", strconv.Itoa(len(body)))
	c.Data(http.StatusOK, "application/vnd.mapbox-vector-tile", body)
	return nil
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("a tile is not packed by gzip: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(z, mostUnpacked+1))
	if err == nil && len(body) > mostUnpacked {
		err = fmt.Errorf("a tile unpacks to more than %d bytes", mostUnpacked)
	}
	return body, err
}
