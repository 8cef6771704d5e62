package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/domain"
)

// application is a customer and the inboxes that his endpoints lead to.
type application struct {
	key     string
	inboxes []string
}

// post is a server and a worker on one Postgres and one Redis, and applications
// whose webhooks are received.
type post struct {
	*bench
	binary   string // of the program that runs
	db       *pgx.Conn
	store    *ownRedis
	env      []string
	serving  *server
	worker   *server
	receiver *receiver
	enrolled customers

	one, four, sixteen application // by the number of endpoints
	neighbours         []application

	numbers  atomic.Int64 // of creates, and of calls
	mu       sync.Mutex
	answered map[int]time.Time // when each create of a trial was
}

// mostNeighbours is how many applications there may be that hang.
const mostNeighbours = 50

// openPost starts everything, of one build of the program and with settings besides the usual. What it returns must be
// closed, also after an error.
func openPost(ctx context.Context, b *bench, binary string, settingsBesides ...string) (p *post, err error) {
	store, err := startRedis(ctx)
	if err != nil {
		return &post{bench: b}, err
	}
	return openPostOn(ctx, b, binary, store, append(settingsBesides, "WAYBILL_REDIS_URL="+store.url)...)
}

// openPostOn does so on a Redis that it then owns; nil: without one.
func openPostOn(ctx context.Context, b *bench, binary string, store *ownRedis, settingsBesides ...string) (p *post, err error) {
	p = &post{bench: b, binary: binary, store: store}
	database, err := b.createDatabase(ctx, fmt.Sprintf("webhooks_%d", len(b.databases)))
	if err != nil {
		return p, err
	}
	if p.db, err = pgx.Connect(ctx, database); err != nil {
		return p, err
	}
	if err := command(ctx, binary, database, nil, "migrate", "up"); err != nil {
		return p, err
	}
	if p.enrolled, err = enroll(ctx, binary, database, domain.Live, 3+mostNeighbours); err != nil {
		return p, err
	}
	keys := p.enrolled.keys
	p.env = append(settings(database), "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true")
	p.env = append(p.env, settingsBesides...)
	if p.serving, err = launch(ctx, binary, b.dir, "serve", p.env); err != nil {
		return p, err
	}
	if p.worker, err = launch(ctx, binary, b.dir, "worker", p.env); err != nil {
		return p, err
	}
	if p.receiver, err = startReceiver(1 + 4 + 16 + mostNeighbours); err != nil {
		return p, err
	}
	inboxes := p.receiver.addresses
	next := func(n int) application {
		a := application{key: keys[0], inboxes: inboxes[:n]}
		keys, inboxes = keys[1:], inboxes[n:]
		return a
	}
	p.one, p.four, p.sixteen = next(1), next(4), next(16)
	for range mostNeighbours {
		p.neighbours = append(p.neighbours, next(1))
	}
	for _, a := range []application{p.one, p.four, p.sixteen} {
		for _, inbox := range a.inboxes {
			if _, err := p.addEndpoint(ctx, a, inbox+"/hooks"); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// close undoes openPost, also one that stopped half-way; the bench is its own.
func (p *post) close() error {
	var err error
	for _, s := range []*server{p.worker, p.serving} {
		if s != nil {
			err = errors.Join(err, s.stop())
		}
	}
	if p.receiver != nil {
		err = errors.Join(err, p.receiver.stop())
	}
	if p.db != nil {
		err = errors.Join(err, p.db.Close(context.Background()))
	}
	if p.store != nil {
		err = errors.Join(err, p.store.stop())
	}
	return err
}

// addEndpoint makes an endpoint for all events of deliveries.
func (p *post) addEndpoint(ctx context.Context, a application, url string) (id string, err error) {
	var made struct{ Data struct{ ID string } }
	err = p.call(ctx, a, http.MethodPost, "/webhook-endpoints", `{"url":"http://`+url+`","event_types":["delivery.*"]}`, &made)
	return made.Data.ID, err
}

func (p *post) removeEndpoint(ctx context.Context, a application, id string) error {
	return p.call(ctx, a, http.MethodDelete, "/webhook-endpoints/"+id, "", nil)
}

// call sends what is not measured.
func (p *post) call(ctx context.Context, a application, method, path, body string, into any) error {
	answer, err := ask(ctx, method, "http://"+p.serving.address+"/v1"+path, a.key, body,
		"Idempotency-Key", fmt.Sprintf("bench-call-%d", p.numbers.Add(1)))
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// ask is one request, with the headers by name and value. An answer that is not 2xx is an error.
func ask(ctx context.Context, method, url, key, body string, headers ...string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s was answered %d: %s", method, url, res.StatusCode, answer)
	}
	return answer, err
}

// order sends so many creates of the applications in turn: a number of them in a
// second at a steady pace or, where that is 0, as fast as they are answered.
func (p *post) order(ctx context.Context, of []application, n, perSecond int) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	next := make(chan struct{})
	var group sync.WaitGroup
	for i := range max(perApplication, len(of)) {
		c, err := dial(ctx, p.serving.address, of[i%len(of)].key)
		if err != nil {
			fail(err)
			break
		}
		group.Go(func() {
			defer c.net.Close()
			for range next {
				number := int(p.numbers.Add(1))
				a, err := c.create(number, number)
				p.note(number, time.Now())
				if err == nil && a.status != http.StatusCreated {
					err = fmt.Errorf("a create was answered %d: %s", a.status, bytes.Clone(a.body))
				}
				if err != nil {
					fail(err)
					return
				}
			}
		})
	}
	begun := time.Now()
	for i := 0; i < n && ctx.Err() == nil; i++ {
		if perSecond > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		}
		select {
		case next <- struct{}{}:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

func (p *post) note(create int, answered time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answered == nil {
		p.answered = map[int]time.Time{}
	}
	p.answered[create] = answered
}

// await waits until so many webhooks have come, or it has taken too long.
func (p *post) await(ctx context.Context, n int, patience time.Duration) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		a, err := p.receiver.ask(askCount)
		if err != nil || a.Count >= n {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until all received webhooks are recorded and no lease of an
// endpoint is held.
func (p *post) settled(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); ; {
		var busy bool
		err := p.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE status = 'pending')
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

// afterwards is how long a server writes what it keeps of requests, once a second, after the
// last one: no part of what webhooks cost.
const afterwards = 3 * time.Second

// backlog makes a server write so many events while the worker is held back.
func (p *post) backlog(ctx context.Context, a application, events int) error {
	if err := p.worker.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := p.order(ctx, []application{a}, events, 0)
	if err == nil {
		err = pause(ctx, afterwards)
	}
	if err == nil {
		_, err = p.admin.Exec(ctx, "CHECKPOINT")
	}
	if err != nil {
		_, _ = p.letGo() // so that it can end; the error is told
	}
	return err
}

// letGo lets the worker go on, and tells when.
func (p *post) letGo() (time.Time, error) {
	return time.Now(), p.worker.cmd.Process.Signal(syscall.SIGCONT)
}

// replaceWorker kills the worker and starts another; it tells when it killed.
func (p *post) replaceWorker(ctx context.Context) (killed time.Time, err error) {
	if err := p.worker.cmd.Process.Kill(); err != nil {
		return killed, err
	}
	killed = time.Now()
	<-p.worker.exited
	p.worker, err = launch(ctx, p.binary, p.dir, "worker", p.env)
	return killed, err
}

// spent is processor time.
type spent struct{ serve, worker, postgres, redis, receiver time.Duration }

func (p *post) spent() spent {
	s := spent{
		serve: cpuOf(p.serving.cmd.Process.Pid), worker: cpuOf(p.worker.cmd.Process.Pid),
		redis: p.store.cpu(), receiver: cpuOf(p.receiver.cmd.Process.Pid),
	}
	if p.master != 0 {
		s.postgres = cpuOfTree(p.master)
	}
	return s
}

// since is what was spent after an earlier moment.
func (s spent) since(e spent) spent {
	return spent{s.serve - e.serve, s.worker - e.worker, s.postgres - e.postgres, s.redis - e.redis, s.receiver - e.receiver}
}

// inAll leaves the receiver out, which is the customer's.
func (s spent) inAll() time.Duration { return s.serve + s.worker + s.postgres + s.redis }

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
