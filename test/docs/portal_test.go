package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// languages are those that the sandbox of the portal shows a call in.
var languages = []struct {
	name, program, file string
	args                []string
}{
	{"curl", "bash", "call.sh", []string{"call.sh"}},
	{"php", "php", "call.php", []string{"call.php"}},
	{"python", "python3", "call.py", []string{"call.py"}},
	{"node", "node", "call.mjs", []string{"call.mjs"}},
	{"go", "go", "call.go", []string{"run", "call.go"}},
}

var (
	reShown   = regexp.MustCompile(`(?s)<pre id="([^"]+)"[^>]*>(.*?)</pre>`)
	reInline  = regexp.MustCompile(`(?s)<li data-step="([^"]+)".*?<p><code>(.*?)</code></p>`)
	reRequest = regexp.MustCompile(`href="(/requests/req_[0-9a-f]+)"`)
	reStatus  = regexp.MustCompile(`\b[1-5]\d\d\b`)
)

// person is a signed-in person of the portal, at the server of all tests.
type person struct {
	*http.Client
	*server
}

// browsing has the session that the server's link gave, once.
var (
	browsing = &http.Client{}
	signIn   sync.Once
)

func signedIn(t *testing.T) *person {
	t.Helper()
	s := serve(t)
	signIn.Do(func() {
		browsing.Jar, _ = cookiejar.New(nil) // it never fails
		res, err := browsing.Post(s.Vars["WAYBILL_PORTAL_LINK"], "application/x-www-form-urlencoded", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	})
	return &person{browsing, s}
}

// ask is a page of the portal, by a form where there is one, and what it shows to be run.
func (p *person) ask(t *testing.T, path string, form url.Values) (page string, shown map[string]string) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(t.Context(), method, p.Vars["WAYBILL_PORTAL_URL"]+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := p.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusNotFound {
		t.Fatalf("%s %s: %d, %v\n%s", method, path, res.StatusCode, err, text)
	}
	shown = map[string]string{}
	for _, m := range reShown.FindAllStringSubmatch(string(text), -1) {
		shown[m[1]] = html.UnescapeString(m[2])
	}
	return string(text), shown
}

// told is what a sample prints of an answer.
type told struct {
	status int
	body   string
}

// ID is that of what the answer is about.
func (a told) ID() string {
	var envelope struct {
		Data struct{ ID string }
	}
	_ = json.Unmarshal([]byte(a.body), &envelope)
	return envelope.Data.ID
}

// play saves a sample as a file and runs it, with the placeholder set and others beside it.
func (s *server) play(t *testing.T, language int, text string, vars ...string) told {
	t.Helper()
	l := languages[language]
	needs(t, l.program)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, l.file), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	order := `{"recipient":{"phone_number":"024 412 3456","address":{"address":"7 Independence Avenue",` +
		`"latitude":5.6037,"longitude":-0.187}},` +
		`"pickup":{"name":"Depot","contact":"030 212 3456","address":"12 Oxford Street","latitude":5.5571,"longitude":-0.1818},` +
		`"payment":{"type":"delivery_only"},"vehicle_type":"bike"}`
	if err := os.WriteFile(filepath.Join(dir, "order.json"), []byte(order), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.program, l.args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GO111MODULE=off", "WAYBILL_TEST_KEY="+s.Vars["WAYBILL_TEST_KEY"],
		"WAYBILL_API_KEY="+s.Vars["WAYBILL_TEST_KEY"])
	cmd.Env = append(cmd.Env, vars...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s\nof\n%s", l.name, err, problems.String(), out, text)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	a := told{body: string(out[max(0, bytes.IndexByte(out, '{')):])}
	if a.status, _ = strconv.Atoi(reStatus.FindString(first)); a.status == 0 || strings.HasPrefix(first, "{") { // without curl -i
		var envelope struct{ StatusCode int }
		_ = json.Unmarshal([]byte(a.body), &envelope)
		a.status = envelope.StatusCode
	}
	return a
}

func TestASampleOfThePortalBooksOnceHoweverOftenItRuns(t *testing.T) {
	t.Parallel()
	p := signedIn(t)
	_, all := p.ask(t, "/sandbox", nil)
	var curl sync.Once
	var id string
	for i, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			_, shown := p.ask(t, "/sandbox", nil)
			first, again := p.play(t, i, shown["book-"+l.name]), p.play(t, i, shown["book-"+l.name])
			if first.status != http.StatusCreated || first.ID() == "" || again != first {
				t.Errorf("%d %s\nand again %d %s\nof\n%s", first.status, first.body, again.status, again.body, shown["book-"+l.name])
			}
			// One page is one booking, in whichever language.
			of := p.play(t, i, all["book-"+l.name])
			curl.Do(func() { id = of.ID() })
			if of.status != http.StatusCreated || of.ID() != id {
				t.Errorf("the samples of one page book %s and, in %s, %d %s", id, l.name, of.status, of.body)
			}
		})
	}
}

