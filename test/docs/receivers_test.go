package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/receivers"
	"waybill/domain"
	"waybill/test/sample"
)

// receiver is a program that receives webhooks, and how a reader runs it.
type receiver struct {
	file, saved string // its name in adapters/receivers and where a reader saves it
	path        string // of its URL
	program     string
	run, verify []string // arguments; verify reads letters
	beside      []string // more files, in testdata
	serves      bool     // the program listens by itself: `php -S`
	has         string   // code that fails without the framework
	install     string   // package with the framework
}

var allReceivers = []receiver{
	{file: "receive.php", saved: "public/receive.php", path: "/webhooks/waybill", program: "php", run: []string{"public/receive.php"},
		verify: []string{"verify.php"}, beside: []string{"verify/verify.php"}, serves: true},
	{file: "receive.py", saved: "receive.py", path: "/webhooks/waybill", program: "python3", run: []string{"receive.py"},
		verify: []string{"verify.py", "receive"}, beside: []string{"verify/verify.py"}},
	{file: "receive.mjs", saved: "receive.mjs", path: "/webhooks/waybill", program: "node", run: []string{"receive.mjs"},
		verify: []string{"verify.mjs", "./receive.mjs"}, beside: []string{"verify/verify.mjs"}},
	{file: "receive.go.txt", saved: "receive.go", path: "/webhooks/waybill", program: "go", run: []string{"run", "receive.go"},
		verify: []string{"run", "receive.go", "verify.go"}, beside: []string{"verify/verify.go.txt"}},
	{file: "receive_laravel.php", saved: "routes/api.php", path: "/api/webhooks/waybill", program: "php", run: []string{"index.php"},
		verify: []string{"verify_laravel.php"}, beside: []string{"laravel/app.php", "laravel/index.php", "verify/verify_laravel.php"},
		serves: true, has: `require "Illuminate/autoload.php"; new Illuminate\Foundation\Application;`, install: "php-laravel-framework"},
	{file: "receive_flask.py", saved: "receive_flask.py", path: "/webhooks/waybill", program: "python3", run: []string{"receive_flask.py"},
		verify: []string{"verify.py", "receive_flask"}, beside: []string{"verify/verify.py"},
		has: "import flask", install: "python3-flask"},
	{file: "receive_express.cjs", saved: "receive_express.cjs", path: "/webhooks/waybill", program: "node",
		run: []string{"receive_express.cjs"}, verify: []string{"verify.mjs", "./receive_express.cjs"}, beside: []string{"verify/verify.mjs"},
		has: `require("express")`, install: "node-express"},
}

// prepare writes the receiver and what it needs into a folder. It skips the test where the language
// or the framework is missing.
func (r *receiver) prepare(t *testing.T) (dir string) {
	t.Helper()
	needs(t, r.program)
	if r.install != "" {
		r.program = withModule(t, r.program, r.has, r.install)
	}
	dir = t.TempDir()
	text, err := receivers.Files.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, r.saved), string(text))
	for _, file := range r.beside {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".txt")), string(text))
	}
	return dir
}

// moduleEnv lets Node find the modules that Debian packages.
const moduleEnv = "NODE_PATH=/usr/share/nodejs"

// withModule returns the interpreter of a language that has a module: the first in the path, or
// Debian's own.
func withModule(t *testing.T, program, has, install string) string {
	t.Helper()
	flag := map[string]string{"php": "-r", "python3": "-c", "node": "-e"}[program]
	for _, candidate := range []string{program, "/usr/bin/" + program} {
		cmd := exec.CommandContext(t.Context(), candidate, flag, has)
		cmd.Env = append(os.Environ(), moduleEnv)
		if cmd.Run() == nil {
			return candidate
		}
	}
	missing(t, install)
	return ""
}

