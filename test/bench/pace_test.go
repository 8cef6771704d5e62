package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCreatesBeginAtMomentsOfChanceAndAtThePaceAskedFor(t *testing.T) {
	t.Parallel()
	all := moments(200, 50*time.Second, rand.New(rand.NewPCG(1, 2)))
	if n := len(all); n < 9500 || n > 10500 { // five times the deviation
		t.Errorf("%d moments in 50 s at 200 a second", n)
	}
	if !slices.IsSorted(all) || all[0] != 0 || all[len(all)-1] >= 50*time.Second {
		t.Errorf("from %v to %v", all[0], all[len(all)-1])
	}
	close := 0
	for i := range all[1:] {
		if all[i+1]-all[i] < 500*time.Microsecond { // a tenth of the average
			close++
		}
	}
	if close < 700 || close > 1200 { // 951 of 10,000, by e^-x
		t.Errorf("%d of %d are close to the one before", close, len(all))
	}
}

func TestALatencyIsCountedFromTheMomentAtWhichACreateWasToBegin(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if served.Add(1) <= paceConnections {
			<-hold // all connections are busy
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(s.Close)
	numbers := 0
	numbered := make(chan int)
	go func() {
		for {
			numbers++
			select {
			case numbered <- numbers:
			case <-t.Context().Done():
				return
			}
		}
	}()
	const held = time.Second
	time.AfterFunc(held, func() { close(hold) })
	l := paceLoad{addresses: []string{strings.TrimPrefix(s.URL, "http://")}, of: []application{{key: "k"}}, duration: 250 * time.Millisecond,
		number: func() int { return <-numbered }}
	m, err := l.openLoop(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if m.operations <= paceConnections {
		t.Fatalf("%d creates are no more than connections", m.operations)
	}
	// Those behind the held ones were answered at once, but not when they were due.
	if fastest := m.quantile(0); fastest < 100*time.Millisecond {
		t.Errorf("the fastest took %v: it was not counted from its moment", fastest)
	}
}

func TestARelayCountsRoundTripsByWhatWasAsked(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for {
			if _, err := in.ReadString('!'); err != nil { // the end of what a test sends
				return
			}
			_, _ = io.WriteString(c, "+OK\r\n")
		}
	}()
	r, err := startRelay(l.Addr().String(), redisCommands)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close() })
	c, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	answers := bufio.NewReader(c)
	for _, sent := range []string{
		"*3\r\n$7\r\nevalsha\r\n$1\r\na\r\n$1\r\n!\r\n",
		"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n!\r\n", // two at a time
		"*3\r\n$7\r\nEVALSHA\r\n$1\r\na\r\n$1\r\n!\r\n",
	} {
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.take(), map[string]int{"EVALSHA": 2, "GET, SET": 1}; !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	if again := r.take(); len(again) != 0 {
		t.Errorf("counted twice: %v", again)
	}
}