// What was typed stands in the samples of all languages as it is, and does nothing there.
func TestSamplesSendWhatWasTypedWhateverItIs(t *testing.T) {
	t.Parallel()
	p := signedIn(t)
	name := "Ama's \"shop\" `id` $HOME ${HOME} $(id) \\ \\n %d ''' é <b> # @"
	type sent struct{ auth, key, body string }
	page, _ := p.ask(t, "/sandbox", nil)
	hidden := regexp.MustCompile(`name="(once|application)" value="([^"]+)"`)
	form := url.Values{"recipient.name": {name}, "recipient.phone_number": {"12"}}
	for _, m := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], m[2])
	}
	page, shown := p.ask(t, "/sandbox/book", form)
	if !strings.Contains(page, "Nothing was booked") {
		t.Fatalf("the form is not refused: %s", page)
	}
	for i, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			got := make(chan sent, 8)
			catcher := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got <- sent{r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), string(body)}
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, "{}")
			}))
			t.Cleanup(catcher.Close)
			text := strings.ReplaceAll(shown["book-"+l.name], p.Vars["WAYBILL_SANDBOX_URL"], catcher.URL)
			if a := p.play(t, i, text); a.status != http.StatusCreated {
				t.Fatalf("%+v of\n%s", a, text)
			}
			s := <-got
			var order struct {
				Recipient struct{ Name string }
			}
			if err := json.Unmarshal([]byte(s.body), &order); err != nil || order.Recipient.Name != name ||
				s.auth != "Bearer "+p.Vars["WAYBILL_TEST_KEY"] || !strings.HasPrefix(s.key, "sample-") {
				t.Errorf("%v: it sends %+v", err, s)
			}
		})
	}
}

// Each step that a page shows as a call leads to the page that shows the next one.
func TestTheActsOfThePortalDoAsCallsWhatTheirButtonsDo(t *testing.T) {
	t.Parallel()
	p := signedIn(t)
	_, shown := p.ask(t, "/sandbox", nil)
	id := p.play(t, 0, shown["book-curl"]).ID()
	if id == "" {
		t.Fatal("nothing is booked")
	}
	for _, act := range []struct{ call, says string }{
		{"call-simulate", `"scenario":"delivered"`}, {"call-stop", id}, {"call-assigned", `"status":"assigned"`},
		{"call-cancelled", `"status":"cancelled"`},
	} {
		_, shown := p.ask(t, "/sandbox?delivery="+id, nil)
		if shown[act.call] == "" {
			t.Fatalf("the page lacks %s: %v", act.call, shown)
		}
		if a := p.play(t, 0, shown[act.call]); a.status >= http.StatusMultipleChoices || !strings.Contains(a.body, act.says) {
			t.Fatalf("%s answers %+v, want %s", act.call, a, act.says)
		}
	}
	_, shown = p.ask(t, "/sandbox?done=booked&delivery="+id, nil)
	if a := p.play(t, 0, shown["did"]); a.status != http.StatusCreated || a.ID() == id {
		t.Errorf("what was done, done again by a call, answers %+v", a)
	}
	_, shown = p.ask(t, "/deliveries/"+id, nil)
	if a := p.play(t, 0, shown["call"]); a.status != http.StatusOK || a.ID() != id {
		t.Errorf("the call of the delivery's page answers %+v", a)
	}
}