// environment returns the variables of a receiver.
func environment(secret, port string) []string {
	all := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WAYBILL_") })
	all = append(all, "PORT="+port, "GOFLAGS=", moduleEnv)
	if secret != "" {
		all = append(all, "WAYBILL_WEBHOOK_SECRET="+secret)
	}
	return all
}

// TestReceiversVerifySignatures shows the verification of each receiver the same letters as our
// clients get, at the time at which each was sent.
func TestReceiversVerifySignatures(t *testing.T) {
	t.Parallel()
	for _, r := range allReceivers {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			dir := r.prepare(t)
			// A receiver has one secret.
			all := slices.DeleteFunc(sample.All(t), func(l sample.Letter) bool { return len(l.Secrets) > 1 })
			input, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			env := environment(domain.FormatSigningSecret([]byte("another secret")), "0")
			verdicts := strings.Fields(outputWith(t, dir, env, string(input), r.program, r.verify...))
			if len(verdicts) != len(all) {
				t.Fatalf("%d verdicts on %d letters: %q", len(verdicts), len(all), verdicts)
			}
			for i, l := range all {
				if verdicts[i] != fmt.Sprint(l.Good) {
					t.Errorf("%s: verified is %s, want %t", l.What, verdicts[i], l.Good)
				}
			}
		})
	}
}

// running is a receiver that has been started.
type running struct {
	url, dir string
	exited   chan struct{}
}

