package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/configs"
	"waybill/ports"
)

// jobShown is the beginning of the metric of a job's last success.
func jobShown(name string) string {
	return `waybill_job_last_success_timestamp_seconds{name="` + name + `"} `
}

func TestAWorkerWorksUntilItIsTold(t *testing.T) {
	t.Parallel()
	// It needs no pepper: it knows no API key.
	environ := slices.DeleteFunc(served(t), func(v string) bool { return strings.Contains(v, "PEPPER") })
	r, v := startWorker(t, environ)
	if v != (admin.ServingView{Ops: v.Ops}) || strings.Contains(r.stdout.String(), "live_url") {
		t.Errorf("it tells of an API: %s", r.stdout.String())
	}
	if code := status(v.Ops + "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d", code)
	}
	eventuallyShows(t, v.Ops, []string{"waybill_simulations_running 0\n", "waybill_simulation_lateness_seconds_count 0\n", "go_goroutines ",
		"waybill_webhook_delay_seconds_count 0\n", "waybill_webhook_backlog 0\n", "waybill_webhook_backlog_age_seconds 0\n",
		"waybill_feed_lag_seconds 0\n", "waybill_webhook_endpoints_disabled 0\n", `waybill_webhook_sending_paused_seconds{environment="live"} 0`,
		jobShown("cleaning"), jobShown("due_webhooks"), jobShown("due_steps"), jobShown("clock"), jobShown("webhook_notifications"),
		jobShown("webhook_leases")})
	r.terminate(t)
	for line := range strings.Lines(r.stderr.String()) {
		var fields object
		if err := json.Unmarshal([]byte(line), &fields); err != nil || strings.Contains(line, "omitted") {
			t.Errorf("logged %q: %v", line, err)
		}
	}
	if status(v.Ops+"/healthz") != 0 {
		t.Error("its listener is still open")
	}
}

func TestAWorkerTellsWhatItNeeds(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	empty := "WAYBILL_DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "empty.db")
	secret := "WAYBILL_SECRET_KEY=" + strings.Repeat("s", 32)
	for name, c := range map[string]struct{ environ, want []string }{
		"no database": {freePorts, []string{"error: there is no database in ", "WAYBILL_DATABASE_URL is not set\n", "fix:"}},
		"no secret":   {append(slices.Clone(freePorts), empty), []string{"error: WAYBILL_SECRET_KEY is not set; webhooks need it\n", "fix:"}},
		"database behind": {append(slices.Clone(freePorts), empty, secret), []string{"error: the database is behind this program\n",
			"fix:      waybill migrate up\n"}},
		"port in use": {[]string{empty, secret, "WAYBILL_OPS_ADDR=" + taken.Addr().String()},
			[]string{"error: port " + port + " is in use on 127.0.0.1\n  used for: health and metrics (WAYBILL_OPS_ADDR)\n  fix:      stop the " +
				"other program, or WAYBILL_OPS_ADDR="}},
		"a bad setting": {[]string{empty, "WAYBILL_OPS_ADDR=x"}, []string{"WAYBILL_OPS_ADDR is"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := refusal(t, c.environ, "worker", "--data-dir", filepath.Join(t.TempDir(), "none"))
			for _, want := range c.want {
				if o.code != term.ExitFailure || !strings.Contains(o.stderr, want) || o.stdout != "" {
					t.Errorf("exit code %d without %q\n%s", o.code, want, o.stderr)
				}
			}
			if strings.Contains(o.stderr, "hunter22") {
				t.Errorf("the password shows\n%s", o.stderr)
			}
		})
	}
}

func TestAWorkerHasFlagsForWhatItUses(t *testing.T) {
	t.Parallel()
	help := command(t, nil, "worker", "--help").stdout
	for _, name := range workerSettings {
		if flag := " --" + strings.ReplaceAll(name, "_", "-") + " "; !strings.Contains(help, flag) {
			t.Errorf("the help lacks%s", flag)
		}
	}
	for _, flag := range []string{"--live-addr", "--sandbox-addr", "--pricing-url", "--rate-limit-per-key"} {
		if strings.Contains(help, flag) {
			t.Errorf("the help has %s", flag)
		}
	}
	if o := refusal(t, nil, "worker", "--live-addr", "127.0.0.1:0"); strings.Contains(o.stderr, "unknown flag") {
		t.Errorf("a flag of serve is refused: %s", o.stderr)
	}
}

// simulation is what the API says of a delivery.
func simulation(t *testing.T, v admin.ServingView, key, id string) object {
	t.Helper()
	code, answer := call(t, http.MethodGet, v.Sandbox+"/deliveries/"+id, key, "")
	if code != http.StatusOK {
		t.Fatalf("%d: %v", code, answer)
	}
	return answer["data"].(object)["simulation"].(object)
}

// book starts a scenario in the sandbox of a server.
func book(t *testing.T, v admin.ServingView, key, scenario string, stepSeconds int) (id string, due time.Time) {
	t.Helper()
	o := command(t, []string{"WAYBILL_SANDBOX_URL=" + v.Sandbox, "WAYBILL_TEST_KEY=" + key}, "trigger", scenario, "--step-seconds",
		strconv.Itoa(stepSeconds), "--json")
	var begun triggered
	if err := json.Unmarshal([]byte(o.stdout), &begun); err != nil || o.code != term.ExitOK {
		t.Fatalf("%v\n%s", err, o.stderr)
	}
	return begun.Delivery.ID, begun.Steps[0].DueAt
}

func TestServersLeaveTheStepsToWorkers(t *testing.T) {
	t.Parallel()
	environ := served(t)
	server, v := startServe(t, environ)
	_, key := madeKey(t, environ, "sandbox")
	id, due := book(t, v, key, "failed_at_pickup", 1)
	// Longer than a process that does steps needs for one.
	eventually(t, "the step is overdue", func() bool { return time.Since(due) > time.Second })
	if s := simulation(t, v, key, id); s["step"] != 0.0 || s["status"] != "running" {
		t.Fatalf("the server did a step: %v", s)
	}

	worker, _ := startWorker(t, environ)
	eventually(t, "the worker did both steps", func() bool { return simulation(t, v, key, id)["status"] == "completed" })
	worker.terminate(t)

	id, due = book(t, v, key, "delivered", 1)
	eventually(t, "the next step is overdue", func() bool { return time.Since(due) > time.Second })
	if s := simulation(t, v, key, id); s["step"] != 0.0 {
		t.Errorf("a step was done after the worker had ended: %v", s)
	}
	server.terminate(t)
}

// brokenQueue does not begin.
type brokenQueue struct {
	ports.Queue
	err error
}

func (q brokenQueue) Run(context.Context, map[ports.JobKind]ports.Handler) error { return q.err }

// A process that does nothing of what is due must not look as if it did.
func TestAWorkerWhoseQueueFailsEnds(t *testing.T) {
	t.Parallel()
	c, err := configs.Load(configs.Sources{Environ: served(t)})
	if err != nil {
		t.Fatal(err)
	}
	servers, err := listenOps(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	w, closeWorker, err := openWorker(t.Context(), c, settings.PublicURLs{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer closeWorker()
	broken := errors.New("the server is in the stopped state")
	w.background.queue = brokenQueue{w.background.queue, broken}
	err = w.run(t.Context(), servers)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "what becomes due cannot be done here: ") {
		t.Errorf("it ended with %v", err)
	}
	if status(settings.Origin(servers.ops)+"/readyz") != 0 {
		t.Error("its listener is still open")
	}
}