func TestTheStepsOfAnApplicationAreCallsThatWork(t *testing.T) {
	t.Parallel()
	p := signedIn(t)
	_, shown := p.ask(t, "/sandbox", nil)
	id := p.play(t, 0, shown["book-curl"]).ID()
	asked := make(chan http.Header, 2)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Clone()
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(endpoint.Close)
	page, _ := p.ask(t, "/apps/"+p.Vars["WAYBILL_APP_ID"], nil)
	_, list, _ := strings.Cut(page, `id="ready"`)
	want := map[string]int{"replayed": http.StatusCreated, "waited": http.StatusTooManyRequests, "failure": http.StatusOK,
		"feed": http.StatusOK}
	steps := 0
	for item := range strings.SplitSeq(list, "</li>") {
		m := reInline.FindStringSubmatch(item)
		if m == nil {
			continue
		}
		steps++
		a := p.play(t, 0, html.UnescapeString(m[2]), "ID="+id, "YOUR_ENDPOINT="+endpoint.URL, "LAST_CURSOR="+p.cursor(t))
		if strings.Contains(m[2], "YOUR_ENDPOINT") {
			if h := <-asked; h.Get("webhook-signature") == "" {
				t.Errorf("an endpoint gets %v", h)
			}
			continue
		}
		if want[m[1]] == 0 || a.status != want[m[1]] {
			t.Errorf("step %s answers %+v, want %d", m[1], a, want[m[1]])
		}
	}
	if steps < 3 {
		t.Errorf("the page of the application shows %d calls", steps)
	}
}

// cursor is one of the feed.
func (p *person) cursor(t *testing.T) string {
	t.Helper()
	a := p.play(t, 0, `curl -s -H "Authorization: Bearer $WAYBILL_API_KEY" "`+p.Vars["WAYBILL_SANDBOX_URL"]+`/events?limit=1"`)
	found := regexp.MustCompile(`"resume_cursor":"([^"]+)"`).FindStringSubmatch(a.body)
	if found == nil {
		t.Fatalf("the feed has no cursor: %+v", a)
	}
	return found[1]
}

func TestARequestOfThePortalCanBeSentAgain(t *testing.T) {
	t.Parallel()
	p := signedIn(t)
	_, shown := p.ask(t, "/sandbox", nil)
	id := p.play(t, 0, shown["book-curl"]).ID()
	_, shown = p.ask(t, "/deliveries/"+id, nil)
	p.play(t, 0, shown["call"])
	done := map[string]bool{}
	for deadline := time.Now().Add(patience); len(done) < 2; <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v the log has but %v", patience, done)
		}
		list, _ := p.ask(t, "/requests?delivery="+id, nil)
		for _, m := range reRequest.FindAllStringSubmatch(list, -1) {
			if done[m[1]] {
				continue
			}
			done[m[1]] = true
			_, shown := p.ask(t, m[1], nil)
			vars := []string{"ID=" + id, "IDEMPOTENCY_KEY=again-" + id}
			a, want := p.play(t, 0, shown["curl"], vars...), http.StatusOK
			if strings.Contains(shown["curl"], "-X POST") {
				want = http.StatusCreated
				if again := p.play(t, 0, shown["curl"], vars...); again != a {
					t.Errorf("with the same key it answers %+v, and first %+v", again, a)
				}
			}
			if a.status != want {
				t.Errorf("%+v, want %d, of\n%s", a, want, shown["curl"])
			}
		}
	}
}
