package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// recipient has a tracking page open, as a browser has: it loads the page,
// follows its stream, and opens the stream again when it breaks off.
type recipient struct {
	client *http.Client
	pages  []string // the addresses of the page, one on each server

	mu     sync.Mutex
	sights []sight
	wrong  []string
	opened int // streams
	ended  bool
}

// sight is what the page showed from some moment on.
type sight struct {
	sequence int
	status   string
	steps    int // that were done
}

// reopened is how long a recipient waits before the stream is opened again. A
// browser would wait the three seconds that the stream names.
const reopened = 300 * time.Millisecond

// shown finds the state in the part of a page that changes.
var shown = regexp.MustCompile(`<article class="parcel [a-z]+" data-status="([a-z_]+)" data-sequence="(\d+)"`)

func see(html string) (sight, error) {
	found := shown.FindStringSubmatch(html)
	if found == nil {
		return sight{}, fmt.Errorf("a page without a parcel: %.300s", html)
	}
	n, err := strconv.Atoi(found[2])
	return sight{sequence: n, status: found[1], steps: strings.Count(html, "<time ")}, err
}

// open loads the page from the server given or, while there is no answer, any.
func (r *recipient) open(ctx context.Context, server int) error {
	for at := r.pages[server]; ; at = r.pages[rand.IntN(len(r.pages))] {
		page, status, err := r.load(ctx, at)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("no tracking page: %w", context.Cause(ctx))
		case err == nil && status == http.StatusOK:
			first, err := see(page)
			r.add(first)
			return err
		case err == nil && status != http.StatusServiceUnavailable:
			return fmt.Errorf("the tracking page answered %d", status)
		}
		time.Sleep(refusedPause)
	}
}

func (r *recipient) load(ctx context.Context, at string) (page string, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	res, err := r.get(ctx, at, "")
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), res.StatusCode, err
}

func (r *recipient) get(ctx context.Context, at, lastEvent string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	if lastEvent != "" {
		req.Header.Set("Last-Event-ID", lastEvent)
	}
	return r.client.Do(req)
}

// follow keeps a stream open until it says that nothing follows. The first is
// the given server's.
func (r *recipient) follow(ctx context.Context, server int) {
	query := "/stream?seen=" + strconv.Itoa(r.latest().sequence)
	for lastEvent := ""; ctx.Err() == nil; server = rand.IntN(len(r.pages)) {
		res, err := r.get(ctx, r.pages[server]+query, lastEvent)
		if err == nil {
			if res.StatusCode == http.StatusOK {
				r.read(res.Body)
			} else if res.StatusCode != http.StatusServiceUnavailable {
				r.accuse(fmt.Sprintf("the stream answered %d", res.StatusCode))
			}
			_ = res.Body.Close() // it was read, or broke off
		}
		if r.over() {
			return
		}
		if n := r.latest().sequence; n > 1 {
			lastEvent = strconv.Itoa(n)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reopened):
		}
	}
}

// read notes what a stream tells until it ends or breaks off.
func (r *recipient) read(stream io.Reader) {
	r.mu.Lock()
	r.opened++
	r.mu.Unlock()
	var event, id, data string
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			event = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			r.hear(event, id, data)
			event, id, data = "", "", ""
		}
	}
}

func (r *recipient) hear(event, id, data string) {
	switch event {
	case "":
	case "end":
		r.mu.Lock()
		r.ended = true
		r.mu.Unlock()
	case "change":
		var change struct{ Title, HTML string }
		if err := json.Unmarshal([]byte(data), &change); err != nil {
			r.accuse(err.Error())
			return
		}
		s, err := see(change.HTML)
		if err != nil || strconv.Itoa(s.sequence) != id {
			r.accuse(fmt.Sprintf("event %s of a stream shows %+v (error %v)", id, s, err))
			return
		}
		r.add(s)
	default:
		r.accuse("an event " + event + " of a stream")
	}
}

// add notes a sight. A page must not go back, nor show the same again.
func (r *recipient) add(s sight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.sights); n > 0 && s.sequence <= r.sights[n-1].sequence {
		r.wrong = append(r.wrong, fmt.Sprintf("the stream told %d after %d", s.sequence, r.sights[n-1].sequence))
	}
	if s.steps != s.sequence {
		r.wrong = append(r.wrong, fmt.Sprintf("at %s %d steps were shown after %d events", s.status, s.steps, s.sequence))
	}
	r.sights = append(r.sights, s)
}

func (r *recipient) accuse(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, what)
}

// latest is what the page shows now.
func (r *recipient) latest() sight {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sights) == 0 {
		return sight{}
	}
	return r.sights[len(r.sights)-1]
}

func (r *recipient) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}
