package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/test/backend"
)

// installation is a server and a worker on a database of their own.
type installation struct {
	*bench
	url     string // of the database
	db      *pgx.Conn
	store   *backend.Redis // nil: without one
	serving *server
	worker  *server
	customers
	numbers atomic.Int64 // of creates, and of calls
}

// openInstallation starts one for so many applications. What it returns must be closed, also
// after an error.
func openInstallation(ctx context.Context, b *bench, withRedis bool, applications int, settingsBesides ...string) (*installation, error) {
	in := &installation{bench: b}
	var err error
	if withRedis {
		if in.store, err = backend.StartRedis(ctx); err != nil {
			return in, err
		}
		settingsBesides = append(settingsBesides, "WAYBILL_REDIS_URL="+in.store.URL)
	}
	if in.url, err = b.createDatabase(ctx, fmt.Sprintf("installation_%d", len(b.databases))); err != nil {
		return in, err
	}
	if in.db, err = pgx.Connect(ctx, in.url); err != nil {
		return in, err
	}
	if in.customers, err = enroll(ctx, b.binary, in.url, applications); err != nil {
		return in, err
	}
	env := append(append(settings(in.url), "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true"), settingsBesides...)
	if in.serving, err = launch(b.binary, b.dir, "serve", env); err != nil {
		return in, err
	}
	in.worker, err = launch(b.binary, b.dir, "worker", env)
	return in, err
}

// close undoes openInstallation, also one that stopped half-way; the bench is its own.
func (in *installation) close() error {
	err := errors.Join(in.worker.stop(), in.serving.stop())
	if in.db != nil {
		err = errors.Join(err, in.db.Close(context.Background()))
	}
	return errors.Join(err, stopRedis(in.store))
}

// number is one of a create that was not used before.
func (in *installation) number() int { return int(in.numbers.Add(1)) }

// creates are creates with some of the keys at a pace.
func (in *installation) creates(keys []string, perSecond float64, duration time.Duration) openLoop {
	return openLoop{address: in.serving.address, keys: keys, connections: perApplication * len(keys), perSecond: perSecond,
		duration: duration, number: in.number}
}

// fill sends creates with one key as fast as they are answered, and tells how many.
func (in *installation) fill(ctx context.Context, key string, duration time.Duration) (int, error) {
	l := load{address: in.serving.address, keys: []string{key}, connections: perApplication}
	m, err := l.create(ctx, duration, false, func(int) int { return in.number() })
	return m.operations, errors.Join(err, m.failed())
}

// spent is what its processes have spent so far.
func (in *installation) spent() spent { return in.bench.spent(in.serving, in.worker, in.store) }

// hold stops its processes with SIGSTOP, or lets them go on with SIGCONT.
func (in *installation) hold(signal syscall.Signal) (err error) {
	for _, s := range []*server{in.serving, in.worker} {
		if s != nil {
			err = errors.Join(err, s.Signal(signal))
		}
	}
	return err
}

// settled waits until all webhooks are recorded and no lease of an endpoint is held.
func (in *installation) settled(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); ; {
		var busy bool
		err := in.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE status = 'pending')
			OR EXISTS (SELECT 1 FROM webhook_leases WHERE leased_until > now())`).Scan(&busy)
		if err != nil || !busy {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("after a minute there still are webhooks to be sent")
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// addEndpoint makes an endpoint for all events of deliveries.
func (in *installation) addEndpoint(ctx context.Context, key, url string) (id string, err error) {
	var made struct{ Data struct{ ID string } }
	answer, err := in.call(ctx, key, http.MethodPost, "/webhook-endpoints", `{"url":"http://`+url+`","event_types":["delivery.*"]}`)
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	return made.Data.ID, err
}

// call sends what is not measured. An answer that is not 2xx is an error.
func (in *installation) call(ctx context.Context, key, method, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+in.serving.address+"/v1"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprintf("bench-call-%d", in.number()))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s was answered %d: %s", method, path, res.StatusCode, answer)
	}
	return answer, err
}
