package docs

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

// receivers are the samples that the portal shows beside a signature that does not verify:
// each is a whole receiver.
var receivers = []struct {
	program, sample, file string
	args                  []string // and behind them where it listens
}{
	{"php", "receive.php", "receive.php", nil},
	{"python3", "receive.py", "receive.py", []string{"receive.py"}},
	{"node", "receive.mjs", "receive.mjs", []string{"receive.mjs"}},
	{"go", "receive.go.txt", "receive.go", []string{"run", "receive.go"}},
}

func TestTheReceiversOfThePortalTakeWhatIsSoundAndNothingElse(t *testing.T) {
	t.Parallel()
	secret, before := []byte(strings.Repeat("s", domain.SigningSecretBytes)), []byte(strings.Repeat("b", domain.SigningSecretBytes))
	for _, r := range receivers {
		t.Run(r.program, func(t *testing.T) {
			t.Parallel()
			needs(t, r.program)
			dir := t.TempDir()
			text, err := os.ReadFile(filepath.Join("../../adapters/portal/samples", r.sample))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, r.file), text, 0o600); err != nil {
				t.Fatal(err)
			}
			at := freeAddress(t)
			_, port, _ := net.SplitHostPort(at)
			args := append(r.args, port)
			if r.program == "php" {
				args = []string{"-S", at, r.file}
			}
			cmd := exec.CommandContext(t.Context(), r.program, args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "WEBHOOK_SECRET="+domain.FormatSigningSecret(secret), "GOFLAGS=", "GO111MODULE=off")
			cmd.WaitDelay = time.Second
			own(cmd)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { end(cmd) })
			listening(t, at)
			id, now, body := domain.MakeID(domain.PrefixEvent, [16]byte{1}), time.Now(), `{"note":"Café <Osu>"}`
			for name, c := range map[string]struct {
				secrets [][]byte
				at      time.Time
				body    string
				leave   string
				want    int
			}{
				"sound":                     {[][]byte{secret}, now, body, "", http.StatusNoContent},
				"two secrets":               {[][]byte{before, secret}, now, body, "", http.StatusNoContent},
				"another secret":            {[][]byte{before}, now, body, "", http.StatusBadRequest},
				"late":                      {[][]byte{secret}, now.Add(-10 * time.Minute), body, "", http.StatusBadRequest},
				"a body with another end":   {[][]byte{secret}, now, body + "\n", "", http.StatusBadRequest},
				"a header is gone":          {[][]byte{secret}, now, body, domain.HeaderWebhookSignature, http.StatusBadRequest},
				"the ID of another webhook": {[][]byte{secret}, now, body, domain.HeaderWebhookID, http.StatusBadRequest},
			} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/", strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set(domain.HeaderWebhookID, string(id))
				req.Header.Set(domain.HeaderWebhookTimestamp, fmt.Sprint(c.at.Unix()))
				req.Header.Set(domain.HeaderWebhookSignature, domain.SignWebhook(c.secrets, id, c.at, []byte(body)))
				req.Header.Del(c.leave)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if res.StatusCode != c.want {
					t.Errorf("%s: %d, want %d", name, res.StatusCode, c.want)
				}
			}
		})
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

func listening(t *testing.T, at string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
