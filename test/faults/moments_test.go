package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/test/program"
)

// Statements by which a bulk is followed.
const (
	claiming  = "INSERT INTO idempotency_keys"
	extending = `SET "leased_until"`
	recording = "INSERT INTO bulk_items"
	answering = `SET "body"`
	finishing = `DELETE FROM "bulk_items"`
)

// moments are those in the life of a bulk of four items, of which the third is
// refused, at which a process must be able to vanish. Items may be recorded
// together: at least three records are made.
var moments = []moment{
	{name: "before the commit of the claim", statement: claiming, commit: true, nth: 1},
	{name: "after the commit of the claim", statement: claiming, commit: true, nth: 1, done: true},
	{name: "before the lease is extended for an item", statement: extending, nth: 2},
	{name: "between the record of an item and its delivery", statement: recording, nth: 2, done: true},
	{name: "before the commit of an item", statement: recording, commit: true, nth: 2},
	{name: "after the commit of an item", statement: recording, commit: true, nth: 2, done: true},
	{name: "after the commit of a refusal", statement: recording, commit: true, nth: 3, done: true},
	{name: "before the answer is stored", statement: answering, nth: 1},
	{name: "before the commit of the answer", statement: finishing, commit: true, nth: 1},
	{name: "after the commit of the answer", statement: finishing, commit: true, nth: 1, done: true},
}

func TestABulkIsResumedWhereverItsProcessDies(t *testing.T) {
	t.Parallel()
	newScene(t, moments).survive(t, func(owner *program.Process, _ func()) { owner.Kill() })
}

func TestABulkIsResumedWhereverItsProcessStalls(t *testing.T) {
	t.Parallel()
	newScene(t, moments).survive(t, stall)
}

// starved is how often an owner is sent its bulk until it comes to its moment.
const starved = 20

// stall an owner until another process has finished the bulk. Then it goes on
// with what it was at.
func stall(owner *program.Process, finished func()) {
	_ = owner.Signal(syscall.SIGSTOP) // it fails only where the process is gone
	finished()
	_ = owner.Signal(syscall.SIGCONT)
}

// scene is a process that lasts, and for every moment one that does not: each
// owns a bulk, and the heir goes on with it.
type scene struct {
	database string
	heir     *sender
	rival    *job
	owners   []*owner
	deaths   atomic.Int64
}

// owner is a process on a wire of its own, and the bulk that it is sent first.
type owner struct {
	*program.Process
	*sender
	wire  *wire
	bulk  *job
	meets moment
}

func newScene(t *testing.T, moments []moment) *scene {
	t.Helper()
	s := &scene{database: freshDatabase(t, Postgres)}
	env := settings(s.database)
	heir := newVictim(t, env)
	heir.start(t)
	c := enroll(t, env, noLimit)
	s.heir = newSender(c, []*victim{heir})
	var taken string
	s.rival, taken = newClerk(0, 0).rival()
	s.heir.send(t.Context(), s.rival)
	for _, at := range moments {
		w := newWire(t, s.database)
		v := newVictim(t, append(slices.Clone(env), "WAYBILL_DATABASE_URL="+w.url))
		s.owners = append(s.owners, &owner{
			Process: v.start(t), sender: newSender(c, []*victim{v}), wire: w, bulk: fourItems(taken), meets: at,
		})
	}
	return s
}

func (s *scene) survive(t *testing.T, fate func(of *program.Process, finished func())) {
	t.Helper()
	o := s.play(t, fate)
	t.Log(o)
	if !o.sound() {
		t.Errorf("what went wrong:\n%s", o.report())
	}
}

// play lets every owner meet its fate at its moment, all at a time.
func (s *scene) play(t *testing.T, fate func(of *program.Process, finished func())) outcome {
	t.Helper()
	begun := time.Now()
	var group sync.WaitGroup
	for _, o := range s.owners {
		group.Go(func() {
			if err := s.vanish(t.Context(), o, fate); err != nil {
				t.Errorf("%s: %v", o.meets.name, err)
			}
		})
	}
	group.Wait()
	o := outcome{name: t.Name(), lasted: time.Since(begun), seen: s.heir.seen, deaths: int(s.deaths.Load())}
	o.stalls = len(s.owners) - o.deaths
	jobs := []*job{s.rival}
	for _, owner := range s.owners {
		jobs = append(jobs, owner.bulk)
	}
	o.examine(t, openDatabase(t, s.database), Postgres, jobs)
	return o
}

// vanish sends a bulk to its owner, and when that has met its fate to the heir.
func (s *scene) vanish(ctx context.Context, o *owner, fate func(of *program.Process, finished func())) error {
	caught, finished := make(chan struct{}), make(chan struct{})
	o.wire.set(o.meets, func() (goOn bool) {
		close(caught)
		fate(o.Process, func() { <-finished })
		select {
		case <-o.Exited:
			s.deaths.Add(1)
			return false
		default:
			return true
		}
	})
	told := make(chan reply, 1)
	go func() {
		defer close(told)
		for range starved {
			r, err := o.post(ctx, o.bulk, o.targets[0])
			if err != nil {
				return
			}
			select {
			case <-caught:
			default:
				if r.mayBeRepeated() { // a machine with other things to do; the moment is still to come
					time.Sleep(100 * time.Millisecond)
					continue
				}
			}
			told <- r
			return
		}
	}()
	select {
	case <-caught:
	case r := <-told:
		return fmt.Errorf("that moment never came; the answer was %s", r)
	}
	s.heir.send(ctx, o.bulk)
	close(finished)
	if r, answered := <-told; answered {
		s.heir.judge(o.bulk, r)
	}
	s.heir.replay(ctx, o.bulk, s.heir.targets[0])
	return nil
}

// fourItems are a bulk whose third item has an external_id that is taken. The
// others have none that would keep a second delivery away.
func fourItems(taken string) *job {
	c := newClerk(0, 0)
	c.nameless = true
	var items []item
	var orders []m
	for n := range 4 {
		i, body := c.delivery()
		if n == 2 {
			body["external_id"], i.refusal = taken, "EXTERNAL_ID_CONFLICT"
		}
		items, orders = append(items, i), append(orders, body)
	}
	return c.job(bulkPath, m{"deliveries": orders}, items...)
}
