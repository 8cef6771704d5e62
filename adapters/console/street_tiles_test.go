package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/streets"
)

func TestTilesAreServedToStaffAloneAndAreKeptByTheirBrowsers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	ask := func(path string, headers ...string) *http.Response {
		t.Helper()
		q := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody))
		q.Header.Set("Accept-Encoding", "identity")
		for i := 0; i < len(headers); i += 2 {
			q.Header.Set(headers[i], headers[i+1])
		}
		return must[*http.Response](t)(r.client.Do(q))
	}
	body := func(a *http.Response) []byte {
		t.Helper()
		defer a.Body.Close()
		var b bytes.Buffer
		must[int64](t)(b.ReadFrom(a.Body))
		return b.Bytes()
	}
	packed, plain := ask("/map/tiles/3/4/2", "Accept-Encoding", "gzip"), ask("/map/tiles/3/4/2")
	got := body(packed)
	if packed.StatusCode != http.StatusOK || packed.Header.Get("Content-Encoding") != "gzip" || !bytes.HasPrefix(got, []byte{0x1f, 0x8b}) {
		t.Errorf("%d %v", packed.StatusCode, packed.Header)
	}
	if got := body(plain); plain.Header.Get("Content-Encoding") != "" || !bytes.Contains(got, []byte("Liberation Road")) {
		t.Errorf("%v %q", plain.Header, got)
	}
	for name, want := range map[string]string{"Content-Type": "application/vnd.mapbox-vector-tile", "Cache-Control": "private, max-age=86400",
		"Vary": "Accept-Encoding"} {
		if got := packed.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	same := ask("/map/tiles/3/4/2", "If-None-Match", `"other", `+packed.Header.Get("ETag"))
	if got := body(same); same.StatusCode != http.StatusNotModified || len(got) > 0 {
		t.Errorf("asked again: %d, %d bytes", same.StatusCode, len(got))
	}
	for path, want := range map[string]int{
		"/map/tiles/9/0/0": http.StatusNoContent, "/map/tiles/1/2/0": http.StatusNoContent, "/map/tiles/0/0/-1": http.StatusNoContent,
		"/map/tiles/0/0/x": http.StatusNotFound, "/map/tiles/0/0/00": http.StatusNotFound,
		"/map/tiles/0/0/99999999999999999999": http.StatusNotFound,
	} {
		if a := ask(path); a.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, a.StatusCode, want)
		}
	}
	if p := s.reader(t).get("/map/tiles/3/4/2"); p.at != "/signin" || strings.Contains(p.body, "Liberation") {
		t.Errorf("signed out: %d at %s", p.status, p.at)
	}
	breakMap(t, s)
	if a := ask("/map/tiles/3/4/2"); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a broken file: %d", a.StatusCode)
	}
}

func TestWithoutItsFileTheStreetMapIsTheOtherOneWithASentence(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	if p := r.get("/map"); p.at != "/map/street" || !strings.Contains(p.body, `id="street"`) {
		t.Fatalf("%d at %s: %s", p.status, p.at, p.body)
	}
	if p := r.get("/map?streets=no"); !strings.Contains(p.body, "Show streets") {
		t.Fatalf("%d %s", p.status, p.body)
	}
	file := must[[]byte](t)(os.ReadFile(s.mapFile))
	for name, harm := range map[string]func() error{
		"cut off": func() error { return os.Truncate(s.mapFile, 300) },
		"gone":    func() error { return os.Remove(s.mapFile) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		p := r.get("/map/street?status=booked")
		if p.status != http.StatusOK || !strings.Contains(p.body, "The street map is not available") || !strings.Contains(p.body, "<svg viewBox") ||
			strings.Contains(p.body, "maplibre") || strings.Contains(p.body, s.mapFile) {
			t.Errorf("%s: %d %s", name, p.status, p.body)
		}
		if !strings.Contains(s.log.String(), "the street map cannot be read") {
			t.Errorf("%s: the log says nothing", name)
		}
		if err := os.WriteFile(s.mapFile, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if p := r.get("/map/street"); !strings.Contains(p.body, `id="street"`) {
			t.Errorf("%s, and back again: %d", name, p.status)
		}
	}
}

func TestTheAttributionOfAFileIsTextAndLinksAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	m := streets.World(0)
	m.Attribution = `<script>alert(1)</script><a href="javascript:alert(2)">one</a> ` +
		`<a onclick=x href='https://osm.example/?a=1&amp;b=2' class=x>&copy; <b>OSM</b></a><img src=x>`
	if err := os.WriteFile(s.mapFile, m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	body := s.signedIn(t, domain.RoleViewer).get("/map/street").body
	if want := ` Map: alert(1)one <a href="https://osm.example/?a=1&amp;b=2" rel="noreferrer">© OSM</a>.`; !strings.Contains(body, want) {
		_, after, _ := strings.Cut(body, "As of")
		t.Errorf("%.700s\nlacks %s", after, want)
	}
	for _, bad := range []string{"javascript:", "onclick", "<img", "<script>"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

func TestTheListBesideTheStreetMapHasAllItsDeliveries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for range 3 {
		busyDay(t, s)
	}
	r := s.signedIn(t, domain.RoleViewer)
	var points struct {
		Features []struct{ Properties struct{ Kind, ID string } }
	}
	if err := json.Unmarshal([]byte(r.get("/map/points?status=booked").body), &points); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, f := range points.Features {
		if f.Properties.Kind == "delivery" {
			want[f.Properties.ID] = true
		}
	}
	got := map[string]bool{}
	for page := 1; page < 5; page++ {
		for _, row := range listRow.FindAllStringSubmatch(r.get(fmt.Sprintf("/map/street?status=booked&page=%d", page)).body, -1) {
			got[row[1]] = true
		}
	}
	if len(want) < 20 || len(got) != len(want) {
		t.Errorf("%d are listed, and %d are on the map", len(got), len(want))
	}
}

// slowTiles are read as soon as they may be, and count those that are read at once.
type slowTiles struct {
	ports.MapTiles
	may       chan struct{}
	now, most atomic.Int32
}

func (s *slowTiles) Tile(int, int, int) (ports.MapTile, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	<-s.may
	return ports.MapTile{Content: []byte("tile"), Version: "1"}, nil
}

func TestManyReadersOfTilesHaveFewOfThemInMemoryAtOnce(t *testing.T) {
	t.Parallel()
	const readers, most = 50, 16
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	slow := &slowTiles{may: make(chan struct{})}
	s.tiles = slow
	r.url = s.serve(t)
	answers := make(chan page, readers)
	for i := range readers {
		go func() { answers <- r.get(fmt.Sprintf("/map/tiles/6/%d/0", i)) }()
	}
	for deadline := time.Now().Add(time.Minute); slow.now.Load() < most; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d tiles are read at once, want %d", slow.now.Load(), most)
		}
	}
	if p := r.get("/account"); p.status != http.StatusOK { // other pages do not wait for tiles
		t.Errorf("another page: %d", p.status)
	}
	close(slow.may)
	served := 0
	for range readers {
		switch p := <-answers; {
		case p.status == http.StatusOK && p.body == "tile":
			served++
		case p.status != http.StatusServiceUnavailable: // on a slow machine, after three seconds
			t.Errorf("%d %s", p.status, p.body)
		}
	}
	if served < most {
		t.Errorf("%d tiles were served", served)
	}
	if got := slow.most.Load(); got != most {
		t.Errorf("%d tiles were read at once, want %d", got, most)
	}
}