// start starts a receiver and waits until it listens or has ended.
func (r *receiver) start(t *testing.T, secret string) *running {
	t.Helper()
	dir, at := r.prepare(t), freeAddress(t)
	_, port, _ := net.SplitHostPort(at)
	args := r.run
	if r.serves {
		args = append([]string{"-S", at}, args...)
	}
	cmd := exec.CommandContext(t.Context(), r.program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(secret, port), time.Second
	own(cmd)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started := &running{"http://" + at + r.path, dir, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(started.exited)
	}()
	t.Cleanup(func() {
		kill(cmd)
		<-started.exited
		if t.Failed() {
			t.Logf("%s printed:\n%s", r.file, started.log(t))
		}
	})
	for end := time.Now().Add(patience); ; {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
		if err == nil {
			_ = c.Close()
			return started
		}
		select {
		case <-started.exited:
			return started
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("it does not listen: %v", err)
		}
	}
}

// log returns what the receiver has printed.
func (r *running) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inbox returns the events that the receiver stored, by file name.
func (r *running) inbox(t *testing.T) map[string]string {
	t.Helper()
	stored := map[string]string{}
	err := filepath.WalkDir(r.dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(filepath.Dir(path)) == "waybill-inbox" {
			var text []byte
			text, err = os.ReadFile(path)
			stored[filepath.Base(path)] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// post sends a webhook and returns the status of the response.
func (r *running) post(t *testing.T, id domain.ID, at time.Time, signature, body string, without string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(domain.HeaderWebhookID, string(id))
	req.Header.Set(domain.HeaderWebhookTimestamp, fmt.Sprint(at.Unix()))
	req.Header.Set(domain.HeaderWebhookSignature, signature)
	req.Header.Del(without)
	client := http.Client{Timeout: patience}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestReceiversTakeGoodWebhooksOnceAndRefuseOthers(t *testing.T) {
	t.Parallel()
	secret, before := []byte(strings.Repeat("s", domain.SigningSecretBytes)), []byte(strings.Repeat("b", domain.SigningSecretBytes))
	for _, r := range allReceivers {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			to := r.start(t, domain.FormatSigningSecret(secret))
			now, body := time.Now(), `{"type":"delivery.created","note":"Café <Osu>"}`
			ids := [3]domain.ID{}
			for i := range ids {
				ids[i] = domain.MakeID(domain.PrefixEvent, [16]byte{byte(i)})
			}
			for _, c := range []struct {
				what    string
				id      domain.ID
				secrets [][]byte
				at      time.Time
				body    string
				without string
				want    int
				why     string // of a refusal
			}{
				{"another secret", ids[0], [][]byte{before}, now, body, "", http.StatusBadRequest, "the signature"},
				{"late", ids[0], [][]byte{secret}, now.Add(-10 * time.Minute), body, "", http.StatusBadRequest, "webhook-timestamp"},
				{"early", ids[0], [][]byte{secret}, now.Add(10 * time.Minute), body, "", http.StatusBadRequest, "webhook-timestamp"},
				{"a body with another end", ids[0], [][]byte{secret}, now, body + "\n", "", http.StatusBadRequest, "the signature"},
				{"an empty body", ids[0], [][]byte{secret}, now, "", "", http.StatusBadRequest, "the signature"},
				{"no signature", ids[0], [][]byte{secret}, now, body, domain.HeaderWebhookSignature, http.StatusBadRequest, "the signature"},
				{"no timestamp", ids[0], [][]byte{secret}, now, body, domain.HeaderWebhookTimestamp, http.StatusBadRequest, "webhook-timestamp"},
				{"no ID", ids[0], [][]byte{secret}, now, body, domain.HeaderWebhookID, http.StatusBadRequest, "webhook-id"},
				{"an ID that leaves the folder", "../" + ids[0], [][]byte{secret}, now, body, "", http.StatusBadRequest, "webhook-id"},
				{"good", ids[1], [][]byte{secret}, now, body, "", http.StatusNoContent, ""},
				{"the same again", ids[1], [][]byte{secret}, now.Add(time.Second), body, "", http.StatusNoContent, ""},
				{"signed with two secrets", ids[2], [][]byte{before, secret}, now, body, "", http.StatusNoContent, ""},
			} {
				signature := domain.SignWebhook(c.secrets, c.id, c.at, []byte(body))
				before := len(to.log(t))
				if got := to.post(t, c.id, c.at, signature, c.body, c.without); got != c.want {
					t.Errorf("%s: %d, want %d", c.what, got, c.want)
				}
				if printed := to.log(t)[before:]; c.want == http.StatusBadRequest && !strings.Contains(printed, "webhook refused: "+c.why) {
					t.Errorf("%s: it printed %q, want why it refuses: %s", c.what, printed, c.why)
				}
			}
			stored := to.inbox(t)
			if len(stored) != 2 || stored[string(ids[1])+".json"] != body || stored[string(ids[2])+".json"] != body {
				t.Errorf("it stored %q, want the bodies of %s and %s", stored, ids[1], ids[2])
			}
		})
	}
}

// TestReceiversWithoutASecretTakeNothing guards against an empty key, with which anybody can sign.
func TestReceiversWithoutASecretTakeNothing(t *testing.T) {
	t.Parallel()
	for _, r := range allReceivers {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			to := r.start(t, "")
			select {
			case <-to.exited:
				if log := to.log(t); !strings.Contains(log, "Set WAYBILL_WEBHOOK_SECRET first.") {
					t.Errorf("it ended and printed %q", log)
				}
				return
			default:
			}
			id, now, body := domain.MakeID(domain.PrefixEvent, [16]byte{1}), time.Now(), `{"type":"delivery.created"}`
			if got := to.post(t, id, now, domain.SignWebhook([][]byte{{}}, id, now, []byte(body)), body, ""); got != http.StatusInternalServerError {
				t.Errorf("it answers %d to a webhook that is signed with an empty key", got)
			}
			if log := to.log(t); !strings.Contains(log, "webhook refused: set WAYBILL_WEBHOOK_SECRET") {
				t.Errorf("it printed %q", log)
			}
		})
	}
}

// TestTheGuideShowsTheReceivers looks for each as it is run above.
func TestTheGuideShowsTheReceivers(t *testing.T) {
	page := serve(t).page(t, "/webhooks.md")
	for _, r := range allReceivers {
		text, err := receivers.Files.ReadFile(r.file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, strings.TrimSpace(string(text))) {
			t.Errorf("the page does not show %s", r.file)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
