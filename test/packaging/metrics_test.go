package packaging

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"waybill/test/program"
)

// unwatched are the metrics of ours that neither a panel nor an alert shows, and why.
var unwatched = map[string]string{}

// everywhere are labels that Prometheus adds.
var everywhere = []string{"job", "instance"}

// exposed is what the program shows at /metrics: the labels of each metric. It
// comes from two processes: one with a routing engine, a Redis and a collector
// of traces, none of which answers, and one that sends a webhook.
var exposed = sync.OnceValues(func() (map[string][]string, error) {
	dir, err := os.MkdirTemp("", "waybill-packaging-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	found := map[string][]string{ // where a Postgres has replicas; a test of cmd/waybill sees them
		"waybill_database_lists_total": {"server"}, "waybill_database_replica_lag_seconds": {"replica"},
		"waybill_database_replica_behind_bytes": {"replica"},
	}
	for name, variables := range map[string][]string{
		"alone": {"WAYBILL_REDIS_URL=redis://127.0.0.1:1", "WAYBILL_ROUTING_URL=http://127.0.0.1:1",
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"},
		"whole": {},
	} {
		if err := observe(filepath.Join(dir, name), found, name == "whole", variables...); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return found, nil
})

// observe runs a process, drives a little of everything and adds what its
// metrics are.
func observe(dir string, found map[string][]string, sends bool, variables ...string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	settings := append(variables, "WAYBILL_RATE_LIMIT_PER_KEY=5/60s")
	p, err := program.Start(binary, dir, append(settings, program.FreePorts...), "dev", "--data-dir", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := p.Await(); err != nil {
		return err
	}
	vars := p.Vars
	call := func(path string, body any) {
		encoded, _ := json.Marshal(body)
		req, _ := http.NewRequest(http.MethodPost, vars["WAYBILL_SANDBOX_URL"]+path, bytes.NewReader(encoded))
		req.Header.Set("Authorization", "Bearer "+vars["WAYBILL_TEST_KEY"])
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "key-of-"+path)
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}
	call("/webhook-endpoints", map[string]any{"url": "http://127.0.0.1:1/hooks"})
	call("/deliveries", map[string]any{
		"pickup_location_id": vars["WAYBILL_PICKUP_ID"], "vehicle_type": "bike", "payment": map[string]any{"type": "delivery_only"},
		"recipient": map[string]any{"name": "Ama", "phone_number": "024 412 3456",
			"address": map[string]any{"address": "7 Ring Road", "latitude": 5.6037, "longitude": -0.187}},
	})
	for range 6 { // more than the limit
		call("/quotes", map[string]any{})
	}
	for deadline := time.Now().Add(program.Patience); ; <-time.After(20 * time.Millisecond) {
		readMetrics(get(vars["WAYBILL_OPS_URL"]+"/metrics"), found)
		if !sends || found["waybill_webhook_attempts_total"] != nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s the metrics tell of no webhook", program.Patience)
		}
	}
}

// get is the body of a 200, or "".
func get(url string) string {
	res, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)

// readMetrics adds the samples of an exposition.
func readMetrics(text string, found map[string][]string) {
	for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
		parts := sample.FindStringSubmatch(scan.Text())
		if parts == nil {
			continue
		}
		labels := found[parts[1]]
		if labels == nil {
			labels = []string{}
		}
		for _, m := range matcher.FindAllStringSubmatch(quoted.ReplaceAllString(parts[2], ""), -1) {
			if !slices.Contains(labels, m[1]) {
				labels = append(labels, m[1])
			}
		}
		found[parts[1]] = labels
	}
}

// expressions are those of the alerts and the dashboard, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, rule := range alerts(t) {
		all["alert "+rule.Alert] = rule.Expr
	}
	for _, p := range board(t).Panels {
		for _, target := range p.Targets {
			all["panel "+p.Title+" "+target.RefID] = target.Expr
		}
	}
	return all
}

func TestAlertsAndPanelsAskForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	there, err := exposed()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for place, expression := range expressions(t) {
		asked := metricsOf(expression)
		if len(asked) == 0 {
			t.Errorf("%s asks for no metric: %s", place, expression)
		}
		for name, labels := range asked {
			used[family(name)] = true
			known, ok := there[name]
			if !ok && name != "up" { // up is made by Prometheus
				t.Errorf("%s: there is no metric %s", place, name)
			}
			for _, label := range labels {
				if ok && !slices.Contains(known, label) && !slices.Contains(everywhere, label) {
					t.Errorf("%s: %s has no label %s, only %q", place, name, label, known)
				}
			}
		}
	}
	families := 0
	for name := range there {
		if !strings.HasPrefix(name, "waybill_") {
			continue
		}
		families++
		if f := family(name); !used[f] && unwatched[f] == "" {
			t.Errorf("no panel and no alert shows %s; show it, or say in unwatched why not", f)
		}
	}
	for name := range unwatched {
		if used[name] {
			t.Errorf("%s is unwatched, and it is shown", name)
		}
	}
	t.Logf("%d expressions, %d series of ours", len(expressions(t)), families)
}

// family is the name of a metric without what a histogram adds.
func family(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			return base
		}
	}
	return name
}

// rule is one alert.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range alerts(t) {
		if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Waybill") {
			t.Errorf("%q is there twice, or does not say whose it is", r.Alert)
		}
		seen[r.Alert] = true
		if d, err := time.ParseDuration(r.For); err != nil || d <= 0 {
			t.Errorf("%s: for is %q; a moment is no alert", r.Alert, r.For)
		}
		if severity := r.Labels["severity"]; severity != "page" && severity != "ticket" {
			t.Errorf("%s: severity is %q, want page or ticket", r.Alert, severity)
		}
		if len(r.Annotations["summary"]) < 20 || len(r.Annotations["runbook"]) < 80 {
			t.Errorf("%s: summary or runbook tells too little: %v", r.Alert, r.Annotations)
		}
		for _, command := range regexp.MustCompile("`waybill ([a-z ]+)`").FindAllStringSubmatch(r.Annotations["runbook"], -1) {
			if problem := isCommand(t, strings.Fields(command[1])...); problem != "" {
				t.Errorf("%s: %s", r.Alert, problem)
			}
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: the rules were read by this test alone")
		return
	}
	if out, err := exec.Command(promtool, "check", "rules", filepath.Join(root, "configs", "prometheus",
		"alerts.yaml")).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// dashboard is what the tests look at of Grafana's JSON.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID          int
		Type, Title string
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ RefID, Expr string }
	}
	Templating struct {
		List []struct{ Name string }
	}
}

func board(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "grafana/waybill.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheDashboardFitsTogether(t *testing.T) {
	t.Parallel()
	d := board(t)
	known := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		known = append(known, v.Name)
	}
	ids, rows := map[int]bool{}, []string{}
	for i, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: another panel has the ID %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s is beyond the right edge", p.Title)
		}
		for _, other := range d.Panels[:i] {
			a, b := p.GridPos, other.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies over %s", p.Title, other.Title)
			}
		}
		for _, target := range p.Targets {
			for _, v := range regexp.MustCompile(`\$\{?([A-Za-z_]+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !slices.Contains(known, v[1]) {
					t.Errorf("%s: there is no variable $%s", p.Title, v[1])
				}
			}
		}
	}
	want := []string{"API", "Creates", "Webhooks", "Simulations", "Pricing and routing", "Storage pools", "Queue and Redis", "Tracking pages",
		"Processes", "People"}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
}