func TestStatementsAreNamedAlsoInPiecesAndWhenTheyWerePreparedBefore(t *testing.T) {
	t.Parallel()
	message := func(kind byte, parts ...string) []byte {
		body := strings.Join(parts, "\x00")
		var m []byte
		if kind != 0 {
			m = []byte{kind}
		}
		return append(binary.BigEndian.AppendUint32(m, uint32(len(body)+4)), body...)
	}
	var sent []byte
	for _, m := range [][]byte{
		message(0, "user", "x", ""),
		message('P', "s1", "INSERT INTO \"deliveries\" (id) VALUES ($1)", ""),
		message('D', "Ss1", ""),
		message('Q', "begin", ""),
		message('B', "", "s1", ""),
		message('E', "", ""),
		message('P', "", "-- a look\n SELECT k.id FROM unnest($1::uuid[]) AS a JOIN LATERAL (SELECT * FROM api_keys) AS k ON true", ""),
		message('B', "", "", ""),
		message('Q', "commit", ""),
	} {
		sent = append(sent, m...)
	}
	want := []string{"connect", "prepare", "BEGIN", "INSERT deliveries", "SELECT api_keys", "COMMIT"}
	for _, size := range []int{1, 7, len(sent)} {
		read := postgresStatements()
		var got []string
		for piece := range slices.Chunk(sent, size) {
			got = append(got, read(piece)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
	if got := together([]string{"a", "b", "c", "d", "e"}); got != "a, b, c and 2 more" {
		t.Errorf("five at a time are told as %q", got)
	}
}

func TestSwitchesOfAProcessThatHasEndedAreNotTakenAway(t *testing.T) {
	t.Parallel()
	if n := switched(map[int]int{1: 15, 3: 7}, map[int]int{1: 10, 2: 4000}); n != 12 {
		t.Errorf("%d switches, want 5 of the first and 7 of the new one", n)
	}
	if n := switchesOf(os.Getpid()); n == 0 {
		t.Error("this process never gave up a processor")
	}
	if all := family(os.Getppid()); !slices.Contains(all, os.Getpid()) {
		t.Errorf("%d is no child of its parent: %v", os.Getpid(), all)
	}
}

func TestACountOfPerfIsReadAndWhatItCannotCountIsAnError(t *testing.T) {
	t.Parallel()
	if n, err := perfCount("12345,,raw_syscalls:sys_enter,5000000,100.00,,\n"); err != nil || n != 12345 {
		t.Errorf("%d, %v", n, err)
	}
	for _, told := range []string{"<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n", "event syntax error\n", ""} {
		if n, err := perfCount(told); err == nil {
			t.Errorf("%q counts %d", told, n)
		}
	}
}

func TestPacesAreNumbersAndFullLoadIsMeasuredBeforeItsShare(t *testing.T) {
	t.Parallel()
	paces, err := parsePaces("200, 20")
	if err != nil || !slices.Equal(paces, []int{200, 20}) {
		t.Fatalf("%v, %v", paces, err)
	}
	for _, text := range []string{"", "0", "fast", "20,,200"} {
		if _, err := parsePaces(text); err == nil {
			t.Errorf("%q is taken for paces", text)
		}
	}
	var names []string
	for _, p := range (&paced{paceOptions: paceOptions{share: 0.7}}).pacesOf(paces) {
		names = append(names, p.name)
	}
	if want := []string{"full load", "70 % of full load", "200/s", "20/s"}; !slices.Equal(names, want) {
		t.Errorf("measured at %q, want %q", names, want)
	}
	if n := len((&paced{}).pacesOf(paces)); n != 2 {
		t.Errorf("without a share there are %d paces", n)
	}
}

func TestWhatACreateCostsIsSetAgainstFAndFullLoadRoundByRound(t *testing.T) {
	t.Parallel()
	figure := func(ms, cpu int) paceFigure {
		return paceFigure{measurement: measurement{operations: 2, latencies: []time.Duration{time.Duration(ms) * time.Millisecond}},
			spent: spent{serve: time.Duration(cpu) * time.Millisecond}}
	}
	run := &paced{subjects: []*paceSubject{
		{name: pgbenchF, figures: map[string][]paceFigure{"200/s": {figure(2, 1), figure(4, 1)}}},
		{name: "create, Redis", in: &installation{}, figures: map[string][]paceFigure{
			"200/s": {figure(5, 6), figure(6, 8)}, atFull: {figure(40, 2), figure(40, 1)}}},
	}}
	got := map[string][]float64{}
	for _, g := range run.goals() {
		got[g.name] = g.values
	}
	for name, want := range map[string][]float64{
		"create, Redis: p50 / F at 200/s": {2.5, 1.5}, "create, Redis: CPU / full load": {3, 8}, "create, Redis: p99 / F at 70 %": {},
	} {
		if values, there := got[name]; !there || !slices.Equal(values, want) {
			t.Errorf("%s: %v, want %v", name, values, want)
		}
	}
}
